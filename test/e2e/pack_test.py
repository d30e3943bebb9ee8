# SPDX-License-Identifier: Apache-2.0
"""dlc compile --pack: documents that share a row train as if each stood alone; the numbers are make_pack.py's, by PyTorch."""

import json
import os

import dlc
import numpy as np


class Pack(dlc.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.share_folder()
        cls.ref = np.load(os.path.join(dlc.REFS, "pack_ref.npz"))
        cls.data = os.path.join(cls.shared, "rows.npz")
        np.savez(cls.data, **{key: np.concatenate(cls.ref[key]) for key in ("input_ids", "position_ids", "y")})

    def compiled(self, name, **options):
        return dlc.compile(os.path.join(dlc.REFS, f"pack_{name}.onnx"), self.path("m.dlc"), loss="cross_entropy", ignore_index=-100,
                           schedule="constant", **dict(dict(optimizer="sgd", lr=0.1, pack=True), **options))

    def check_training(self, name, **options):
        artifact = self.compiled(name, **options)
        run = dlc.train(artifact, self.data, self.path("run-" + name), shuffle="off", epochs=1, threads=1)
        losses = self.ref[f"{name}/losses"]
        np.testing.assert_allclose(run.metrics("loss"), losses, rtol=1e-5)
        final, initial, prefix = run.state(len(losses)), run.initial(artifact), f"{name}/final/"
        names = [key.removeprefix(prefix) for key in self.ref.files if key.startswith(prefix) and key.removeprefix(prefix) in final]
        self.assertGreater(len(names), 15)
        for key in names:
            moved = np.abs(self.ref[prefix + key] - initial[key]).max()
            np.testing.assert_allclose(final[key], self.ref[prefix + key], rtol=0, atol=max(2e-4 * moved, 3e-7), err_msg=key)

    def test_gpt2(self):
        self.check_training("gpt")

    def test_llama(self):
        """Rotary positions, and keys that heads share."""
        self.check_training("llama")

    def test_unpacked_differs(self):
        """The same rows with the model as it is: the test can fail."""
        with np.load(self.data) as rows:
            np.savez(self.path("all.npz"), attention_mask=np.ones_like(rows["input_ids"]), **rows)
        run = dlc.train(self.compiled("gpt", pack=False), self.path("all.npz"), self.path("run"), shuffle="off", epochs=1)
        self.assertGreater(np.abs(run.metrics("loss") - self.ref["gpt/losses"]).max(), 1e-2)

    def test_generation(self):
        """A text is one document, with a cache and without."""
        texts = []
        for decode in {}, {"decode": True}:
            out, _ = dlc.dlc("generate", self.compiled("gpt", **decode), prompt="1 2 3", tokens=6)
            texts.append(out)
        self.assertEqual(texts[0], texts[1])

    def test_no_positions(self):
        _, err = dlc.dlc("compile", dlc.model("gpt_tiny"), "-o", self.path("m.dlc"), pack=True, code=dlc.BAD_MODEL)
        self.assertIn("--pack: the model has no input 'position_ids' of integers [B, T]", err)
        self.assertFalse(os.path.exists(self.path("m.dlc")))

    def test_packed_text(self):
        """dlc-data pack writes what such a model reads."""
        with open(self.path("a.jsonl"), "w") as file:
            for text in "ab ab ab", "b a", "a b a b a b a b a b a b a b", "a a a a a a a b", "b b b b b b b b":
                file.write(json.dumps({"text": text}) + "\n")
        vocabulary = {"a": 0, "b": 1, "ab": 2, "?": 3}
        with open(self.path("t.json"), "w") as file:
            json.dump({"version": "1.0", "pre_tokenizer": {"type": "Whitespace"}, "added_tokens": [],
                       "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "?"}}, file)
        out, _ = dlc.dlc_data("pack", self.path("a.jsonl"), tokenizer=self.path("t.json"), length=12, output=self.path("r.safetensors"))
        self.assertIn("5 documents in 4 rows of 12 tokens, 72.9 % full; 1 longer than a row are cut", out)
        run = dlc.train(self.compiled("gpt"), self.path("r.safetensors"), self.path("run"), epochs=1)
        self.assertEqual(len(run.metrics("loss")), 2)
        alone = dlc.train(self.compiled("gpt"), self.path("a.jsonl"), self.path("alone"), epochs=1, tokenizer=self.path("t.json"), pack=12)
        self.assertBitwise(alone.state(2), run.state(2), "packed by the run itself")
        out, _ = dlc.dlc("eval", alone.folder, data=self.path("a.jsonl"))
        self.assertEqual(dlc.dlc("eval", run.folder, data=self.path("r.safetensors"))[0], out)
        with open(self.path("a.jsonl")) as lines, open(self.path("a.txt"), "w") as file:
            file.writelines(json.loads(line)["text"] + "\n" for line in lines)
        text = dlc.train(self.compiled("gpt"), self.path("a.txt"), self.path("text"), epochs=1, tokenizer=self.path("t.json"), pack=12)
        self.assertBitwise(text.state(2), run.state(2), "a document a line")
        for data, flags, code, says in (("a.jsonl", dict(pack=12), dlc.FAILED, "is text: give --tokenizer=tokenizer.json"),
                                        ("rows.npz", dict(pack=12), dlc.USAGE, "--pack is for text (.txt, .jsonl), found "),
                                        ("a.jsonl", dict(pack=1, tokenizer=self.path("t.json")), dlc.USAGE, "--length: expected at least 2 tokens"),
                                        ("a.jsonl", dict(pack=9, tokenizer=self.path("t.json")), dlc.FAILED, "'input_ids'")):
            _, err = dlc.dlc("train", self.compiled("gpt"), data=os.path.join(self.shared if data[0] == "r" else self.folder, data), run=self.path("none"), steps=1, code=code, **flags)
            self.assertIn(says, err)
        text = "holds several documents a row, and the model was compiled without --pack"
        for name, options, says in (("packs", {}, False), ("plain", dict(pack=False, fix_input="attention_mask=1"), True)):
            _, err = dlc.dlc("train", self.compiled("gpt", **options), data=self.path("r.safetensors"), run=self.path(name), steps=1)
            (self.assertIn if says else self.assertNotIn)(text, err)
            _, err = dlc.dlc("train", self.compiled("gpt", **options), data=self.path("a.jsonl"), tokenizer=self.path("t.json"), pack=12,
                             run=self.path(name + "-alone"), steps=1)
            (self.assertIn if says else self.assertNotIn)(text, err)


if __name__ == "__main__":
    dlc.main()
