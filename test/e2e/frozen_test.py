# SPDX-License-Identifier: Apache-2.0
"""Checkpoints leave frozen tensors to the run's artifact; all commands read both forms."""

import json
import os
import shutil

import dlc
from safetensors.numpy import save_file

STEPS, MORE = 4, 8


class Frozen(dlc.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.share_folder()
        cls.artifact = dlc.compile(dlc.model("gpt_tiny"), os.path.join(cls.shared, "gpt.dlc"), batch=8, lora=4, lora_targets="qkv|proj",
                                   optimizer="adamw", lr=1e-3, loss="cross_entropy")
        cls.light = dlc.train(cls.artifact, dlc.data("text-train"), os.path.join(cls.shared, "light"), steps=STEPS, threads=1)

    def checkpoint(self, run, step=STEPS):
        return f"{run.folder}/checkpoint-{step}"

    def size(self, path):
        return os.path.getsize(path + "/state.safetensors")

    def rewrite(self, run, arrays, version, metadata=None):
        """The checkpoint with this state, as dlc itself would have written it."""
        folder = self.checkpoint(run)
        save_file(arrays, folder + "/state.safetensors", metadata)
        dlc.rehash(folder, version=version)

    def copy(self, name):
        shutil.copytree(self.light.folder, self.path(name))
        return dlc.Run(self.path(name))

    def whole(self):
        """A checkpoint of an earlier version, with everything."""
        run = self.copy("whole")
        self.rewrite(run, {**run.initial(self.artifact), **run.state(STEPS)}, 2)
        return run

    def bytes_of(self, run, *flags):
        dlc.dlc("export", run.folder, *flags, "-o", self.path("out.onnx"))
        with open(self.path("out.onnx"), "rb") as file:
            return file.read()

    def test_size(self):
        state, initial = self.light.state(STEPS), self.light.initial(self.artifact)
        trained = {name for name in initial if ".lora_" in name}
        self.assertEqual(set(state), trained | {f"{name}.{m}" for name in trained for m in "mv"} | {"step"})
        self.assertLess(self.size(self.checkpoint(self.light)), self.size(self.artifact) / 4)
        frozen = json.loads(dlc.metadata(self.checkpoint(self.light) + "/state.safetensors")["dlc.frozen"])
        self.assertEqual(set(frozen), set(initial) - set(state))
        with open(self.checkpoint(self.light) + "/manifest.json") as file:
            self.assertEqual(json.load(file)["version"], 4)

    def test_both_forms(self):
        light, whole = self.copy("again"), self.whole()
        self.assertGreater(self.size(self.checkpoint(whole)), self.size(self.artifact))
        for flags in (), ("--lora=adapters",):
            self.assertEqual(self.bytes_of(light, *flags), self.bytes_of(whole, *flags))
        test = dlc.data("text-train")
        self.assertEqual(dlc.evaluate(light.folder, test), dlc.evaluate(whole.folder, test))
        uninterrupted = dlc.train(self.artifact, test, self.path("plain"), steps=MORE, threads=1)
        for run in light, whole:
            dlc.dlc("train", resume=run.folder, steps=MORE)
            self.assertBitwise(run.state(MORE), uninterrupted.state(MORE), run.folder)  # light again
            went_on, said = dlc.Run(run.folder + "-on"), dlc.dlc("train", self.artifact, data=test, run=run.folder + "-on", steps=MORE,
                                                               state=f"{run.folder}/checkpoint-{STEPS}", threads=1)[1]
            self.assertNotIn("warning", said)
            self.assertBitwise(went_on.state(MORE), uninterrupted.state(MORE), "--state")

    def test_parts(self):
        """Each rank writes as much of the rest."""
        artifact = dlc.compile(dlc.model("gpt_tiny"), self.path("two.dlc"), batch=4, ddp=2, lora=4, optimizer="adamw", loss="cross_entropy")
        runs = [dlc.train(artifact, dlc.data("text-train"), self.path(save), steps=STEPS, threads=1, save=save) for save in ("sharded", "sync")]
        sizes = [os.path.getsize(f"{self.checkpoint(runs[0])}/state-0000{rank}-of-00002.safetensors") for rank in (1, 2)]
        self.assertLess(max(sizes), 1.5 * min(sizes))
        self.assertBitwise(runs[0].state(STEPS), runs[1].state(STEPS), "sharded")
        self.assertEqual(self.bytes_of(runs[0]), self.bytes_of(runs[1]))
        for run in runs:
            dlc.dlc("train", resume=run.folder, steps=MORE, ranks=1)
        self.assertBitwise(runs[0].state(MORE), runs[1].state(MORE), "resumed")

    def test_weights_of_a_checkpoint(self):
        """Of a run with frozen layers, by its checkpoint; which needs its run."""
        artifact = dlc.compile(dlc.model("lenet"), self.path("a.dlc"), freeze="^c", init="xavier_normal", batch=16)
        run = dlc.train(artifact, dlc.data("mnist-train"), self.path("run"), steps=2, threads=1)
        path = self.checkpoint(run, 2) + "/state.safetensors"
        self.assertNotIn("c1.weight", dlc.load_file(path))
        again = dlc.compile(dlc.model("lenet"), self.path("b.dlc"), weights=path, batch=16)
        for name, value in {**run.initial(artifact), **run.state(2)}.items():
            if name.endswith(("weight", "bias")):
                self.assertEqual(run.initial(again)[name].tobytes(), value.tobytes(), name)
        os.mkdir(self.path("elsewhere"))
        shutil.copy(path, self.path("elsewhere"))
        _, said = dlc.dlc("compile", dlc.model("lenet"), "-o", self.path("c.dlc"), weights=self.path("elsewhere/state.safetensors"), code=dlc.FAILED)
        self.assertIn("its frozen tensors are in the run's artifact, but there is no '", said)
        self.assertIn("keep the checkpoint in its run, or export it", said)

    def test_damaged(self):
        """What the list names must be in the artifact alone."""
        for names, message in ((["none"], 'has no tensor "none", which \'dlc.frozen\' lists'), (["step"], "tensor 'step' is in '"), ([1], "has no tensor 1")):
            self.new_folder()
            run = self.copy("run")
            self.rewrite(run, run.state(STEPS), 4, {"dlc.frozen": json.dumps(names)})
            _, said = dlc.dlc("export", run.folder, "-o", self.path("e.onnx"), code=dlc.CORRUPT)
            self.assertIn(message, said)


if __name__ == "__main__":
    dlc.main()
