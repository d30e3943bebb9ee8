# SPDX-License-Identifier: Apache-2.0
"""Each page for users is found from the first one and from the site's contents."""

import os
import re
import unittest

import dlc

DOCS = os.path.join(dlc.ROOT, "docs")


class Pages(unittest.TestCase):
    def test_each_is_listed(self):
        pages = {f"guide/{name}" for name in os.listdir(f"{DOCS}/guide")}
        self.assertGreater(len(pages), 10)
        with open(f"{DOCS}/README.md") as file:
            self.assertEqual(pages - set(re.findall(r"\]\((guide/[\w-]+\.md)\)", file.read())), set())
        with open(f"{dlc.ROOT}/tools/site/mkdocs.yml") as file:
            listed = re.findall(r"^ +- ([\w/-]+\.md)$", file.read(), re.M)
        pages |= {name for name in os.listdir(DOCS) if name.endswith(".md")}
        self.assertEqual(sorted(listed), sorted(pages))


if __name__ == "__main__":
    unittest.main()
