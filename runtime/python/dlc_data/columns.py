# SPDX-License-Identifier: Apache-2.0
"""Assigns columns of a table to arrays: by --columns, or by default."""

from __future__ import annotations

import dataclasses
import difflib

from dlc_data import DataError, UsageError


@dataclasses.dataclass
class Array:
    """An array of samples, with the numbers of its columns."""

    key: str
    columns: list[int]
    wanted: list[int] | None = None  # requested shape of a sample
    label: bool = False


def is_label_key(key: str) -> bool:
    return key == "y" or key.startswith("y.")


def parse_columns(text: str) -> dict[str, list[str]]:
    """Parses "x:a,b..c;y:label" to arrays and their column words."""
    lists: dict[str, list[str]] = {}
    for part in text.split(";") if text else []:
        array, colon, words = part.partition(":")
        columns = words.split(",") if colon else []
        if not array or not columns or "" in columns:
            raise UsageError(f"--columns: expected arrays and their columns, as in x:a,b,c;y:label, found '{part}'")
        if array in lists:
            raise UsageError(f"--columns: array '{array}' is there twice")
        lists[array] = columns
    return lists


def find_column(name: str, names: list[str]) -> int:
    if name in names:
        return names.index(name)
    near = difflib.get_close_matches(name, [n for n in names if n], 1)
    raise DataError(f"no column '{name}'" + (f"; did you mean '{near[0]}'?" if near else ""))


def find_columns(words: list[str], names: list[str]) -> list[int]:
    """Column numbers of words, which are names or ranges "a..z" in the table's order."""
    found: list[int] = []
    for word in words:
        is_range = ".." in word and word not in names
        low, _, high = word.partition("..") if is_range else (word, "", word)
        first, last = find_column(low, names), find_column(high, names)
        if first > last:
            raise DataError(f"column '{names[first]}' comes behind '{names[last]}', expected a range in the table's order")
        for column in range(first, last + 1):
            if column in found:
                raise DataError(f"column '{names[column]}' is there twice")
            found.append(column)
    return found


class Chosen:
    """Arrays of a table: those in --columns, each column under its name, and x, with all remaining columns."""

    def __init__(self, table: str, names: list[str], columns: str) -> None:
        self.table, self.names = table, names
        try:
            self.lists = {array: find_columns(words, names) for array, words in parse_columns(columns).items()}
        except DataError as error:
            if isinstance(error, UsageError):
                raise
            raise DataError(f"'{table}': --columns: {error}") from None
        taken = {column for some in self.lists.values() for column in some}
        self.rest = [i for i, name in enumerate(names) if i not in taken and not is_label_key(name)]

    def keys(self) -> list[str]:
        keys = list(self.lists)
        keys += [name for name in self.names if name and name not in keys]
        return keys + (["x"] if "x" not in keys and self.rest else [])

    def columns_of(self, key: str) -> list[int]:
        if key in self.lists:
            return self.lists[key]
        if key and key in self.names:
            return [self.names.index(key)]
        if key != "x" or not self.rest:
            raise DataError(f"--columns can name one: '{self.table}' has no array '{key}', found: {', '.join(self.keys())}")
        for column in self.rest:
            if not self.names[column]:
                raise DataError(f"'{self.table}': column {column + 1} has no name and would be one of x: say by --columns=x:... which are")
        return self.rest

    def arrays(self, inputs: list[dict] | None) -> list[Array]:  # type: ignore[type-arg]
        """The arrays for the inputs {"key", "shape", "label"}; without inputs: those in --columns, x and labels."""
        if inputs:
            return [Array(i["key"], self.columns_of(i["key"]), i["shape"], i["label"]) for i in inputs]
        own = [key for key in self.keys() if key == "x" or is_label_key(key) or key in self.lists]
        return [Array(key, self.columns_of(key), None, is_label_key(key)) for key in own]
