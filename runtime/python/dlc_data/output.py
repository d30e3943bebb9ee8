# SPDX-License-Identifier: Apache-2.0
"""Writes files atomically, and arrays that are stored on disk until their type is known."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import tempfile
import time
from typing import BinaryIO, Union

import numpy as np

BLOCK = 8 << 20  # bytes per copy


class Workplace(contextlib.ExitStack):
    """A folder next to `path` for unfinished files, which is removed in any case."""

    def __init__(self, path: str) -> None:
        super().__init__()
        parent, name = os.path.split(os.path.abspath(path))
        self.target = path
        self.folder = tempfile.mkdtemp(prefix=name + ".part-", dir=parent)
        self.callback(shutil.rmtree, self.folder, ignore_errors=True)

    def open(self, name: str) -> BinaryIO:
        return self.enter_context(open(f"{self.folder}/{name}", "w+b"))

    def publish(self, file: BinaryIO) -> None:
        """Atomically renames the completed file to `path`."""
        file.flush()
        os.fsync(file.fileno())
        os.replace(file.name, self.target)


class Progress:
    """Prints progress to standard error, at most every five seconds."""

    def __init__(self, what: str) -> None:
        self.what, self.last = what, time.monotonic()

    def say(self, done: str) -> None:
        if time.monotonic() - self.last >= 5:
            self.last = time.monotonic()
            print(f"{self.what}: {done}", file=sys.stderr, flush=True)


class Stage:
    """Rows of 64-bit numbers on disk: integers until a float is added."""

    def __init__(self, file: BinaryIO) -> None:
        self.file, self.whole, self.bytes = file, True, 0

    def add(self, rows: np.ndarray) -> None:
        if self.whole and rows.dtype != np.int64:
            self.widen()
        rows = np.ascontiguousarray(rows, np.int64 if self.whole else np.float64)
        self.file.write(rows.data)
        self.bytes += rows.nbytes

    def widen(self) -> None:
        """Converts stored integers to floats, in place."""
        self.whole = False
        self.change(lambda block: block.astype(np.float64))

    def renumber(self, numbers: np.ndarray) -> None:
        """Replaces provisional class numbers by final ones."""
        self.change(lambda block: numbers[block])

    def change(self, function) -> None:  # type: ignore[no-untyped-def]
        for at in range(0, self.bytes, BLOCK):
            self.file.seek(at)
            block = np.frombuffer(self.file.read(BLOCK), np.int64)
            self.file.seek(at)
            self.file.write(np.ascontiguousarray(function(block)).data)
        self.file.seek(self.bytes)


class Bytes:
    """Bytes stored on disk."""

    def __init__(self, file: BinaryIO) -> None:
        self.file, self.bytes = file, 0

    def add(self, some: bytes) -> None:
        self.file.write(some)
        self.bytes += len(some)


Tensor = tuple[str, str, list[int], Union[Stage, Bytes, np.ndarray]]  # name, type, shape, content


def write_safetensors(place: Workplace, tensors: list[Tensor], metadata: dict[str, str]) -> None:
    """Writes tensors contiguously."""
    header: dict[str, object] = {"__metadata__": metadata}
    at = 0
    for name, dtype, shape, content in tensors:
        size = content.nbytes if isinstance(content, np.ndarray) else content.bytes
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header, ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    file = place.open("all")
    file.write(len(text).to_bytes(8, "little") + text)
    for _, _, _, content in tensors:
        if isinstance(content, np.ndarray):
            file.write(np.ascontiguousarray(content).data)
        else:
            content.file.flush()
            content.file.seek(0)
            shutil.copyfileobj(content.file, file, BLOCK)
    place.publish(file)


def write_json(path: str | None, made: dict[str, object]) -> None:
    if not path:
        print(json.dumps(made, indent=1, ensure_ascii=False))
        return
    with Workplace(path) as place:
        file = place.open("all")
        file.write(json.dumps(made, ensure_ascii=False).encode())
        place.publish(file)
