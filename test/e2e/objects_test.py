# SPDX-License-Identifier: Apache-2.0
"""Objects of compiled kernels are kept in the user's cache folder, and found by the next dlc compile."""

import os
from unittest import mock

import dlc


class Objects(dlc.TestCase):
    def compile(self, cache, name):
        with mock.patch.dict(os.environ, DLC_CACHE_DIR=cache):
            return dlc.compile(dlc.model("mlp"), self.path(name))

    def entries(self, cache):
        folder = os.path.join(cache, "objects")
        return {file: os.stat(os.path.join(folder, file)).st_ino for file in os.listdir(folder)}

    def kernels(self, artifact):
        with open(os.path.join(artifact, "kernels.so"), "rb") as file:
            return file.read()

    def test_a_second_compilation_finds_them(self):
        cache = self.path("cache")
        first = self.compile(cache, "first.dlc")
        entries = self.entries(cache)
        self.assertTrue(entries)
        second = self.compile(cache, "second.dlc")
        self.assertEqual(self.entries(cache), entries)
        self.assertEqual(self.kernels(second), self.kernels(first))
        self.assertEqual(os.stat(os.path.join(cache, "objects")).st_mode & 0o777, 0o700)

    def test_a_folder_that_others_may_write_to_is_not_used(self):
        cache = self.path("shared")
        os.mkdir(cache)
        os.chmod(cache, 0o777)
        self.compile(cache, "apart.dlc")
        self.assertEqual(os.listdir(cache), [])


if __name__ == "__main__":
    dlc.main()
