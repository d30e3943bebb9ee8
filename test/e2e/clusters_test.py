# SPDX-License-Identifier: Apache-2.0
"""Ranks that a real cluster's software starts: a Slurm of one node, two agents of torchrun on two hosts (network namespaces), Open MPI on
two, Ray Train's workers. Each is skipped where it is not installed; the project needs none of them."""

import os
import shutil
import subprocess

import dlc
import slurm
from ranks import Network

SECONDS = 90
TORCHRUN = os.environ.get("DLC_TORCHRUN") or shutil.which("torchrun")
RAY = os.environ.get("DLC_RAY_PYTHON")

# Two workers of Ray Train's, with the variables that its backend for PyTorch sets; each runs a rank.
RAY_TRAIN = """
import subprocess, sys
import ray
from ray.train import RunConfig, ScalingConfig
from ray.train.torch import TorchConfig, TorchTrainer

def work(config):
    done = subprocess.run(config["words"], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"exit code {done.returncode}: {done.stderr}")

ray.init(num_cpus=2, include_dashboard=False, _temp_dir=sys.argv[1])
TorchTrainer(work, train_loop_config={"words": sys.argv[2:]}, torch_config=TorchConfig(backend="gloo"),
             scaling_config=ScalingConfig(num_workers=2, resources_per_worker={"CPU": 1}),
             run_config=RunConfig(storage_path=sys.argv[1] + "/results")).fit()
"""


class Clusters(dlc.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.share_artifact(ddp=2)
        cls.share_run(steps=6, threads=1)
        cls.ours = dlc.Run(cls.run_folder)

    def words(self, **options):
        options = dict(data=dlc.data("digits-train"), steps=6, threads=1, timeout=30, run=self.path("run"), quiet=True) | options
        return [dlc.DLC, "train", self.artifact, *dlc.flags(options)]

    def run_all(self, *commands, environment=None):
        processes = []
        for command in commands:
            processes.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                              start_new_session=True, env=environment or os.environ))
            self.addCleanup(dlc.kill, processes[-1])
        ends = [dlc.finish(process, SECONDS) for process in processes]
        self.assertEqual([code for code, _, _ in ends], [0] * len(ends), ends)
        return ends

    def expect_ours(self):
        """What dlc's own ranks have trained, bit for bit."""
        self.assertBitwise(dlc.Run(self.path("run")).state(6), self.ours.state(6), "run")

    def test_slurm(self):
        """A step of srun's, and a second one that goes on with it."""
        if why := slurm.why_not():
            self.skipTest(why)
        os.mkdir(self.path("slurm"))
        cluster = slurm.Slurm(self.path("slurm"), tasks=2)
        self.addCleanup(cluster.close)
        if not cluster.wait(30):
            with open(self.path("slurm/slurmd.log")) as file:
                self.skipTest("slurmd does not run here: " + file.read()[-300:])
        self.run_all([slurm.find("srun"), "-n", "2", *self.words(steps=3)], environment=cluster.environment)
        self.run_all([slurm.find("srun"), "-n", "2", *self.words(), "--resume-or-start"], environment=cluster.environment)
        self.assertBitwise(dlc.Run(self.path("run")).state(3), self.ours_at(3), "step 3")
        [(_, out, _)] = self.run_all([slurm.find("srun"), "-n", "2", dlc.DLC, "doctor", "env"], environment=cluster.environment)
        self.assertIn("Slurm", out)

    def ours_at(self, steps):
        return dlc.train(self.artifact, dlc.data("digits-train"), self.path(f"ours{steps}"), steps=steps, threads=1).state(steps)

    def test_two_agents_on_two_hosts(self):
        if not TORCHRUN:
            self.skipTest("no torchrun here; DLC_TORCHRUN may name one")
        if not Network.is_possible():
            self.skipTest("network namespaces need root and ip")
        network = Network(2)
        self.addCleanup(network.close)
        self.run_all(*([*network.inside(host), TORCHRUN, "--nnodes=2", "--nproc-per-node=1", f"--node-rank={host}",
                        "--rdzv-backend=c10d", "--rdzv-id=two", f"--rdzv-endpoint={network.address(0)}:29400",
                        f"--rdzv-conf=is_host={1 - host}", f"--local-addr={network.address(host)}", "--no-python", "--", *self.words()] for host in range(2)))
        self.expect_ours()

    def test_open_mpi_on_two_hosts(self):
        """Ranks that are told nothing but their numbers meet by the PMIx server of the one mpirun."""
        mpirun = shutil.which("mpirun.openmpi")
        if not mpirun:
            self.skipTest("no mpirun.openmpi here (Debian: openmpi-bin)")
        if not Network.is_possible():
            self.skipTest("network namespaces need root and ip")
        network = Network(2)
        self.addCleanup(network.close)
        named = "unshare --uts sh -c 'hostname host{}; exec \"$0\" \"$@\"' "
        with open(self.path("agent"), "w") as file:  # in place of ssh
            file.write(f"#!/bin/sh\nshift\nexec {' '.join(network.inside(1))} {named.format(1)} sh -c \"$*\"\n")
        os.chmod(self.path("agent"), 0o755)
        self.run_all(["sh", "-c", f"exec {' '.join(network.inside(0))} {named.format(0)} \"$0\" \"$@\"", mpirun, "--allow-run-as-root", "-n", "2",
                      "--host", f"{network.address(0)}:1,{network.address(1)}:1", "--mca", "plm_rsh_agent", self.path("agent"),
                      "--mca", "oob_tcp_if_include", "10.77.0.0/24", *self.words()])
        self.expect_ours()

    def test_ray(self):
        if not RAY:
            self.skipTest("DLC_RAY_PYTHON names no Python with ray[train] and torch")
        with open(self.path("train.py"), "w") as file:
            file.write(RAY_TRAIN)
        self.run_all([RAY, self.path("train.py"), self.path("ray"), *self.words()])
        self.expect_ours()


if __name__ == "__main__":
    dlc.main()
