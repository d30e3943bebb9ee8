# SPDX-License-Identifier: Apache-2.0
"""Files of tokens train and evaluate as the same windows in a .npz; what is wrong with a file is said by its name."""

import json
import os
import shutil
import unittest

import dlc
import numpy as np

T, WINDOWS = 32, 128


def llmc(tokens, magic, version, dtype, count=None):
    header = np.zeros(256, np.int32)
    header[:3] = magic, version, len(tokens) if count is None else count
    return header.tobytes() + tokens.astype(dtype).tobytes()


class Tokens(dlc.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.share_folder()
        cls.artifact = dlc.compile(dlc.model("gpt_tiny"), os.path.join(cls.shared, "gpt.dlc"), batch=16)
        with np.load(dlc.data("text-train")) as data:
            cls.tokens = data["x"].reshape(-1)[:WINDOWS * T + 1]
        cls.npz = os.path.join(cls.shared, "same.npz")
        np.savez(cls.npz, x=cls.tokens[:-1].reshape(-1, T), y=cls.tokens[1:].reshape(-1, T))

    def write(self, name, content):
        with open(self.path(name), "wb") as file:
            file.write(content)
        return self.path(name)

    def test_evaluation(self):
        run = dlc.train(self.artifact, self.npz, self.path("run"), epochs=1)
        expected = dlc.evaluate(run.folder, self.npz)
        plain = self.write("plain.bin", self.tokens.astype(np.uint16).tobytes())
        self.assertEqual(dlc.evaluate(run.folder, plain, tokens="uint16"), expected)
        for name, content in (("gpt2", llmc(self.tokens, 20240520, 1, np.uint16)), ("llama", llmc(self.tokens, 20240801, 7, np.uint32))):
            self.assertEqual(dlc.evaluate(run.folder, self.write(name + ".bin", content)), expected)

    def test_training(self):
        """Resumed in an epoch, and in parts."""
        half = WINDOWS // 2 * T
        for i, part in enumerate((self.tokens[:half + 1], self.tokens[half:])):
            self.write(f"part-{i}.bin", part.astype(np.uint32).tobytes())
        words = dict(data=self.path("part-{0..1}.bin"), tokens="uint32", epochs=2)
        whole = dlc.train(self.artifact, run=self.path("whole"), **words)
        process = dlc.start("train", self.artifact, run=self.path("begun"), save_every=3, **words)
        while not os.path.isdir(self.path("begun/checkpoint-3")):
            self.assertIsNone(process.poll(), "it ended before it could be killed")
        dlc.kill(process)
        dlc.dlc("train", resume=self.path("begun"))
        self.assertBitwise(dlc.Run(self.path("begun")).state(16), whole.state(16), "after kill -9")

    def test_memory(self):
        """What is read to know the samples again is not kept, nor shown as the run's memory."""
        path = self.path("large.bin")
        with open(path, "wb") as file:
            file.truncate(512 << 20)
        process = dlc.start("train", self.artifact, "--log-json", data=path, tokens="uint16", steps=1, run=self.path("run"))
        *_, progress = (line for line in process.stderr.read().splitlines() if '"progress"' in line)
        process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, dlc.OK)
        self.assertLess(usage.ru_maxrss << 10, 400 << 20)
        self.assertLess(json.loads(progress)["memory_bytes"], 100 << 20)

    def refuse(self, message, content, code=dlc.FAILED, **options):
        shutil.rmtree(self.path("refused"), ignore_errors=True)
        _, err = dlc.dlc("train", self.artifact, data=self.write("a.bin", content), run=self.path("refused"), epochs=1, code=code, **options)
        self.assertRegex(err, message)

    def test_files_that_are_refused(self):
        plain, good = self.tokens.astype(np.uint16).tobytes(), llmc(self.tokens, 20240520, 1, np.uint16)
        high = self.tokens.astype(np.uint16)
        high[T * 5] = 60000
        for content, options, message in [
                (plain, {}, r"a\.bin' has tokens and no header that tells their type: give --tokens=uint16"),
                (plain + b"1", dict(tokens="uint16"), "has 8195 bytes, not a whole number of uint16 tokens"),
                (good, dict(tokens="uint32"), r"has a header with token type uint16, found --tokens=uint32"),
                (good[:-10], {}, r"claims 4097 tokens of 2 bytes, but has 8184 bytes of tokens: is the file truncated\?"),
                (good + b"1", {}, r"claims 4097 tokens of 2 bytes, but has 8195 bytes of tokens: is the file truncated\?"),
                (llmc(self.tokens, 20240520, 1, np.uint16, -5), {}, "claims -5 tokens"),
                (llmc(self.tokens, 20240520, 2, np.uint16), {}, "has version 2, expected 1"),
                (plain[:2 * T], dict(tokens="uint16"), "has 32 tokens, expected at least 33 contiguous ones"),
                (b"", dict(tokens="uint16"), r"a\.bin"),
                (high.tobytes(), dict(tokens="uint16"), r"60000 in row \d+ is out of range, expected 0 to 95")]:
            with self.subTest(message):
                self.refuse(message, content, **options)


class OtherModels(dlc.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.share_artifact()

    def test_a_model_of_pictures(self):
        with open(self.path("a.bin"), "wb") as file:
            file.write(bytes(4096))
        _, err = dlc.dlc("train", self.artifact, data=self.path("a.bin"), tokens="uint16", epochs=1, run=self.path("run"), code=dlc.FAILED)
        self.assertRegex(err, r"has tokens, which cannot be samples of shape \[1, 8, 8\], expected \[T\]")


if __name__ == "__main__":
    unittest.main()
