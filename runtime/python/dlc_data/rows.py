# SPDX-License-Identifier: Apache-2.0
"""Writes a table's columns as arrays of a .safetensors: i64 if all numbers are integers, else f64."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dlc_data import DataError
from dlc_data.columns import Array, Chosen
from dlc_data.output import Progress, Stage, Tensor, Workplace, write_safetensors
from dlc_data.table import Batch, Found, Table

MOST_CLASSES = 1 << 16


class Use:
    """A column of an array, and properties of its values."""

    def __init__(self, table: Table, column: int, label: bool) -> None:
        self.table, self.column, self.label = table, column, label
        self.number_at: tuple[int, int] | None = None  # file and row of the first number, and of the first name
        self.name_at: tuple[int, int] | None = None
        self.shape: list[int] = []
        self.named = False
        self.names: dict[str, int] = {}  # in order of appearance

    def read(self, values: pa.Array, classes: dict[str, int], float_is_enough: bool) -> Found:
        if self.label and classes:
            self.named = True
            found = self.table.names_of(self.column, values)
            assert found.names is not None
            return self.numbered(found, classes)
        return self.table.read(self.column, values, self.label, float_is_enough)

    def numbered(self, found: Found, classes: dict[str, int]) -> Found:
        """Converts names to class numbers; for unknown ones returns the reason."""
        coded = pc.dictionary_encode(found.names)
        words = coded.dictionary.to_pylist()
        numbers = np.array([classes.get(word, -1) for word in words] + [-1], np.int64)
        codes = pc.fill_null(coded.indices, len(words)).to_numpy(zero_copy_only=False)
        found.numbers = numbers[codes]
        bad = found.bad if found.bad is not None else np.zeros(len(codes), bool)
        for row in np.flatnonzero((found.numbers < 0) & ~bad):
            found.why[int(row)] = f"'{words[codes[row]]}' is none of the {len(classes)} classes"
        found.bad, found.whole, found.names = bad | (found.numbers < 0), True, None
        return found

    def settle(self, found: Found, good: np.ndarray, batch: Batch) -> np.ndarray:
        """Numbers of good rows; names are numbered provisionally."""
        self.shape = found.shape or self.shape
        if self.label and not self.named:
            self.note(found, good, batch)
        if found.names is None:
            assert found.numbers is not None
            return found.numbers[good]
        coded = pc.dictionary_encode(found.names.filter(pa.array(good)))
        numbers = np.array([self.names.setdefault(word, len(self.names)) for word in coded.dictionary.to_pylist()], np.int64)
        if len(self.names) > MOST_CLASSES:
            raise DataError(f"'{self.table.name}': column '{self.table.columns[self.column]}' has more than {MOST_CLASSES} names of classes")
        return numbers[coded.indices.to_numpy(zero_copy_only=False)] if len(numbers) else np.zeros(0, np.int64)

    def note(self, found: Found, good: np.ndarray, batch: Batch) -> None:
        """Labels are either numbers or names: a single typo must not renumber all classes."""
        named = np.full(batch.count, found.names is not None) if found.named is None else found.named
        for mask, field in ((good & ~named), "number_at"), ((good & named), "name_at"):
            if getattr(self, field) is None and mask.any():
                setattr(self, field, (batch.file, batch.first + int(np.argmax(mask))))
        if self.number_at and self.name_at:
            raise DataError(f"'{self.table.name}': column '{self.table.columns[self.column]}' has a number in {self.table.place(*self.number_at)} "
                            f"and none in {self.table.place(*self.name_at)}: labels are numbers, or names of classes; "
                            "--classes=NAME,... says that all are names")


class Rows:
    """Reads a table by batches into one stage per array."""

    def __init__(self, table: Table, arrays: list[Array], classes: list[str], skip: bool, place: Workplace | None) -> None:
        self.table, self.arrays, self.skip = table, arrays, skip
        self.classes = classes
        self.numbers = {name: i for i, name in enumerate(classes)}
        self.uses = [[Use(table, column, array.label and len(array.columns) == 1) for column in array.columns] for array in arrays]
        for uses in self.uses:
            for use in uses:
                table.check_use(use.column, use.label)
        self.place = place
        self.stages: list[Stage] = []
        self.count = self.left_out = 0
        self.first_bad = ""

    def arrays_of(self, float_is_enough: Callable[[int], bool]) -> Iterator[list[np.ndarray]]:
        """The good rows of each batch, by array; `float_is_enough`: whether array i has floats already."""
        wanted = sorted({use.column for uses in self.uses for use in uses})
        at = {column: i for i, column in enumerate(wanted)}
        for batch in self.table.batches(wanted):
            if batch.ragged:
                self.leave_out(batch.ragged, lambda: self.table.find_ragged(batch.file))  # type: ignore[attr-defined]
            found = [[use.read(batch.columns[at[use.column]], self.numbers, float_is_enough(i)) for use in uses]
                     for i, uses in enumerate(self.uses)]
            good = self.good_rows(batch, found)
            yield [side_by_side([use.settle(one, good, batch) for use, one in zip(uses, some)]) for uses, some in zip(self.uses, found)]

    def run(self) -> None:
        progress = Progress(self.table.name)
        assert self.place
        self.stages = [Stage(self.place.open(str(i))) for i in range(len(self.arrays))]
        for made in self.arrays_of(lambda i: not self.stages[i].whole):
            for stage, rows in zip(self.stages, made):
                stage.add(rows)
            self.count += len(made[0])
            progress.say(f"{self.count} rows")

    def good_rows(self, batch: Batch, found: list[list[Found]]) -> np.ndarray:
        bad = np.zeros(batch.count, bool)
        for some in found:
            for one in some:
                if one.bad is not None:
                    bad |= one.bad
        if bad.any():
            row = int(np.argmax(bad))
            use, one = next((use, one) for uses, some in zip(self.uses, found) for use, one in zip(uses, some)
                            if one.bad is not None and one.bad[row])
            self.leave_out(int(bad.sum()), lambda: (self.table.place(batch.file, batch.first + row),
                                                    f"column '{self.table.columns[use.column]}': {one.reason(row)}"))
        return ~bad

    def leave_out(self, count: int, first) -> None:  # type: ignore[no-untyped-def]
        if not self.first_bad:
            self.first_bad = ": ".join(first())
        if not self.skip:
            raise DataError(f"{self.first_bad}; --bad-samples=skip leaves such rows out")
        self.left_out += count

    def finish(self) -> None:
        """Renumbers names in the order of their bytes."""
        for array, uses, stage in zip(self.arrays, self.uses, self.stages):
            for use in uses:
                if not use.names:
                    continue
                if self.classes:
                    raise DataError(f"'{self.table.name}': '{array.key}' is a second label of names, expected one")
                self.classes = sorted(use.names, key=str.encode)
                order = {name: i for i, name in enumerate(self.classes)}
                stage.renumber(np.array([order[name] for name in use.names], np.int64))

    def shape_of(self, array: Array, uses: list[Use]) -> list[int]:
        entries = sum(math.prod(use.shape) for use in uses)
        if not array.label and array.wanted is not None and math.prod(array.wanted) == entries:
            return array.wanted
        if len(uses) == 1 and (array.label or uses[0].shape):
            return uses[0].shape
        return [entries]

    def warnings(self) -> list[str]:
        if not self.left_out:
            return []
        return [f"{self.left_out} of {self.count + self.left_out} rows are left out, the first: {self.first_bad}"]


def side_by_side(columns: list[np.ndarray]) -> np.ndarray:
    if len(columns) == 1:
        return columns[0]
    whole = all(column.dtype == np.int64 for column in columns)
    return np.concatenate([column.reshape(len(column), -1) for column in columns], axis=1, dtype=np.int64 if whole else np.float64)


def write_rows(table: Table, chosen: Chosen, inputs: list[dict] | None, classes: list[str], skip: bool, output: str) -> list[str]:  # type: ignore[type-arg]
    """Returns the warnings, which are also stored in the file."""
    with Workplace(output) as place:
        rows = Rows(table, chosen.arrays(inputs), classes, skip, place)
        rows.run()
        rows.finish()
        tensors: list[Tensor] = []
        for array, uses, stage in zip(rows.arrays, rows.uses, rows.stages):
            if table.rows_are_typed and not all(table.is_whole(use.column) or use.named for use in uses) and stage.whole:  # type: ignore[attr-defined]
                stage.widen()  # no rows
            tensors.append((array.key, "I64" if stage.whole else "F64", [rows.count, *rows.shape_of(array, uses)], stage))
        metadata = {"kind": "rows", "classes": json.dumps(rows.classes), "warnings": json.dumps(rows.warnings())}
        write_safetensors(place, tensors, metadata)
        return rows.warnings()
