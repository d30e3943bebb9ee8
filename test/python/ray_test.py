# SPDX-License-Identifier: Apache-2.0
"""Ranks that a library starts: workers of Ray Train's call dlc.Trainer(rank=, world_size=, init=) in their own processes.

Needs ray[train] and numpy in the environment of DLC_RAY_PYTHON, an interpreter.
"""

import os

import wheel

wheel.enter(os.environ.get("DLC_RAY_PYTHON", "DLC_RAY_PYTHON"), ": set it to an interpreter that has ray[train] and numpy")

import shutil
import subprocess
import tempfile
import unittest

import ray
from ray.train import RunConfig, ScalingConfig
from ray.train.v2.api.data_parallel_trainer import DataParallelTrainer

DLC = f"{wheel.BUILD}/bin/dlc"
DATA = f"{wheel.MODELS}/digits-train.npz"
WORKER = """
import socket
import dlc
import ray.util
import ray.train
from ray.train.collective import broadcast_from_rank_zero

def work(config):
    context = ray.train.get_context()
    with socket.socket() as free:
        free.bind(("", 0))
        place = f"tcp://{ray.util.get_node_ip_address()}:{free.getsockname()[1]}"
    run = dlc.Trainer(config["artifact"], rank=context.get_world_rank(), world_size=context.get_world_size(),
                      init=broadcast_from_rank_zero(place), **config["options"]).run()
    if run.steps != 6:
        raise RuntimeError(f"{run.steps} steps")
"""


class Ray(unittest.TestCase):
    def test_workers_are_ranks(self):
        """Weights are those of dlc's own ranks, bit for bit."""
        folder = tempfile.mkdtemp(prefix="dlc-ray-")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        artifact = f"{folder}/mlp.dlc"
        subprocess.run([DLC, "compile", f"{wheel.MODELS}/mlp.onnx", "--ddp=2", "--batch=16", "--quiet", "-o", artifact], check=True)
        subprocess.run([DLC, "train", artifact, f"--data={DATA}", "--steps=6", "--threads=1", "--quiet", f"--run={folder}/own"], check=True, stdout=subprocess.DEVNULL)
        space = {}
        exec(WORKER, space)  # by value to the workers, which cannot import this file
        options = {"data": DATA, "steps": 6, "threads": 1, "quiet": True, "timeout": 30, "run": f"{folder}/ray"}
        os.environ["RAY_AUTH_MODE"] = "disabled"  # else it writes a token to the home
        ray.init(num_cpus=2, include_dashboard=False, _temp_dir=f"{folder}/tmp", runtime_env={"env_vars": {"PYTHONPATH": wheel.SITE}})
        self.addCleanup(ray.shutdown)
        DataParallelTrainer(space["work"], train_loop_config={"artifact": artifact, "options": options},
                            scaling_config=ScalingConfig(num_workers=2, resources_per_worker={"CPU": 1}),
                            run_config=RunConfig(storage_path=f"{folder}/results")).fit()
        found = []
        for run in "own", "ray":
            with open(f"{folder}/{run}/checkpoint-6/state.safetensors", "rb") as file:
                found.append(file.read())
        self.assertEqual(found[0], found[1])


if __name__ == "__main__":
    unittest.main()
