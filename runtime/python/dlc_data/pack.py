# SPDX-License-Identifier: Apache-2.0
"""Packs documents into rows of one length, for models of dlc compile --pack."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np

from dlc_data import DataError
from dlc_data.output import Progress, Workplace, write_safetensors
from dlc_data.tokens import Vocabulary, read_text

IGNORED = -100  # label of a token without successor


def documents_of(path: str, kind: str) -> list[str]:
    """The texts of a file: its lines, the whole file, or the "text" of each line of a .jsonl."""
    text = read_text(path)
    if path.endswith(".jsonl"):
        found = []
        for number, line in enumerate(text.split("\n"), 1):
            if not line.strip():
                continue
            try:
                found.append(json.loads(line)["text"])
            except (ValueError, KeyError, TypeError):
                found.append(None)
            if not isinstance(found[-1], str):
                raise DataError(f"'{path}': line {number} is no JSON object with a string \"text\"")
        return found
    return [text] if kind == "file" else [line.removesuffix("\r") for line in text.split("\n")]


def pieces_of(tokens: np.ndarray, length: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Splits tokens and labels to `length` or less; a piece's last label is the next piece's first token."""
    labels = np.append(tokens[1:].astype(np.int32), np.int32(IGNORED))
    for at in range(0, len(tokens), length):
        if len(tokens) - at > 1:
            yield tokens[at:at + length], labels[at:at + length]


class FirstFit:
    """Finds the first row with enough room, with a tree of the largest room below each node."""

    def __init__(self, rows: int, length: int) -> None:
        self.leaves = 1 << max(0, rows - 1).bit_length()
        self.room = [length] * (2 * self.leaves)

    def place(self, size: int) -> int:
        node = 1
        while node < self.leaves:
            node = 2 * node + (self.room[2 * node] < size)
        row = node - self.leaves
        self.room[node] -= size
        while node > 1:
            node //= 2
            self.room[node] = max(self.room[2 * node], self.room[2 * node + 1])
        return row


def pack(pieces: list[tuple[np.ndarray, np.ndarray]], length: int) -> dict[str, np.ndarray]:
    """Places each piece, in order, in the first row with room; the rest of a row becomes one document without labels."""
    fit = FirstFit(len(pieces), length)
    places = [fit.place(len(tokens)) for tokens, _ in pieces]
    rows = max(places) + 1
    used = np.zeros(rows, np.int64)
    ids = np.zeros((rows, length), np.int32)
    positions, y = np.zeros_like(ids), np.full_like(ids, IGNORED)
    for row, (tokens, labels) in zip(places, pieces):
        here = slice(used[row], used[row] + len(tokens))
        ids[row, here], y[row, here] = tokens, labels
        positions[row, here] = np.arange(len(tokens))
        used[row] = here.stop
    for row in np.flatnonzero(used < length):
        positions[row, used[row]:] = np.arange(length - used[row])
    return {"input_ids": ids, "position_ids": positions, "y": y}


def write_rows(paths: list[str], tokenizer: str, kind: str, special: bool, length: int, output: str) -> None:
    vocabulary = Vocabulary(tokenizer)
    before, behind = vocabulary.around() if special else ([], [])
    pieces, count, longer = [], 0, 0
    for path in paths:
        texts = [text for text in documents_of(path, kind) if text]
        for inner in vocabulary.each(texts, Progress(path)):
            tokens = np.concatenate([np.array(before, np.uint32), inner, np.array(behind, np.uint32)])
            count, longer = count + 1, longer + (len(tokens) > length)
            pieces += pieces_of(tokens, length)
    if not pieces:
        raise DataError(f"'{paths[0]}' has no document of two tokens, which a label needs")
    arrays = pack(pieces, length)
    with Workplace(output) as place:
        write_safetensors(place, [(name, "I32", list(array.shape), array) for name, array in arrays.items()], {"packed": "documents"})
    filled = sum(len(tokens) for tokens, _ in pieces) / arrays["y"].size
    print(f"{output}: {count} documents in {len(arrays['y'])} rows of {length} tokens, {100 * filled:.1f} % full"
          + (f"; {longer} longer than a row are cut" if longer else ""))
