# SPDX-License-Identifier: Apache-2.0
"""docs/guide/files.md lists what a run's folder holds: all of it, and nothing else."""

import os
import re

import dlc
import numpy as np


def listed():
    """The first column of the page's table of a run's files."""
    with open(os.path.join(dlc.ROOT, "docs", "guide", "files.md")) as file:
        text = file.read()
    rows = re.findall(r"^\| (?!file |---)(.*?) \|", text[text.index("\n## A run\n"):text.index("\n## What is safe to open\n")], re.MULTILINE)
    return {name.rstrip("/") for row in rows for name in row.split(", ")}


def kind(name):
    return re.sub(r"^flight-.*\.jsonl$", "flight-HOST.jsonl", re.sub(r"-\d+", "-N", name))


class RunFiles(dlc.TestCase):
    def test_the_guide_lists_them(self):
        artifact = dlc.compile(dlc.model("mlp"), self.path("m.dlc"), batch=16, stats=True)
        run = dlc.train(artifact, dlc.data("digits-train"), self.path("run"), val=dlc.data("digits-test"), epochs=2, save_every=60, best="loss", profile=True,
                        tensorboard=True, metrics="f1", quiet=True)
        dlc.dlc("train", resume=run.folder, checkpoint=120, quiet=True)
        checkpoints = [name for name in os.listdir(run.folder) if re.fullmatch(r"checkpoint-\d+", name)]
        newest = max(checkpoints, key=lambda name: int(name.split("-")[1]))
        dlc.flip(os.path.join(run.folder, newest, "state.safetensors"))
        dlc.dlc("train", resume=run.folder, quiet=True)
        np.savez(self.path("nan.npz"), x=np.full((64, 1, 8, 8), np.nan, np.float32), y=np.zeros(64, np.int64))
        both = dlc.compile(dlc.model("mlp"), self.path("two.dlc"), batch=16, ddp=2)
        dlc.dlc("train", both, data=self.path("nan.npz"), run=self.path("ended"), steps=2, quiet=True, code=dlc.DIVERGED)
        found = {kind(name) for folder in (run.folder, self.path("ended")) for name in os.listdir(folder)}
        self.assertEqual(found | {"tuning.json"}, listed())  # that is a GPU's: test/pretend/cuda/tuning_test.py


if __name__ == "__main__":
    dlc.main()
