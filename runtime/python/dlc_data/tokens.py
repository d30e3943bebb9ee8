# SPDX-License-Identifier: Apache-2.0
"""Converts text to tokens with a tokenizer.json, as the package tokenizers does for the whole text, and back."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from tokenizers import Encoding, Tokenizer

from dlc_data import DataError
from dlc_data.output import Progress, Workplace

WINDOW = 1 << 18  # characters encoded at once
OVERLAP = 1 << 12  # characters that adjacent windows share
AGREEING = 24  # equal tokens on both sides of a joint of windows
BYTE = re.compile("<0x[0-9A-Fa-f]{2}>")
AT_ONCE = 16  # windows, or thousands of lines, processed in parallel


class Vocabulary:
    """A tokenizer without truncation and padding."""

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            with open(path, "rb") as file:
                self.json: dict[str, Any] = json.load(file)
        except OSError as error:
            raise DataError(f"cannot read '{path}': {error.strerror}") from None
        except ValueError:
            raise DataError(f"'{path}': is no JSON") from None
        try:
            self.tokenizer = Tokenizer.from_file(path)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # the package raises bare exceptions, and panics
            raise DataError(f"'{path}': is no tokenizer that the package tokenizers knows: {error}") from None
        if getattr(self.tokenizer.model, "dropout", None):
            raise DataError(f"'{path}': its model's 'dropout' would give other tokens each time: remove it")
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()

    def around(self) -> tuple[list[int], list[int]]:
        """The special tokens at the start and end of a document."""
        if self.tokenizer.num_special_tokens_to_add(False) == 0:
            raise DataError(f"'{self.path}': its post-processor adds no special tokens: leave out --special-tokens")
        for text in "a", "the", "0", "":
            inner = self.tokenizer.encode(text, add_special_tokens=False).ids
            ids = self.tokenizer.encode(text).ids
            places = [i for i in range(len(ids) - len(inner) + 1) if ids[i:i + len(inner)] == inner]
            if inner and len(places) == 1:
                return ids[:places[0]], ids[places[0] + len(inner):]
        raise DataError(f"'{self.path}': its post-processor is not one of tokens before and behind a document")

    def encode(self, text: str, progress: Progress | None = None) -> np.ndarray:
        """Tokens of a whole text, without special tokens around it."""
        size = WINDOW
        while True:
            ids = self.in_windows(text, size, progress)
            if ids is not None:
                return ids
            size *= 8  # the windows do not agree anywhere in their overlap

    def in_windows(self, text: str, size: int, progress: Progress | None) -> np.ndarray | None:
        """Encodes overlapping windows, which are joined where both have the same tokens on both sides."""
        begins = [0, *range(size - OVERLAP, len(text) - OVERLAP, size - OVERLAP)]
        parts: list[np.ndarray] = []
        before: tuple[Encoding, int, int] | None = None  # a window, its start, its first token not yet in parts
        for at in range(0, len(begins), AT_ONCE):
            some = begins[at:at + AT_ONCE]
            encoded = self.tokenizer.encode_batch([text[b:b + size] for b in some], add_special_tokens=False)
            for begin, found in zip(some, encoded):
                first = 0
                if before:
                    place = joint(before[0], before[1], found, begin)
                    if place is None:
                        return None
                    parts.append(np.array(before[0].ids[before[2]:place[0]], np.uint32))
                    first = place[1]
                before = found, begin, first
            if progress:
                progress.say(f"{some[-1]} of {len(text)} characters")
        assert before
        parts.append(np.array(before[0].ids[before[2]:], np.uint32))
        return np.concatenate(parts)

    def documents(self, text: str, kind: str, progress: Progress) -> np.ndarray:
        if kind == "none":
            return self.encode(text, progress)
        before, behind = self.around()
        if kind == "file":
            return np.concatenate([np.array(before, np.uint32), self.encode(text, progress), np.array(behind, np.uint32)])
        lines = [line for line in (line.removesuffix("\r") for line in text.split("\n")) if line]
        return np.concatenate([np.zeros(0, np.uint32), *self.each(lines, progress, True)])

    def each(self, texts: list[str], progress: Progress, special: bool = False) -> Iterator[np.ndarray]:
        for at in range(0, len(texts), 1000 * AT_ONCE):
            for found in self.tokenizer.encode_batch(texts[at:at + 1000 * AT_ONCE], add_special_tokens=special):
                yield np.array(found.ids, np.uint32)
            progress.say(f"{at} of {len(texts)} texts")

    def decode(self, ids: list[int], skips_special: bool) -> str:
        return str(self.tokenizer.decode(ids, skip_special_tokens=skips_special))

    def name_of(self, token: int) -> str | None:
        name = self.tokenizer.id_to_token(token)
        return None if name is None else str(name)

    def is_byte(self, token: int) -> bool:
        """Whether the token is <0x00> to <0xFF>, runs of which the decoder joins."""
        return "ByteFallback" in json.dumps(self.json.get("decoder")) and bool(BYTE.fullmatch(self.name_of(token) or ""))

    def special(self) -> list[int]:
        return sorted(i for i, token in self.tokenizer.get_added_tokens_decoder().items() if token.special)

    def unknown(self) -> int | None:
        """The unknown token, for text without tokens."""
        model = self.json.get("model") or {}
        if isinstance(model.get("unk_id"), int):
            return int(model["unk_id"])
        token = model.get("unk_token")
        return None if token is None else self.tokenizer.token_to_id(token)


def joint(one: Encoding, one_begin: int, other: Encoding, other_begin: int) -> tuple[int, int] | None:
    """Indices in two windows at one position of the text, with equal tokens on both sides; preferably in the middle."""
    left = np.array(one.offsets, np.int64).reshape(-1, 2)[:, 0] + one_begin
    right = np.array(other.offsets, np.int64).reshape(-1, 2)[:, 0] + other_begin
    left_ids, right_ids = np.array(one.ids), np.array(other.ids)
    for share in 0.5, 0.3, 0.7, 0.2, 0.8, 0.4, 0.6:
        middle = other_begin + int(OVERLAP * share)
        i, j = int(np.searchsorted(left, middle)), int(np.searchsorted(right, middle))
        a, b = slice(i - AGREEING, i + AGREEING), slice(j - AGREEING, j + AGREEING)
        if i < AGREEING or j < AGREEING or i + AGREEING > len(left) or j + AGREEING > len(right):
            continue
        if (left_ids[a] == right_ids[b]).all() and (left[a] == right[b]).all():
            return i, j
    return None


def read_text(path: str) -> str:
    try:
        with open(path, "rb") as file:
            content = file.read()
        return content.decode()
    except OSError as error:
        raise DataError(f"cannot read '{path}': {error.strerror}") from None
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DataError(f"'{path}': line {line} is no UTF-8") from None


def write_tokens(paths: list[str], tokenizer: str, documents: str, form: str, output: str) -> None:
    """Format "cache": "dlctoken"; u64 version 1, bytes per token, number of texts, tokens of each text; then all tokens.
    "llm.c": with its header."""
    vocabulary = Vocabulary(tokenizer)
    if documents != "none":
        vocabulary.around()
    with Workplace(output) as place:
        counts, largest = [], 0
        wide, file = place.open("wide"), place.open("all")
        for path in paths:
            tokens = vocabulary.documents(read_text(path), documents, Progress(path))
            counts.append(len(tokens))
            largest = max(largest, int(tokens.max(initial=0)))
            wide.write(tokens.astype("<u4").data)
        width = 2 if largest < 1 << 16 else 4
        file.write(header_of(form, counts, width))
        wide.seek(0)
        while block := wide.read(8 << 20):
            file.write(block if width == 4 else np.frombuffer(block, "<u4").astype("<u2").data)
        place.publish(file)
    if form == "llm.c":
        print(f"{output}: {sum(counts)} tokens, the largest is {largest}")


def header_of(form: str, counts: list[int], width: int) -> bytes:
    if form == "cache":
        return b"dlctoken" + np.array([1, width, len(counts), *counts], "<u8").tobytes()
    if sum(counts) >= 1 << 31:
        raise DataError(f"{sum(counts)} tokens are more than a file's header can count: tokenize parts of the text")
    header = np.zeros(256, "<i4")
    header[:3] = [20240520, 1, sum(counts)] if width == 2 else [20240801, 7, sum(counts)]
    return header.tobytes()


def read_tokens(path: str, kind: str) -> np.ndarray:
    """Reads a file with llm.c's header, or of a given type."""
    types = {"uint16": np.dtype("<u2"), "uint32": np.dtype("<u4")}
    known = {(20240520, 1): "uint16", (20240801, 7): "uint32"}
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError as error:
        raise DataError(f"cannot read '{path}': {error.strerror}") from None
    begin = np.frombuffer(content[:1024], "<i4") if len(content) >= 1024 else np.zeros(3, "<i4")
    named = known.get((int(begin[0]), int(begin[1])))
    if not named and kind == "auto":
        raise DataError(f"'{path}' has no header: say its type by --tokens=uint16 or uint32")
    if named and kind not in ("auto", named):
        raise DataError(f"'{path}' has tokens of {named}, expected {kind}")
    of = types[named or kind]
    content = content[1024 if named else 0:]
    if len(content) % of.itemsize or (named and len(content) != int(begin[2]) * of.itemsize):
        raise DataError(f"'{path}' has {len(content)} bytes of tokens, which its header or type does not fit")
    return np.frombuffer(content, of)


def text_of(path: str, kind: str, tokenizer: str, skips_special: bool) -> tuple[str, int, int]:
    """Decodes a token file; returns also the number of tokens, and of those that the tokenizer lacks."""
    vocabulary = Vocabulary(tokenizer)
    ids = read_tokens(path, kind)
    known = np.array([vocabulary.name_of(int(i)) is not None for i in np.unique(ids)], bool)
    unknown = np.unique(ids)[~known]
    mask = np.isin(ids, unknown)
    return vocabulary.decode(ids[~mask].tolist(), skips_special), len(ids), int(mask.sum())


def files_of(path: str) -> Iterator[str]:
    """All *.txt below a folder, sorted by path as bytes, without hidden ones; a file is returned as is."""
    if not os.path.isdir(path):
        yield path
        return
    found = []
    for folder, folders, files in os.walk(path):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [os.path.join(folder, name) for name in files if name.endswith(".txt") and not name.startswith(".")]
    if not found:
        raise DataError(f"'{path}' has no text, expected files .txt")
    for name in sorted(found, key=os.fsencode):
        if os.path.islink(name) or not os.path.isfile(name):
            raise DataError(f"'{name}' is no file")
        yield name
