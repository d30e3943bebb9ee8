# SPDX-License-Identifier: Apache-2.0
"""Writes picture files without a library."""

import os
import struct
import zlib

import numpy as np


def chunk(name, content):
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def png(pixels, size=None):
    """Encodes grey [H, W] or RGB [H, W, 3], u8; `size` is the (width, height) in the header."""
    height, width = pixels.shape[:2]
    head = struct.pack(">IIBBBBB", *(size or (width, height)), 8, 0 if pixels.ndim == 2 else 2, 0, 0, 0)
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def write(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)


def write_folder(root, pictures, labels):
    """A folder per class; files are named after the pictures' numbers."""
    for i, (picture, label) in enumerate(zip(pictures, labels)):
        write(os.path.join(root, f"class{label}", f"{i:04}.png"), png(picture))


def write_digits(root, arrays, count):
    """Writes the first of these digits, by class, as such a folder; returns pixels and classes in its order."""
    with np.load(arrays) as data:
        order = np.argsort(data["y"][:count], kind="stable")
        x, y = data["x"][:count][order] * 15, data["y"][:count][order]
    write_folder(root, x[:, 0], y)
    return x, y
