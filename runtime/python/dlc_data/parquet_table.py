# SPDX-License-Identifier: Apache-2.0
"""Parquet tables: columns are leaves of the schema; columns of lists have a shape."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dlc_data import DataError
from dlc_data.table import Batch, Found, Table

ROWS = 1 << 14  # per batch
MOST_DIGITS = 15  # f64 cannot represent decimals with more digits


@dataclasses.dataclass
class Leaf:
    """A column of scalars or lists."""

    name: str  # "a", or "a.b" in a struct, without names of list levels
    path: str  # in the file
    steps: list[str]  # enclosing struct members
    levels: int  # of nested lists
    type: pa.DataType
    kind: str  # "whole", "number", "decimal", "text"; else the name of an unsupported type

    @property
    def readable(self) -> bool:
        return self.kind in ("whole", "number", "decimal")

    @property
    def what(self) -> str:
        """Description for messages."""
        if self.kind != "text":
            return self.kind
        return "bytes" if pa.types.is_binary(self.type) or pa.types.is_large_binary(self.type) else "text"


KINDS = {"whole": "boolean integer", "number": "floating", "text": "string large_string binary large_binary", "dates": "date",
         "times": "timestamp time duration", "nothing but nulls": "null", "bytes": "fixed_size_binary"}


def kind_of(of: pa.DataType) -> str:
    if pa.types.is_decimal(of):
        return "decimal" if of.precision <= MOST_DIGITS and of.scale >= 0 else f"decimals of more than {MOST_DIGITS} digits"
    return next((kind for kind, types in KINDS.items() if any(getattr(pa.types, f"is_{name}")(of) for name in types.split())), str(of))


def plain(of: pa.DataType) -> pa.DataType:
    """Unwraps extension and dictionary types."""
    while True:
        if isinstance(of, pa.BaseExtensionType):
            of = of.storage_type
        elif pa.types.is_dictionary(of):
            of = of.value_type
        else:
            return of


def is_list(of: pa.DataType) -> bool:
    return pa.types.is_list(of) or pa.types.is_large_list(of) or pa.types.is_fixed_size_list(of)


def leaves(of: pa.DataType, name: str, steps: list[str], levels: int, kind: str = "") -> Iterator[Leaf]:
    of = plain(of)
    if pa.types.is_struct(of):
        for child in of:
            below = kind or ("lists of structs" if levels else "")
            yield from leaves(child.type, f"{name}.{child.name}", [*steps, child.name], levels, below)
    elif is_list(of):
        yield from leaves(of.value_type, name, steps, levels + 1, kind)
    elif pa.types.is_map(of):
        for part, child in ("key", of.key_type), ("value", of.item_type):
            yield from leaves(child, f"{name}.key_value.{part}", steps, levels + 1, "maps")
    else:
        yield Leaf(name, "", steps, levels, of, kind or kind_of(of))


class ParquetTable(Table):
    def __init__(self, name: str, paths: list[str]) -> None:
        super().__init__(name, paths)
        self.leaves: list[list[Leaf]] = []  # by file
        self.shapes: dict[int, list[int]] = {}  # shape of a row's lists, by column
        self.rows = 0
        for path in paths:
            with self.open(path) as file:
                own = [leaf for field in file.schema_arrow for leaf in leaves(field.type, field.name, [field.name], 0)]
                if len(own) != len(file.schema):
                    raise DataError(f"'{path}': its schema is not supported")
                for i, leaf in enumerate(own):
                    leaf.path = file.schema.column(i).path
                self.rows += file.metadata.num_rows
            names = [leaf.name for leaf in own]
            try:
                self.check_names(names)
            except DataError as error:
                raise DataError(f"'{path}': {error}") from None
            if self.leaves and names != self.columns:
                raise DataError(f"'{path}': its columns are others than those of '{paths[0]}'")
            self.columns = names
            self.leaves.append(own)

    @staticmethod
    def open(path: str) -> pq.ParquetFile:
        try:
            return pq.ParquetFile(path, page_checksum_verification=True)
        except (pa.ArrowException, ValueError) as error:
            raise DataError(f"'{path}': {error}") from None

    def place(self, file: int, row: int) -> str:
        return f"'{self.paths[file]}', row {row}"  # from 0, as in pandas

    def batches(self, wanted: list[int]) -> Iterator[Batch]:
        for number, path in enumerate(self.paths):
            own = [self.leaves[number][i] for i in wanted]
            with self.open(path) as file:
                before = 0
                try:
                    for batch in file.iter_batches(batch_size=ROWS, columns=sorted({leaf.path for leaf in own})):
                        yield Batch(number, before, batch.num_rows, [column_of(batch, leaf) for leaf in own])
                        before += batch.num_rows
                except (pa.ArrowException, OSError) as error:
                    raise DataError(f"'{path}': {error}") from None

    def check_use(self, column: int, label: bool) -> None:
        name, first = self.columns[column], self.leaves[0][column]
        for path, own in zip(self.paths, self.leaves):
            leaf = own[column]
            if not leaf.readable and not (leaf.kind == "text" and label and leaf.levels == 0):
                pictures = "; the first that is there is no JPEG, PNG or WebP" if leaf.what == "bytes" else ""
                raise DataError(f"'{path}': column '{name}' has {leaf.what}, expected numbers: --columns says which are read{pictures}")
            if (leaf.kind == "text") != (first.kind == "text") or leaf.levels != first.levels:
                raise DataError(f"'{path}': column '{name}' has values of another kind than in '{self.paths[0]}'")

    def is_whole(self, column: int) -> bool:
        return all(own[column].kind in ("whole", "text") for own in self.leaves)

    def names_of(self, column: int, values: pa.Array) -> Found:
        values = undone(values)
        bad = pc.is_null(values).to_numpy(zero_copy_only=False)
        if kind_of(values.type) == "text":
            return text_names(values, bad)
        found = numbers_of(values)
        assert found.numbers is not None
        texts = [str(v) if found.whole else repr(float(v)).removesuffix(".0") for v in found.numbers.tolist()]
        return Found(names=pa.array(texts, pa.string()), bad=found.bad, why=found.why)

    def read(self, column: int, values: pa.Array, label: bool, float_is_enough: bool) -> Found:
        leaf = self.leaves[0][column]
        if leaf.kind == "text":
            found = self.names_of(column, values)
            assert found.names is not None and found.bad is not None
            found.bad |= pc.equal(pc.fill_null(found.names, ""), "").to_numpy(zero_copy_only=False)
            return found
        if leaf.levels == 0:
            found = numbers_of(values)
        else:
            if column not in self.shapes:
                self.find_shape(column, leaf.levels, values)
            shape = self.shapes.get(column, [0] * leaf.levels)
            found = lists_of(values, shape)
            found.shape = shape
        found.whole = self.is_whole(column)
        if not found.whole and found.numbers is not None:
            found.numbers = found.numbers.astype(np.float64)
        return found

    def find_shape(self, column: int, levels: int, values: pa.Array) -> None:
        """The shape of the first row without missing values."""
        for value in values:
            row = value.as_py()
            if not is_complete(row):
                continue
            shape = []
            for _ in range(levels):
                shape.append(len(row))
                row = row[0] if len(row) else []
            self.shapes[column] = shape
            return

    def class_names(self, column: int) -> list[str]:
        """Class names that the library datasets stores; an error if files have different ones."""
        names: list[str] = []
        first = ""
        for path in self.paths:
            with self.open(path) as file:
                own = names_in(file.metadata.metadata or {}, self.columns[column])
            if own and first and own != names:
                raise DataError(f"'{path}': the classes of column '{self.columns[column]}' have other names than in '{first}'")
            if own:
                names, first = own, path
        return names


def names_in(metadata: dict[bytes, bytes], column: str) -> list[str]:
    """Parses {"info": {"features": {"label": {"names": [...], "_type": "ClassLabel"}}}}; empty for anything else."""
    try:
        feature = json.loads(metadata[b"huggingface"])["info"]["features"][column]
        names = feature["names"] if feature["_type"] == "ClassLabel" else []
    except (KeyError, TypeError, ValueError):
        return []
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return []
    return names if len(set(names)) == len(names) else []  # else ambiguous


def is_complete(value: object) -> bool:
    if isinstance(value, list):
        return bool(value) and all(map(is_complete, value))
    return value is not None


def column_of(batch: pa.RecordBatch, leaf: Leaf) -> pa.Array:
    values = batch.column(batch.schema.get_field_index(leaf.steps[0]))
    for step in leaf.steps[1:]:
        values = pc.struct_field(undone(values), step)
    return undone(values)


def undone(values: pa.Array) -> pa.Array:
    """Unwraps extension arrays and decodes dictionaries."""
    while True:
        if isinstance(values, pa.ExtensionArray):
            values = values.storage
        elif pa.types.is_dictionary(values.type):
            values = values.dictionary_decode()
        else:
            return values


def text_names(values: pa.Array, bad: np.ndarray) -> Found:
    why = {}
    try:
        names = pc.cast(values, pa.string())
        names.validate(full=True)
    except pa.ArrowInvalid:
        texts: list[str | None] = []
        for i, value in enumerate(pc.cast(values, pa.large_binary()).to_pylist()):
            try:
                texts.append(None if value is None else value.decode())
            except UnicodeDecodeError:
                texts.append(None)
                bad[i], why[i] = True, "a name that is no UTF-8"
        names = pa.array(texts, pa.string())
    return Found(names=names, bad=bad, why=why)


def numbers_of(values: pa.Array) -> Found:
    """Numbers of a column without lists."""
    values = undone(values)
    bad = pc.is_null(values).to_numpy(zero_copy_only=False).copy()
    why: dict[int, str] = {}
    kind = kind_of(values.type)
    if kind == "decimal":
        return Found(decimals(values) / 10.0 ** values.type.scale, bad=bad)
    values = pc.fill_null(values, False if pa.types.is_boolean(values.type) else 0)
    if kind == "whole":
        numbers = pc.cast(values, pa.int64(), safe=False).to_numpy(zero_copy_only=False)
        if pa.types.is_uint64(values.type):
            for row in np.flatnonzero(numbers < 0):
                bad[row], why[int(row)] = True, f"'{values[int(row)]}' is too large for 64 bits with a sign"
        return Found(numbers, True, bad, why)
    numbers = pc.cast(values, pa.float64()).to_numpy(zero_copy_only=False)
    for row in np.flatnonzero(np.isinf(numbers)):
        why[int(row)] = f"'{numbers[row]}' is not finite"
    return Found(numbers, bad=bad | ~np.isfinite(numbers), why=why)


def decimals(values: pa.Array) -> np.ndarray:
    """The unscaled integers of decimals."""
    values = pc.cast(values, pa.decimal128(38, values.type.scale))
    words = np.frombuffer(values.buffers()[1], np.int64)[2 * values.offset:2 * (values.offset + len(values))]
    return np.where(pc.is_null(values).to_numpy(zero_copy_only=False), 0, words[::2]).astype(np.float64)


def lists_of(values: pa.Array, shape: list[int]) -> Found:
    """Rows [rows, entries]. Lists of another shape, or with missing values, are bad."""
    values = undone(values)
    if not shape:
        found = numbers_of(values)
        assert found.numbers is not None
        found.numbers = found.numbers.reshape(-1, 1)
        return found
    lengths = pc.fill_null(pc.list_value_length(values), -1).to_numpy(zero_copy_only=False)
    fits = lengths == shape[0]
    bad, why = ~fits, {}
    for row in np.flatnonzero(~fits & (lengths > 0)):
        why[int(row)] = "a list of another length, expected "
    entries = int(np.prod(shape, dtype=object))
    rows = np.flatnonzero(fits)
    inner = lists_of(values.filter(pa.array(fits)).flatten(), shape[1:])
    assert inner.numbers is not None
    numbers = np.zeros((len(values), entries), inner.numbers.dtype)
    numbers[rows] = inner.numbers.reshape(len(rows), entries)
    if inner.bad is not None:
        for at in np.flatnonzero(inner.bad):
            row = int(rows[at // shape[0]])
            if not bad[row]:
                bad[row], why[row] = True, inner.reason(int(at))
    for row, text in why.items():
        if text.startswith("a list of another length"):
            why[row] = f"a list of another length, expected [{', '.join(map(str, shape))}] as in the first row"
    return Found(numbers, bad=bad, why=why)
