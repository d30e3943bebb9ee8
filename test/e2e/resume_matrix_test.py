# SPDX-License-Identifier: Apache-2.0
"""Two dozen sets of options drawn from a fixed seed: a run stopped at any step and resumed, from its last checkpoint or
an earlier one as after a kill, ends with the bits of the undisturbed run and reports the same.

One set alone: resume_matrix_test.py Resume.test_07. Other draws: DLC_RESUME_SEED=5.
"""

import json
import os
import random
import shutil
from unittest import mock

import dlc
import numpy as np

SETS, STEPS = 24, 16
SEED = os.environ.get("DLC_RESUME_SEED", "4")

# What nodes may be computed again.
MODELS = dict(mlp=["f1", ".", "Tanh"], lenet=["f1", ".", "Relu"], dropout=["f1", ".", "Dropout"],
              several=["trunk", ".", "Tanh"])
RATES = dict(sgd=0.05, adam=1e-3, adamw=1e-3, rmsprop=1e-3, rmsprop_tf=1e-3, adagrad=0.01, lamb=0.01, lion=1e-4,
             muon=0.02)


def optimizer(r):
    name = r.choice(sorted(RATES))
    options = dict(optimizer=name, lr=RATES[name], weight_decay=r.choice([None, 0.01]))
    if name in ("sgd", "muon"):
        options |= r.choice([{}, dict(momentum=0.9, nesterov=True), dict(momentum=0.5)])
    if name.startswith("rmsprop"):
        options |= r.choice([{}, dict(momentum=0.9)])
    if name in ("adam", "adamw"):
        options |= r.choice([{}, dict(amsgrad=True), dict(betas="0.8,0.95", eps=1e-4)])
    return options


def moments(r):
    return r.choice([{}, {}, dict(moments="bf16")])


def groups(r):
    return r.choice([{}, {}, dict(optimizer_group="bias$:adamw,lr=0.001,weight-decay=0.1"),
                     dict(optimizer_group="weight:sgd,lr=0.01,momentum=0.8,nesterov=true"),
                     dict(optimizer_group="weight:lion,lr=1e-4", no_decay="norm_bias"), dict(no_decay="norm_bias"), dict(lr_scale="bias$:0.5"),
                     dict(lr_scale="^(c1|f1|trunk):2", weight_decay_scale="weight:3", weight_decay=0.1)])


def schedule(r):
    name = r.choice(["constant", "step", "multistep", "linear", "cosine", "polynomial", "onecycle"])
    options = dict(schedule=name, steps=STEPS)
    options |= dict(step=dict(decay_steps=3), multistep=dict(milestones="4,9"), polynomial=dict(power=2),
                    cosine=r.choice([{}, dict(min_lr=1e-5), dict(cycle_steps=5, cycle_decay=0.5)])).get(name, {})
    if name != "onecycle":
        options |= r.choice([{}, dict(warmup=5)])
    return options


def averages(r):
    kinds = [{}, dict(ema=True), dict(ema=0.9), dict(ema="0.9,0.99"), dict(ema=True, ema_kind="swa", ema_start=4),
             dict(ema=0.9, ema_kind="timm", ema_warmup=True), dict(ema=True, ema_halflife=300)]
    options = dict(r.choice(kinds))
    if options:
        options |= r.choice([{}, dict(ema_buffers="copy"), dict(ema_start=7), dict(ema_device="cpu")])
    return options


def precision(r):
    return r.choice([{}, {}, dict(amp=True), dict(amp=True, amp_dtype="fp16")])


def scaler(r, options):
    """The environment's infinities need something that checks for them."""
    scales = [{}] if options.get("amp_dtype") else [{}, {}, dict(loss_scale=512)]
    scales += [dict(loss_scale="dynamic", loss_scale_init=2.0**r.choice([10, 15]), loss_scale_interval=3)] * 2
    scale = dict(r.choice(scales))
    if "loss_scale_interval" in scale:
        scale |= r.choice([{}, dict(loss_scale_hysteresis=2), dict(loss_scale_min=256, loss_scale_max=2048)])
    checks = scale or options.get("amp_dtype")
    bad = sorted(r.sample(range(1, STEPS + 1), 3)) if checks and r.random() < 0.7 else []
    return scale, ",".join(map(str, bad))


def clipping(r):
    return r.choice([{}, {}, dict(clip_grad=0.5), dict(clip_value=0.01), dict(grad_norm=True)])


def memory(r, model):
    return r.choice([{}, {}, dict(recompute=r.choice(MODELS[model]))])


def losses(model):
    return dict(loss="kind:cross_entropy,size:mse:0.25") if model == "several" else {}


class Draw:
    """One set: what to compile, how to train it and where to stop."""

    def __init__(self, number):
        r = random.Random(f"{SEED}/{number}")
        self.model = sorted(MODELS)[number % len(MODELS)]
        self.options = dict(batch=100, **optimizer(r))
        for part in schedule, averages, precision, clipping, groups, moments:
            self.options |= part(r)
        self.options |= memory(r, self.model)
        scale, self.infinities = scaler(r, self.options)
        self.options |= scale | losses(self.model)
        self.options |= r.choice([{}, {}, dict(accumulate=2), dict(accumulate=3)])
        if r.random() < 0.35:
            self.options |= dict(ddp=2, batch=50)
        self.shuffle = r.choice(["on", "on", "off"])
        self.save_every = r.choice([1, 3, 4])
        self.stop = r.randrange(2, STEPS)
        self.killed = r.random() < 0.5

    def __str__(self):
        words = " ".join(dlc.flags(self.options))
        how = "as if killed" if self.killed else "stopped"
        return (f"{self.model} {words}; {how} in step {self.stop}, save-every {self.save_every}, "
                f"shuffle {self.shuffle}, infinite in [{self.infinities}]")


class Resume(dlc.TestCase):
    def files(self, name):
        """The model and its samples."""
        if name == "dropout":
            return os.path.join(dlc.REFS, "dropout_mlp.onnx"), dlc.data("digits-train")
        if name != "several":
            return dlc.model(name), dlc.data(dict(mlp="digits-train", lenet="mnist-train")[name])
        random, path = np.random.RandomState(3), self.path("several.npz")
        np.savez(path, x=random.randn(900, 12).astype(np.float32),
                 **{"y.kind": random.randint(0, 5, 900), "y.size": random.randn(900, 3).astype(np.float32)})
        return os.path.join(dlc.REFS, "several.onnx"), path

    def check(self, number):
        draw = Draw(number)
        print(f"{number:2}: {draw} ...", flush=True)
        model, data = self.files(draw.model)
        artifact = dlc.compile(model, self.path("model.dlc"), quiet=True, **draw.options)

        def train(run, steps):
            return dlc.train(artifact, data, self.path(run), steps=steps, threads=1, seed=number, shuffle=draw.shuffle,
                             save_every=draw.save_every, keep=99, quiet=True)

        with mock.patch.dict(os.environ, {"DLC_INJECT_INF": draw.infinities} if draw.infinities else {}):
            whole, parts = train("whole", STEPS), train("parts", draw.stop)
            last = self.path(f"parts/checkpoint-{draw.stop}")
            if draw.killed and draw.stop > draw.save_every:  # what a kill leaves: metrics beyond a checkpoint
                shutil.rmtree(last)
            dlc.dlc("train", resume=self.path("parts"), steps=STEPS, quiet=True)
        self.assertBitwise(parts.state(STEPS), whole.state(STEPS), str(draw))
        self.assertEqual(self.reported(parts), self.reported(whole), str(draw))

    def reported(self, run):
        """All that does not tell the time."""
        with open(os.path.join(run.folder, "metrics.jsonl")) as file:
            lines = [json.loads(line) for line in file]
        return [{key: value for key, value in line.items() if key not in ("samples_per_second", "data_wait")} for line in lines]


for number in range(SETS):
    setattr(Resume, f"test_{number:02}", lambda self, number=number: self.check(number))

if __name__ == "__main__":
    dlc.main()
