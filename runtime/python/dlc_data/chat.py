# SPDX-License-Identifier: Apache-2.0
"""Tokenizer of dlc generate: reads a line of JSON and answers with one until the input ends; the first is {"ready": true}.

{"encode": TEXT, "begins": true}   {"ids": [5, 17]}; with the tokens before a document
{"names": ["</s>"]}                {"ids": [2]}; null if it is not a token
{"name": 2}                        {"name": "</s>"}; null if it has none
{"ends": true}                     {"ids": [2]}; special tokens but the unknown one
{"skip": [5, 17]}                  {"skipped": 2}; tokens whose text is not output
{"push": 17}                       {"text": "whole characters"}
{"finish": true}                   {"text": "the rest"}
A failure is {"error": "..."}.
"""

from __future__ import annotations

import json
from typing import Any, TextIO

from dlc_data import DataError
from dlc_data.tokens import Vocabulary

TORN = "\ufffd"  # the decoder's replacement of incomplete or invalid characters


class Stream:
    """Text of a stream of tokens without special ones, as far as later tokens cannot change it."""

    MOST, KEPT = 512, 64  # tokens decoded at a time

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.without_text = set(vocabulary.special())
        self.ids: list[int] = []
        self.said = 0  # characters of their text already returned

    def skip(self, ids: list[int]) -> None:
        self.ids += [i for i in ids if i not in self.without_text]
        self.said = len(self.vocabulary.decode(self.ids, True))

    def push(self, token: int, ends: bool = False) -> str:
        if not ends and token in self.without_text:
            return ""
        self.ids += [] if ends else [token]
        text = self.vocabulary.decode(self.ids, True)
        if not ends and self.vocabulary.is_byte(token):
            return ""  # the next token may change the text of a run of bytes
        certain = text if ends else text.rstrip(TORN)
        new = certain[self.said:]
        self.said = max(self.said, len(certain))
        if len(self.ids) > self.MOST and self.said == len(text):
            kept = self.vocabulary.decode(self.ids[-self.KEPT:], True)
            if text.endswith(kept) and not kept.startswith(TORN):
                self.ids, self.said = self.ids[-self.KEPT:], len(kept)
        return new


class Chat:
    def __init__(self, tokenizer: str) -> None:
        self.vocabulary = Vocabulary(tokenizer)
        self.stream = Stream(self.vocabulary)

    def answer(self, asked: dict[str, Any]) -> dict[str, Any]:
        tokenizer = self.vocabulary.tokenizer
        if "encode" in asked:
            before = self.vocabulary.around()[0] if asked.get("begins") else []
            return {"ids": before + self.vocabulary.encode(asked["encode"]).tolist()}
        if "names" in asked:
            return {"ids": [tokenizer.token_to_id(name) for name in asked["names"]]}
        if "name" in asked:
            return {"name": self.vocabulary.name_of(asked["name"])}
        if "ends" in asked:
            unknown = self.vocabulary.unknown()
            return {"ids": [i for i in self.vocabulary.special() if i != unknown]}
        if "skip" in asked:
            self.stream.skip(asked["skip"])
            return {"skipped": len(asked["skip"])}
        if "push" in asked:
            return {"text": self.stream.push(asked["push"])}
        if "finish" in asked:
            return {"text": self.stream.push(0, ends=True)}
        raise DataError("asked for nothing that is known")


def chat(tokenizer: str, asked: TextIO, answers: TextIO) -> None:
    talk = Chat(tokenizer)
    print(json.dumps({"ready": True}), file=answers, flush=True)
    for line in asked:
        try:
            answer = talk.answer(json.loads(line))
        except DataError as error:
            answer = {"error": str(error)}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
