# SPDX-License-Identifier: Apache-2.0
"""Writes the operators of ai.onnx and of its previews, as the installed onnx package defines them, as the tables of SchemaTable.cpp.

    schemas.py OLDEST NEWEST OUTPUT      the versions that models of opset OLDEST to NEWEST use
"""

import re
import sys

from onnx import TensorProto, defs

OPTION = {"Single": "Required", "Optional": "Optional", "Variadic": "Variadic"}
UNBOUNDED = 2**31 - 1
PREVIEWS = ("ai.onnx.preview", "ai.onnx.preview.training")  # all have version 1 only


def types_of(names):
    """Bit masks by TensorProto.DataType, of tensors and of sequences of tensors. dlc does not support optionals and maps."""
    masks = {"tensor": 0, "seq": 0}
    for name in names:
        found = re.fullmatch(r"(?:(seq)\()?tensor\((\w+)\)+", name)
        if found and not name.startswith("optional"):
            masks[found[1] or "tensor"] |= 1 << TensorProto.DataType.Value(found[2].upper())
    return f"0x{masks['tensor']:x}u, 0x{masks['seq']:x}u"


def parameter(schema, formal):
    variables = {constraint.type_param_str for constraint in schema.type_constraints}
    variable = formal.type_str if formal.type_str in variables else ""
    option = OPTION[formal.option.name]
    if option == "Variadic" and not formal.is_homogeneous:
        variable = ""  # each may have another type
    return f'{{"{formal.name}", "{variable}", {types_of(formal.types)}, Option::{option}}},'


def attribute(found):
    return f'{{"{found.name}", onnx::AttributeProto::{found.type.name}, {str(found.required).lower()}}},'


def full_name(schema):
    return f"{schema.domain}.{schema.name}" if schema.domain else schema.name


def selected(oldest, newest):
    """For each operator the version valid in opset `oldest`, and all newer ones."""
    for name, op, domain in sorted({(full_name(s), s.name, s.domain) for s in defs.get_all_schemas_with_history()
                                    if s.domain in ("", *PREVIEWS)}):
        versions = {}
        for version in range(1 if domain else oldest, 2 if domain else newest + 1):
            try:
                schema = defs.get_schema(op, version, domain)
            except defs.SchemaError:
                continue  # introduced later
            versions[schema.since_version] = schema
        yield from (versions[since] for since in sorted(versions))


def main(oldest, newest, path):
    parameters, attributes, schemas = [], [], []
    for schema in selected(int(oldest), int(newest)):
        counts = (schema.min_input, schema.max_input, schema.min_output, schema.max_output)
        schemas.append(f'{{"{full_name(schema)}", {schema.since_version}, '
                       f"{', '.join(str(min(count, UNBOUNDED)) for count in counts)}, "
                       f"{len(parameters)}, {len(schema.inputs)}, {len(schema.outputs)}, "
                       f"{len(attributes)}, {len(schema.attributes)}}},")
        parameters += [parameter(schema, formal) for formal in [*schema.inputs, *schema.outputs]]
        attributes += [attribute(schema.attributes[name]) for name in sorted(schema.attributes)]
    with open(path, "w", encoding="utf-8") as file:
        for kind, name, rows in (("SchemaParameter", "kParameters", parameters),
                                 ("SchemaAttribute", "kAttributes", attributes), ("Schema", "kSchemas", schemas)):
            print(f"constexpr {kind} {name}[] = {{", *rows, "};", sep="\n", file=file)


if __name__ == "__main__":
    main(*sys.argv[1:])
