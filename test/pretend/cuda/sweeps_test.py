# SPDX-License-Identifier: Apache-2.0
"""dlc eval, dlc predict and the validation of dlc train over the stand-ins: the host is a batch ahead of the GPU, results
travel beside the next batch, are those of the CPU, and an error names the samples.
"""

import json
import re

import dlc
import numpy as np
import standins
import traces

BATCH, SAMPLES = 8, 60
BATCHES = 8  # the last is not full


class Sweeps(standins.StandinTest):
    def setUp(self):
        super().setUp()
        with np.load(dlc.data("mnist-test")) as file:
            x, y = file["x"][:SAMPLES], file["y"][:SAMPLES]
        np.savez(self.path("data.npz"), x=x, y=y)
        options = dict(batch=BATCH, optimizer="sgd")
        self.on_cpu = dlc.compile(dlc.model("lenet"), self.path("cpu.dlc"), **options)
        self.on_cuda = self.compile_for_cuda("lenet", **options)

    def run_traced(self, *words, **options):
        """(stdout, lines of the trace)"""
        out, _ = self.run_on_standins(*words, environment={"DLC_STANDIN_TRACE": self.path("trace")}, threads=1,
                                      **options)
        with open(self.path("trace")) as file:
            return out, file.read().splitlines()

    def check_ahead(self, lines):
        """The launches of the last graph: nothing waits for the newest, all that comes back comes on its own stream."""
        launches = [i for i, line in enumerate(lines) if line.startswith("cuGraphLaunch")]
        graph = lines[launches[-1]].split()[1]
        launches = [i for i in launches if lines[i].split()[1] == graph]
        self.assertEqual(len(launches), BATCHES - 1)  # the first warms up
        steady = lines[launches[0]:launches[-1] + 1]
        self.assertEqual({line.split()[0] for line in steady} - traces.STEADY, set())
        self.assertEqual(list(traces.waits_too_early(steady)), [])
        back = [line for line in steady if line.startswith("cuMemcpyDtoHAsync")]
        self.assertEqual(len(back), BATCHES - 2)
        compute = lines[launches[0]].split()[-1]
        self.assertNotIn(compute, {line.split()[-1] for line in back})
        # Results of a batch are waited for when the next one was launched.
        self.assertGreaterEqual(sum(line.startswith("cuEventSynchronize") for line in steady), BATCHES - 3)

    def test_eval(self):
        expected = dlc.evaluate(self.on_cpu, self.path("data.npz"), threads=1)
        out, lines = self.run_traced(self.on_cuda, command="eval", data=self.path("data.npz"), json=True)
        found = json.loads(out)
        self.assertEqual((found["samples"], found["accuracy"]), (SAMPLES, expected["accuracy"]))
        np.testing.assert_allclose(found["loss"], expected["loss"], rtol=1e-5)
        self.check_ahead(lines)

    def test_predict(self):
        data = self.path("data.npz")
        dlc.dlc("predict", self.on_cpu, data=data, output=self.path("cpu.npz"))
        _, lines = self.run_traced(self.on_cuda, command="predict", data=data, output=self.path("cuda.npz"))
        with np.load(self.path("cpu.npz")) as expected, np.load(self.path("cuda.npz")) as found:
            self.assertEqual(found["y"].shape, (SAMPLES, 10))
            np.testing.assert_allclose(found["y"], expected["y"], rtol=1e-4, atol=1e-5)
        self.check_ahead(lines)

    def test_validation(self):
        data = self.path("data.npz")
        options = dict(data=data, val=data, steps=3, seed=1, quiet=True)
        dlc.train(self.on_cpu, run=self.path("cpu"), threads=1, **options)
        _, lines = self.run_traced(self.on_cuda, run=self.path("cuda"), **options)
        self.check_ahead(lines)
        with open(self.path("cpu/epochs.jsonl")) as cpu, open(self.path("cuda/epochs.jsonl")) as cuda:
            expected, found = json.loads(cpu.read()), json.loads(cuda.read())
        self.assertEqual(found["val_accuracy"], expected["val_accuracy"])
        np.testing.assert_allclose(found["val_loss"], expected["val_loss"], rtol=1e-4)

    def test_a_late_fault_names_its_samples(self):
        with open(self.path("plan.mlir")) as file:
            plan = file.read()
        program = plan[plan.index("exec.program @eval_step"):]
        kernels = re.findall(r"exec\.launch @(\S+)", program[:program.index("\n  }\n")])
        kernel = next(name for name in kernels if kernels.count(name) == 1)
        data = self.path("data.npz")
        for batch, rows in (6, "40 to 47"), (BATCHES, "56 to 59"):
            _, err = self.run_on_standins(self.on_cuda, command="eval", data=data, code=dlc.FAILED,
                                          environment={"DLC_STANDIN_FAIL": f"work:{kernel}:{batch}=700"})
            self.assertRegex(err, rf"error: samples {rows} of '.*data\.npz': a command that was started earlier failed "
                                  r"\(DLC_SYNC=1 finds which\): .*CUDA_ERROR_ILLEGAL_ADDRESS")


if __name__ == "__main__":
    dlc.main()
