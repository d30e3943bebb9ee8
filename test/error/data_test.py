# SPDX-License-Identifier: Apache-2.0
"""Data that must be refused, by train, eval and predict: the message and the exit code."""

import gzip
import os
import pickle

import dlc
import numpy as np

X = np.zeros((64, 1, 8, 8), np.float32)
Y = np.arange(64) % 10


class BadData(dlc.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.share_artifact()

    def refuse(self, data, message, code=dlc.FAILED, **options):
        _, err = dlc.dlc("train", self.artifact, data=data, run=self.path("run"), epochs=1,
                         code=code, timeout=20, **options)
        self.assertRegex(err, message)

    def save(self, **arrays):
        np.savez(self.path("data.npz"), **arrays)
        return self.path("data.npz")

    def test_arrays(self):
        nan = X.copy()
        nan[3, 0, 2, 2] = np.nan
        cases = {
            "images of another size": (dict(x=X[..., :7], y=Y), r"data\.npz.*x.*7.*8|8.*7"),
            "images without channel": (dict(x=X[:, 0], y=Y), r"x"),
            "more labels than images": (dict(x=X, y=np.zeros(65, np.int64)), r"64.*65|65.*64"),
            "two labels an image": (dict(x=X, y=np.zeros((64, 2), np.int64)), r"y"),
            "label out of range": (dict(x=X, y=Y + 1), r"label.*10|10.*label"),
            "negative label": (dict(x=X, y=Y - 1), r"label.*-1|-1.*label"),
            "labels that are no integers": (dict(x=X, y=Y.astype(np.float32)), r"y.*f32|float"),
            "no labels": (dict(x=X), r"y"),
            "no images": (dict(y=Y), r"x"),
            "no samples": (dict(x=X[:0], y=Y[:0]), r"data\.npz"),
            "fewer samples than a batch": (dict(x=X[:15], y=Y[:15]), r"15.*16|16.*15"),
            "complex numbers": (dict(x=X.astype(np.complex64), y=Y), r"c8|complex"),
            "text": (dict(x=np.full(X.shape, "a"), y=Y), r"<U1|dtype|type"),
        }
        for name, (arrays, message) in cases.items():
            with self.subTest(name):
                self.refuse(self.save(**arrays), message)

    def test_pickled_objects(self):
        self.refuse(self.save(x=X, y=Y.astype(object)), r"object|\|O")

    def test_arrays_that_inflate_without_end(self):
        """By the directory, before anything is inflated; arrays that are not asked for count, too."""
        np.savez_compressed(self.path("data.npz"), x=X, y=Y, z=np.zeros(120 << 20, np.uint8))
        self.refuse(self.path("data.npz"), r"data\.npz': its compressed arrays take more than 96 MiB of memory, 48 times the "
                                           r"file; write them uncompressed \(np\.savez\)")

    def test_missing_file(self):
        self.refuse(self.path("none.npz"), r"none\.npz")

    def test_text_file(self):
        with open(self.path("data.npz"), "w") as file:
            file.write("x,y\n1,2\n")
        self.refuse(self.path("data.npz"), r"data\.npz")

    def test_formats_of_other_programs(self):
        """Each by what it is, with what to make of it."""
        idx = b"\0\0\x08\x03" + b"\0" * 12
        cases = {
            "train-images-idx3-ubyte": (idx, r"is an IDX file of pictures, as MNIST's are, a format that dlc does not read: numpy\.frombuffer"),
            "train-labels-idx1-ubyte": (b"\0\0\x08\x01" + b"\0" * 8, "is an IDX file of numbers"),
            "train-images-idx3-ubyte.gz": (gzip.compress(idx), "is compressed by gzip, a format that dlc does not read: unpack it"),
            "data_batch_1": (pickle.dumps({"data": 1}), r"is a pickle \(it may run code when it is read\), a format that dlc does not read: .*numpy\.savez"),
            "a.feather": (b"ARROW1\0\0", r"is an Arrow \(Feather\) file.*to_parquet"),
            "a.arrow": (b"\xff\xff\xff\xff", "is a stream of Arrow"),
            "a.jsonl": (b"{}\n", "is JSON, a line a sample"),
            "a.tfrecord-00000-of-00010": (b"\x1e\0\0\0", r"is a TFRecord file.*WebDataset's \.tar, or send them by --data-command"),
            "a.h5": (b"\x89HDF\r\n\x1a\n", "is an HDF5 file"),
            "a.pt": (b"PK\3\4", r"is a file of torch\.save"),
            "table": (b"PAR1", r"is a Parquet file, a format that dlc does not read: let its name end in \.parquet"),
            "a.png": (b"\x89PNG\r\n", "is one picture, a format that dlc does not read: name a folder of them"),
        }
        for name, (content, message) in cases.items():
            with self.subTest(name):
                with open(self.path(name), "wb") as file:
                    file.write(content)
                _, err = dlc.dlc("data", "inspect", self.path(name), code=dlc.FAILED)
                self.assertRegex(err, f"{name}' {message}")
        os.mkdir(self.path("saved"))
        with open(self.path("saved/data-00000-of-00001.arrow"), "wb") as file:
            file.write(b"\xff\xff\xff\xff")
        self.refuse(self.path("saved"), r"saved' has no pictures, .*; '.*\.arrow' is a stream of Arrow, a format that dlc does not read: .*to_parquet")

    def test_truncated(self):
        with open(dlc.data("digits-train"), "rb") as file:
            content = file.read()
        for share in 0.05, 0.5, 0.95, 0.999:
            with self.subTest(share=share), open(self.path("data.npz"), "wb") as file:
                file.write(content[: int(len(content) * share)])
                file.flush()
                self.refuse(self.path("data.npz"), r"data\.npz")

    def test_changed_byte(self):
        """The zip's checksum finds a changed sample."""
        path = self.save(x=np.random.RandomState(0).rand(*X.shape).astype(np.float32), y=Y)
        with open(path, "r+b") as file:
            file.seek(5000)
            byte = file.read(1)[0]
            file.seek(5000)
            file.write(bytes([byte ^ 1]))
        self.refuse(path, r"data\.npz")

    def test_token_out_of_range(self):
        artifact = dlc.compile(dlc.model("gpt_tiny"), self.path("gpt.dlc"), batch=2)
        x = np.full((2, 32), 96)
        np.savez(self.path("data.npz"), x=x, y=np.zeros_like(x))
        _, err = dlc.dlc("train", artifact, data=self.path("data.npz"), run=self.path("run"),
                         steps=1, code=dlc.FAILED, timeout=20)
        self.assertRegex(err, r"96")

    def test_diverged(self):
        """A loss that is not a number ends the run with its own exit code."""
        artifact = dlc.compile(dlc.model("mlp"), self.path("hot.dlc"), batch=16, lr=1e38,
                               optimizer="sgd", schedule="constant")
        _, err = dlc.dlc("train", artifact, data=dlc.data("digits-train"), run=self.path("run"),
                         steps=200, code=dlc.DIVERGED, timeout=20)
        self.assertRegex(err, r"nan|inf|finite")

    def test_eval_and_predict(self):
        run = dlc.train(self.artifact, dlc.data("digits-train"), self.path("run"), steps=2)
        path = self.save(x=X[..., :7], y=Y)
        for command in "eval", "predict":
            words = [command, run.folder] + (["-o", self.path("y.npz")] if command == "predict" else [])
            _, err = dlc.dlc(*words, data=path, code=dlc.FAILED, timeout=20)
            self.assertRegex(err, r"x")


if __name__ == "__main__":
    dlc.main()
