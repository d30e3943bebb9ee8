# SPDX-License-Identifier: Apache-2.0
"""Pictures in a column of a Parquet table, as Hugging Face's library datasets writes them (image.bytes, label)."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa

from dlc_data import DataError, UsageError
from dlc_data.columns import find_columns, parse_columns
from dlc_data.output import Bytes, Progress, Tensor, Workplace, write_safetensors
from dlc_data.parquet_table import ParquetTable, numbers_of
from dlc_data.table import Table

LARGEST_PICTURE = 256 << 20
BEGINS = (b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n")


def is_picture(content: bytes) -> bool:
    return content.startswith(BEGINS) or (content[:4] == b"RIFF" and content[8:12] == b"WEBP")


def holds_pictures(table: ParquetTable, column: int) -> bool:
    """Whether the first value present is an encoded picture."""
    for own in table.leaves:
        if own[column].what != "bytes" or own[column].levels or pa.types.is_fixed_size_binary(own[column].type):
            return False
    for batch in table.batches([column]):
        for value in batch.columns[0]:
            if value.is_valid:
                return is_picture(value.as_py())
    return False


def find_pictures(table: Table, columns: str) -> tuple[int, int | None] | None:
    """The columns of pictures and classes; None if the table has no pictures."""
    if not isinstance(table, ParquetTable):
        return None
    try:
        lists = {array: find_columns(words, table.columns) for array, words in parse_columns(columns).items()}
    except UsageError:
        raise
    except DataError:
        return None  # reading the table reports the error
    single = {array: some[0] for array, some in lists.items() if len(some) == 1}
    others = [array for array in lists if array != "x" and (array != "y" or array not in single)]
    named = [table.columns.index(name) for name in ("y", "label") if name in table.columns]
    classes = single.get("y", named[0] if named else None)
    if "x" in lists:
        pictures = single.get("x")
        if pictures is None or not holds_pictures(table, pictures):
            return None
    else:
        found = [i for i in range(len(table.columns)) if i != classes and holds_pictures(table, i)]
        if len(found) > 1:
            first, second = (table.columns[i] for i in found[:2])
            raise DataError(f"'{table.name}': columns '{first}' and '{second}' have pictures: --columns=x:{second} takes one")
        pictures = found[0] if found else None
    if pictures is not None and others:
        raise DataError(f"'{table.name}': --columns: pictures have the arrays x and y alone, a column each, found '{others[-1]}'")
    return None if pictures is None else (pictures, classes)


class Labels:
    """Integers, or names, which are numbered in the order of their bytes."""

    def __init__(self, table: ParquetTable, column: int) -> None:
        self.table, self.column = table, column
        leaf = table.leaves[0][column]
        for path, own in zip(table.paths, table.leaves):
            if (own[column].kind, own[column].levels) != (leaf.kind, leaf.levels):
                raise DataError(f"'{path}': column '{leaf.name}' has another type than in '{table.paths[0]}'")
        self.named = leaf.kind == "text"
        if leaf.levels or leaf.kind not in ("text", "whole") or pa.types.is_boolean(leaf.type):
            raise DataError(f"'{table.name}': column '{leaf.name}' has no classes, expected whole numbers or names; --columns=y:... names another")
        self.labels: list[np.ndarray] = []
        self.names: dict[str, int] = {}

    def add(self, values: pa.Array, file: int, first: int) -> None:
        found = self.table.names_of(self.column, values) if self.named else numbers_of(values)
        assert found.bad is not None
        if found.bad.any():
            row = int(np.argmax(found.bad))
            raise DataError(f"'{self.table.paths[file]} row {first + row}': column '{self.table.columns[self.column]}': {found.reason(row)}")
        if self.named:
            assert found.names is not None
            found.numbers = np.array([self.names.setdefault(name, len(self.names)) for name in found.names.to_pylist()], np.int64)
        assert found.numbers is not None
        self.labels.append(found.numbers)

    def finish(self) -> tuple[np.ndarray, list[str], list[str]]:
        """Returns labels, class names and warnings."""
        labels = np.concatenate([*self.labels, np.zeros(0, np.int64)]).astype(np.int64)
        if self.named:
            names = sorted(self.names, key=str.encode)
            order = {name: i for i, name in enumerate(names)}
            return np.array([order[name] for name in self.names] + [0], np.int64)[labels], names, []
        names = self.table.class_names(self.column)
        outside = labels[(labels < 0) | (labels >= len(names))]
        if names and len(outside):
            return labels, [], [f"column '{self.table.columns[self.column]}' has the label {outside[0]}, "
                                f"but names for 0 to {len(names) - 1} alone: classes have numbers"]
        return labels, names, []


def write_pictures(table: ParquetTable, column: int, classes: int | None, output: str) -> list[str]:
    """Writes arrays "pictures", u8, concatenated; "offsets", with the end of the last one; and "labels"."""
    with Workplace(output) as place:
        content, sizes = Bytes(place.open("pictures")), [np.zeros(1, np.int64)]
        labels = Labels(table, classes) if classes is not None else None
        progress = Progress(table.name)
        wanted = [column] if classes is None else [column, classes]
        counts = [0] * len(table.paths)
        for batch in table.batches(wanted):
            own = []
            for i, value in enumerate(batch.columns[0]):
                picture = value.as_py() if value.is_valid else b""
                if len(picture) > LARGEST_PICTURE:
                    raise DataError(f"'{table.paths[batch.file]} row {batch.first + i}': column '{table.columns[column]}': "
                                    f"{len(picture)} bytes, expected at most {LARGEST_PICTURE}")
                content.add(picture)
                own.append(len(picture))
            sizes.append(np.array(own, np.int64))
            if labels:
                labels.add(batch.columns[1], batch.file, batch.first)
            counts[batch.file] += batch.count
            progress.say(f"{sum(counts)} pictures")
        offsets = np.cumsum(np.concatenate(sizes))
        numbers, names, warnings = labels.finish() if labels else (np.zeros(0, np.int64), [], [])
        metadata = {"kind": "pictures", "classes": json.dumps(names), "warnings": json.dumps(warnings), "rows": json.dumps(counts)}
        tensors: list[Tensor] = [("offsets", "I64", [len(offsets)], offsets), ("labels", "I64", [len(numbers)], numbers),
                   ("pictures", "U8", [content.bytes], content)]
        write_safetensors(place, tensors, metadata)
        return warnings
