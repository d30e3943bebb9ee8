# SPDX-License-Identifier: Apache-2.0
"""Text tables: .csv and .tsv."""

from __future__ import annotations

import csv
import os
import re
import sys
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from dlc_data import DataError
from dlc_data.table import Batch, Found, Table

MISSING = ("", "NA", "N/A", "NaN", "nan", "NAN", "null", "NULL", "None")
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
WHOLE = re.compile(r"[+-]?[0-9]+")
STRANGE = re.compile(r"[+-]?(inf|infinity|nan)", re.IGNORECASE)
LARGEST_RECORD = 16 << 20
csv.field_size_limit(LARGEST_RECORD)


def ignore_undecoded(event: sys.UnraisableHookArgs) -> None:
    """pyarrow decodes a row before it calls its handler, and prints what fails; the reader then raises ArrowInvalid."""
    if not isinstance(event.exc_value, UnicodeDecodeError):
        sys.__unraisablehook__(event)


sys.unraisablehook = ignore_undecoded


def are_samples(names: list[str]) -> bool:
    """Whether the first line is a sample: it has only numbers, and is not the header 0, 1, 2, ... of columns without names."""
    if not all(NUMBER.fullmatch(name) for name in names):
        return False
    return any(float(name) != i for i, name in enumerate(names))


class CsvFile:
    """A file and its format."""

    def __init__(self, path: str, separator: str | None) -> None:
        self.path = path
        if path.endswith(".gz"):
            raise DataError("is compressed: unpack it")
        self.quoted = False
        returns = feeds = False
        with open(path, "rb") as file:
            head = file.read(4096)
            if b"\0" in head:
                raise DataError("is no text in UTF-8: save it as such")
            block = head
            while block:
                self.quoted |= b'"' in block
                feeds |= b"\n" in block
                returns |= b"\r" in block
                block = file.read(8 << 20)
        self.size = os.path.getsize(path)
        if len(head) == 3 * head.startswith(b"\xef\xbb\xbf"):
            raise DataError("has no header: expected the names of columns in its first line")
        if returns and not feeds:
            raise DataError("its lines end in carriage returns alone: end them in line feeds, as in tr '\\r' '\\n'")
        self.separator = separator or self.find_separator()
        try:
            self.names = next(self.records(self.separator))[1]
        except StopIteration:
            raise DataError("has no header: expected the names of columns in its first line") from None
        self.names = [name.strip(" \t") for name in self.names]
        if any("\udc80" <= c <= "\udcff" for name in self.names for c in name):
            raise DataError("its header is no UTF-8: save it as such")
        if self.names[0].startswith("sep="):
            raise DataError("begins with Excel's line 'sep=': remove it")
        if are_samples(self.names):
            raise DataError(f"its first line has only numbers ('{self.names[0]}', ...), expected the names of columns: "
                            "write such a line above it")
        if self.quoted:
            for _ in self.records(self.separator):
                pass  # quotes that violate RFC 4180 are an error

    def find_separator(self) -> str:
        """The first separator in the header, outside of quotes; else a comma."""
        for separator in ",;\t":
            try:
                names = next(self.records(separator))[1]
                # A quote within a name may enclose a name with another separator.
                if len(names) > 1 and not any('"' in name for name in names):
                    return separator
            except (StopIteration, DataError):
                pass
        return ","

    def records(self, separator: str) -> Iterator[tuple[int, list[str]]]:
        """Yields (line from 1, fields) for the header and each row; skips empty lines."""
        with open(self.path, encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
            reader = csv.reader(file, delimiter=separator, strict=True)
            line = 1
            try:
                for fields in reader:
                    if fields:
                        yield line, fields
                    line = reader.line_num + 1
            except csv.Error as error:
                why = {"unexpected end of data": "a quote is not closed"}.get(str(error), str(error))
                if "expected after" in why:
                    why = "there is more behind a quoted field"
                raise DataError(f"'{self.path}', line {line}: {why}") from None


class CsvTable(Table):
    rows_are_typed = False

    def __init__(self, name: str, paths: list[str]) -> None:
        super().__init__(name, paths)
        self.files: list[CsvFile] = []
        separator = "\t" if ".tsv" in name else None
        for path in paths:
            try:
                file = CsvFile(path, separator)
                self.check_names(file.names)
            except DataError as error:
                raise error if f"'{path}'" in str(error) else DataError(f"'{path}': {error}") from None
            if self.files and file.names != self.columns:
                raise DataError(f"'{path}': its header is another than that of '{paths[0]}'")
            self.columns, separator = file.names, file.separator
            self.files.append(file)
        self.separator = self.files[0].separator
        self.ragged: list[tuple[int, int, str]] = []  # file, line, why

    def place(self, file: int, row: int) -> str:
        """Position of a row, numbered from 0 among rows with as many fields as the header."""
        for line, fields in self.rows_of(file):
            if len(fields) == len(self.columns):
                if row == 0:
                    return f"'{self.paths[file]}', line {line}"
                row -= 1
        return f"'{self.paths[file]}'"

    def rows_of(self, file: int) -> Iterator[tuple[int, list[str]]]:
        records = self.files[file].records(self.separator)
        next(records)
        return records

    def find_ragged(self, file: int) -> tuple[str, str]:
        for line, fields in self.rows_of(file):
            if len(fields) != len(self.columns):
                return f"'{self.paths[file]}', line {line}", f"{len(fields)} fields, expected {len(self.columns)} as in the header"
        return f"'{self.paths[file]}'", "rows of another number of fields than the header"

    def batches(self, wanted: list[int]) -> Iterator[Batch]:
        for number, file in enumerate(self.files):
            if next(self.rows_of(number), None) is None:
                continue
            ragged = 0

            def skip(_: object) -> str:
                nonlocal ragged
                ragged += 1
                return "skip"

            names = [str(i) for i in range(len(self.columns))]
            # At least one column, to count rows.
            some = [str(i) for i in wanted] or names[:1]
            try:
                reader = pa_csv.open_csv(
                    file.path,
                    pa_csv.ReadOptions(use_threads=False, block_size=LARGEST_RECORD, column_names=names, skip_rows_after_names=1),
                    pa_csv.ParseOptions(delimiter=self.separator, newlines_in_values=file.quoted, invalid_row_handler=skip),
                    pa_csv.ConvertOptions(check_utf8=False, column_types={name: pa.string() for name in names}, include_columns=some,
                                          null_values=[], strings_can_be_null=False))
                before = 0
                for batch in reader:
                    columns = [batch.column(i) for i in range(len(wanted))]
                    yield Batch(number, before, batch.num_rows, columns, ragged)
                    before, ragged = before + batch.num_rows, 0
                if ragged:
                    yield Batch(number, before, 0, [pa.array([], pa.string())] * len(wanted), ragged)
            except pa.ArrowInvalid as error:
                if ": Expected " in str(error):  # a row that pyarrow cannot decode for `skip`
                    raise DataError(": ".join(self.find_ragged(number))) from None
                if "Empty CSV file" not in str(error):
                    raise DataError(f"'{file.path}': {error}") from None

    def check_use(self, column: int, label: bool) -> None:
        pass  # values are checked when they are read

    def names_of(self, column: int, values: pa.Array) -> Found:
        return Found(names=trimmed(values), bad=np.zeros(len(values), bool))

    def read(self, column: int, values: pa.Array, label: bool, float_is_enough: bool) -> Found:
        text = trimmed(values)
        found = fast(text, float_is_enough)
        return found if found else slow(text, label)


def trimmed(values: pa.Array) -> pa.Array:
    try:
        values.validate(full=True)
        return pc.utf8_trim(values, " \t")
    except pa.ArrowInvalid:
        return pa.array([decoded(v) for v in pc.cast(values, pa.binary()).to_pylist()], pa.string())


def decoded(value: bytes) -> str:
    return value.decode(errors="backslashreplace").strip(" \t")


def fast(text: pa.Array, float_is_enough: bool) -> Found | None:
    """Parses a batch that only has numbers."""
    if not float_is_enough:
        try:
            if not pc.any(pc.match_substring(text, "x", ignore_case=True)).as_py():  # 0x10 is not a number
                return Found(pc.cast(text, pa.int64()).to_numpy(zero_copy_only=False), whole=True)
        except pa.ArrowInvalid:
            if pc.any(pc.starts_with(text, "+")).as_py():  # may be an integer, too
                return None
    try:
        values = pc.cast(text, pa.float64()).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:
        return None
    return Found(values) if np.isfinite(values).all() else None


def slow(text: pa.Array, label: bool) -> Found:
    """Parses any batch value by value. Labels that are not numbers are names."""
    words: list[str] = text.to_pylist()
    values, bad, names = [0.0] * len(words), np.zeros(len(words), bool), np.zeros(len(words), bool)
    wholes: list[int] | None = [0] * len(words)
    why: dict[int, str] = {}
    for i, word in enumerate(words):
        if NUMBER.fullmatch(word):
            values[i] = float(word)
            if not np.isfinite(values[i]):
                why[i] = f"'{word}' is not finite"
            elif wholes is not None and WHOLE.fullmatch(word) and -2**63 <= int(word) < 2**63:
                wholes[i] = int(word)
            else:
                wholes = None
        elif word in MISSING:
            why[i] = "no value"
        elif STRANGE.fullmatch(word):
            why[i] = f"'{word}' is not finite"
        elif label:
            names[i] = True
        else:
            comma = "," in word and NUMBER.fullmatch(word.replace(",", ".", 1))
            why[i] = f"'{word}' is no number" + (": its decimal comma has to be a point" if comma else "")
    bad[list(why)] = True
    found = Found(np.array(values if wholes is None else wholes, np.float64 if wholes is None else np.int64),
                  whole=wholes is not None, bad=bad, why=why)
    if names.any():
        found.names, found.named = text, names
    return found
