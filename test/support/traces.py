# SPDX-License-Identifier: Apache-2.0
"""GPU calls of the host in the steps of dlc train, recorded by the stand-in driver."""

import glob
import os
import re

import dlc
import standins

STEPS = 6
# Calls allowed in steps after the second: inputs, launch, copy of the report.
STEADY = {"cuMemcpyHtoDAsync", "cuMemcpyDtoDAsync", "cuMemcpyDtoHAsync", "cuGraphLaunch", "cuEventRecord",
          "cuStreamWaitEvent", "cuEventSynchronize"}


def waits_too_early(lines):
    """Waits of the host for the last launch, or for a whole stream, which would leave the GPU idle."""
    recorded, launches = {}, 0
    for line in lines:
        words = line.split()
        launches += words[0] == "cuGraphLaunch"
        if words[0] == "cuEventRecord":
            recorded[words[1]] = launches
        elif words[0] == "cuEventSynchronize":
            if recorded.get(words[1], 0) == launches:
                yield line
        elif "Synchronize" in words[0]:
            yield line


def commands_of(plan):
    """The commands that train_step of an exec module enqueues, as named in the trace."""
    step = plan[plan.index("exec.program @train_step"):]
    for line in step[:step.index("\n  }\n")].splitlines():
        if launch := re.search(r"exec\.launch @(\S+)", line):
            yield "cuLaunchKernel " + launch[1]
        elif call := re.search(r'exec\.call "(\w+)"', line):
            yield "library cublasLtMatmul" if call[1].startswith("matmul") else "library cudnn " + call[1]
        elif "exec.copy" in line:
            yield "cuMemcpyDtoDAsync"
        elif "exec.all_reduce" in line:
            yield "library ncclAllReduce"


def buckets_of(plan):
    """Per bucket: index of its all-reduce, and of the first command that writes one of its gradients."""
    step = plan[plan.index("exec.program @train_step"):]
    lines = step[:step.index("\n  }\n")].splitlines()
    size = {"f32": 4, "f16": 2, "bf16": 2, "i64": 8, "i1": 1, "i8": 1, "i32": 4}
    buffers = {}  # name: first and last byte in the gradients' region
    for line in lines:
        if at := re.search(r"(%\d+) = exec\.buffer @gradient at (\d+) : memref<((?:\d+x)*)(\w+)>", line):
            count = 1
            for dimension in at[3].split("x")[:-1]:
                count *= int(dimension)
            buffers[at[1]] = (int(at[2]), int(at[2]) + count * size[at[4]])
    reduced, first = {}, {}
    ranges = {}
    for i, line in enumerate(lines):
        if reduce := re.search(r"exec\.all_reduce (%\d+) bucket = (\d+)", line):
            reduced[int(reduce[2])] = i
            ranges.setdefault(int(reduce[2]), []).append(buffers[reduce[1]])
    for i, line in enumerate(lines):
        if outs := re.search(r"outs\(([^:]*)", line):
            for name in re.findall(r"%\d+", outs[1]):
                begin, end = buffers.get(name, (0, 0))
                for bucket, parts in ranges.items():
                    if any(begin < b[1] and b[0] < end for b in parts) and bucket not in first:
                        first[bucket] = i
    return {k: (reduced[k], first[k]) for k in reduced}


class TraceTest(standins.StandinTest):
    def trace(self, name, data, ranks=2, launches=STEPS - 1, computes=True, **options):
        """The trace of a rank, the exec module, and the range of lines with the steps after the recorded one."""
        artifact = self.compile_for_cuda(name, ddp=ranks, computes=computes, **options)
        environment = {"DLC_STANDIN_TRACE": self.path("trace-%p")}
        if not computes:
            environment["DLC_STANDIN_RECORD_ONLY"] = "1"
        self.run_on_standins(artifact, data=data if os.path.isabs(data) else dlc.data(data), run=self.path("run"),
                             steps=STEPS, seed=1, quiet=True, environment=environment)
        traces = sorted(glob.glob(self.path("trace-*")))
        self.assertEqual(len(traces), ranks)
        with open(traces[0]) as file, open(self.path("plan.mlir")) as plan:
            lines, plan = file.read().splitlines(), plan.read()
        launched = [i for i, line in enumerate(lines) if line.startswith("cuGraphLaunch")]
        self.assertEqual(len(launched), launches)
        return lines, plan, launched

    def check_steady(self, lines, metrics):
        """Steps must not allocate, plan or bind, and the host must be ahead of the GPU."""
        calls = [line.split()[0] for line in lines]
        self.assertEqual(set(calls) - STEADY, set())
        self.assertEqual(list(waits_too_early(lines)), [])
        # Reports are read during later steps, with one copy for all values that are adjacent in memory.
        steps = calls.count("cuEventSynchronize")
        self.assertGreaterEqual(steps, STEPS - 3)
        self.assertLessEqual(calls.count("cuMemcpyDtoHAsync"), metrics * (STEPS - 2))

    def check(self, name, data, **options):
        """Runs two ranks; returns the calls of a step, in order."""
        lines, plan, launches = self.trace(name, data, **options)
        # The first step warms up, the second is recorded, the last is waited for.
        self.check_steady(lines[launches[1]:launches[-1] + 1], metrics=2)
        plans = [i for i, line in enumerate(lines) if line.startswith(("plan ", "restore "))]
        self.assertGreater(len(plans), 0)
        first_step = next(i for i, line in enumerate(lines) if line.startswith("cuLaunchKernel"))
        self.assertLess(plans[-1], first_step)

        # The recorded step must be the compiled one.
        begin = next(i for i, line in enumerate(lines) if line.startswith("cuStreamBeginCapture"))
        recorded = [line[2:] for line in lines[begin:launches[0]] if line.startswith("  ")]
        work = [re.match(r"library cudnn \w+|library \w+|\w+(?: \w+)?", line)[0] for line in recorded
                if not re.match(r"cuEvent|cuStream", line)]
        work = [re.sub(r"^(cuMemcpyDtoDAsync).*", r"\1", line) for line in work]
        expected = list(commands_of(plan))
        self.assertEqual(work, expected)

        # All-reduces must start while gradients are computed.
        buckets = buckets_of(plan)
        self.assertGreater(len(buckets), 2)
        for k, (reduced, _) in buckets.items():
            if k + 2 in buckets:
                self.assertLess(reduced, buckets[k + 2][1], f"bucket {k}")
        return work
