# SPDX-License-Identifier: Apache-2.0
"""Tokenizer cases: tokenizer.json files from test/refs/make_NAME.py, with expected token ids."""

import importlib.util
import json
import os

import dlc
import numpy as np


def tokens_of(path):
    with open(path, "rb") as file:
        header = np.frombuffer(file.read(1024), np.int32)
        tokens = np.frombuffer(file.read(), {20240520: np.uint16, 20240801: np.uint32}[header[0]])
    assert len(tokens) == header[2]
    return tokens


def load_maker(name):
    """Imports test/refs/NAME.py."""
    spec = importlib.util.spec_from_file_location(name, os.path.join(dlc.REFS, name + ".py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class TokenizerTest(dlc.TestCase):
    @classmethod
    def share_forms(cls, maker, tokenizer, expected):
        module = load_maker(maker)
        cls.share_folder()
        with open(os.path.join(dlc.REFS, tokenizer)) as file:
            cls.json = json.load(file)
        cls.maker, cls.forms = module, module.forms(cls.json)
        with np.load(os.path.join(dlc.REFS, expected)) as data:
            cls.expected = dict(data)

    def check_every_form(self, text):
        for name, form in self.forms.items():
            with self.subTest(name):
                np.testing.assert_array_equal(self.tokenize(text, form), self.expected[name])

    def write(self, name, content):
        with open(self.path(name), "w", newline="") as file:
            file.write(content if isinstance(content, str) else json.dumps(content))
        return self.path(name)

    def tokenize(self, text, form, code=dlc.OK, **options):
        tokenizer = self.write("tokenizer.json", form)
        _, self.err = dlc.dlc_data("tokens", text, tokenizer=tokenizer, output=self.path("out.bin"), code=code, **options)
        return tokens_of(self.path("out.bin")) if code == dlc.OK else None
