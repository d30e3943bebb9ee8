# SPDX-License-Identifier: Apache-2.0
"""Writes the function bodies by which the installed onnx package defines operators, as the table of StandardBodies.cpp.

    bodies.py OUTPUT

Only bodies that depend on nothing but the node's attributes; those that its inputs' types decide are no constants. An attribute's
default becomes one of the function's.
"""

import sys

from onnx import FunctionProto, defs


def body(schema):
    """The newest body of the schema, with defaults of attributes."""
    version = schema.function_opset_versions[-1]
    function = FunctionProto.FromString(schema.get_function_with_opset_version(version))
    function.ClearField("doc_string")
    for name in sorted(schema.attributes):
        default = schema.attributes[name].default_value
        if default.name:
            function.attribute_proto.add().CopyFrom(default)
            if name in function.attribute:
                function.attribute.remove(name)
    return function.SerializeToString(deterministic=True)


def main(path):
    with open(path, "w", encoding="utf-8") as file:
        print("constexpr StandardBody kBodies[] = {", file=file)
        for schema in sorted(defs.get_all_schemas(), key=lambda s: s.name):
            if schema.domain == "" and schema.has_function:
                data = body(schema)
                text = "".join(f"\\{byte:03o}" for byte in data)
                print(f'{{"{schema.name}", std::string_view("{text}", {len(data)})}},', file=file)
        print("};", file=file)


if __name__ == "__main__":
    main(*sys.argv[1:])
