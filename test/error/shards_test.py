# SPDX-License-Identifier: Apache-2.0
"""Shards that must be refused: the message names the archive and the member."""

import io
import os
import shutil
import tarfile
import unittest

import dlc
import numpy as np
import pictures
import shards

PNG = pictures.png(np.zeros((8, 8), np.uint8))
GOOD = [(f"{i:02}.{part}", content) for i in range(40) for part, content in (("png", PNG), ("cls", b"3"))]


def archive(members):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, content in members:
            shards.add(tar, name, content)
    return file.getvalue()


def resummed(block):
    """A header with the sum of its bytes."""
    block = bytearray(block)
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


def with_size(content, size):
    return resummed(content[:124] + size + content[136:512]) + content[512:]


class BadShards(dlc.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.share_artifact()

    def refuse(self, message, content=None, data=None, code=dlc.FAILED):
        path = data or self.path("a.tar")
        if content is not None:
            with open(path, "wb") as file:
                file.write(content)
        shutil.rmtree(self.path("run"), ignore_errors=True)
        _, err = dlc.dlc("train", self.artifact, data=path, run=self.path("run"), epochs=1, code=code, timeout=60)
        self.assertRegex(err, message)

    def test_samples(self):
        for members, message in [
                (GOOD + [("x.png", PNG)], r"a\.tar/x\.png' has no class \(\.cls\), but 40 of 41 samples have one"),
                (GOOD + [("x.png", PNG), ("x.cls", b"cat")], r"a\.tar': 'x\.cls' holds 'cat', expected a class: a number from 0"),
                (GOOD + [("x.png", PNG), ("x.cls", b"-1")], "'x.cls' holds '-1'"),
                (GOOD + [("x.png", PNG), ("x.cls", b"1" * 40)], "'x.cls' holds '1111"),
                (GOOD + [("x.png", PNG), ("x.jpg", PNG)], "sample 'x' has two pictures"),
                (GOOD + [("x.png", PNG), ("x.cls", b"1"), ("x.cls", b"2")], "sample 'x' has two classes"),
                (GOOD + [("x.cls", b"1"), ("x.cls", b"1"), ("x.png", PNG)], "sample 'x' has two classes"),
                (GOOD + [("x.txt", b"a"), ("x.cls", b"1")], r"sample 'x' has no picture, expected \.jpg, .*, found \.txt"),
                (GOOD + [("x.png", b"?"), ("x.cls", b"1")], r"a\.tar/x\.png': is not a picture"),
                (GOOD[::2], "has no array 'y'"),
                ([], "has no samples")]:
            with self.subTest(message):
                self.refuse(message, archive(members))

    def test_archives(self):
        good = archive(GOOD)
        link = tarfile.TarInfo("x.png")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        pax = tarfile.TarInfo("pax")
        pax.type, pax.size = b"x", 20
        for content, message in [
                (good[:700], r"a\.tar': it ends without the empty block at the end of an archive: is the file truncated\?"),
                (good[:1024], "it ends without the empty block"),
                (good[:1024 + 100], "it ends within a header, at byte 1024"),
                (good[:512 + 10], "it ends within '00.png', which claims"),
                (good + good, "it has data after its end, at byte 92160: several archives in one file"),
                (b"x" * 2048, "no tar header at byte 0"),
                (good[:600] + b"\xff" * 600 + good[1200:], "no tar header at byte 1024"),
                (with_size(good, b"7" * 11 + b"\0"), "it ends within '00.png', which claims 8589934591 bytes"),
                (with_size(good, b"\x80" + b"\xff" * 11), "'00.png' has a size that is not a number"),
                (with_size(good, b"\x80\0\0\0\x7f" + b"\xff" * 7), "which claims 9223372036854775807 bytes"),
                (with_size(good, b"junk" + b"\0" * 8), "'00.png' has a size that is not a number"),
                (link.tobuf(tarfile.USTAR_FORMAT) + good, "'x.png' is a link, expected a file"),
                (pax.tobuf(tarfile.USTAR_FORMAT) + b"99 path=a\n".ljust(512, b"\0") + good, "a pax header that is damaged"),
                (pax.tobuf(tarfile.USTAR_FORMAT) + b"20 GNU.sparse.ma=1\n\n".ljust(512, b"\0") + good, "a sparse file"),
                (pax.tobuf(tarfile.USTAR_FORMAT) + b"20 size=-1         \n".ljust(512, b"\0") + good, "a size that is not a number"),
                (b"", "a.tar")]:
            with self.subTest(message):
                self.refuse(message, content)

    def test_names(self):
        for path, message, code in [("none.tar", r"none\.tar'", dlc.FAILED), ("a-{0..2}.tar", r"a-0\.tar'", dlc.FAILED),
                                    ("a-{2..0}.tar", "expected a range", dlc.USAGE), ("a-{0..x}.tar", "expected a range", dlc.USAGE),
                                    ("a-{0..99999999}.tar", "at most 60000 numbers", dlc.USAGE),
                                    ("a.tar.gz", "is compressed: unpack it", dlc.FAILED)]:
            with self.subTest(path):
                self.refuse(message, data=self.path(path), code=code)


if __name__ == "__main__":
    unittest.main()
