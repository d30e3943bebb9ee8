"""What the host asks of the GPU in the steps of dlc train, as the stand-in driver records it."""

import glob
import re

import dlc
import standins

STEPS = 6
# What a step after the second may call: its inputs, its launch, the values that it reports.
STEADY = {"cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync", "cuGraphLaunch", "cuEventRecord", "cuEventQuery",
          "cuEventSynchronize"}


def commands_of(plan):
    """What the train_step of an exec module enqueues, as the trace says it."""
    step = plan[plan.index("exec.program @train_step"):]
    for line in step[:step.index("\n  }\n")].splitlines():
        if launch := re.search(r"exec\.launch @(\S+)", line):
            yield "cuLaunchKernel " + launch[1]
        elif call := re.search(r'exec\.call "(\w+)"', line):
            yield {"matmul": "library cublasLtMatmul"}.get(call[1], "library cudnn " + call[1])
        elif "exec.copy" in line:
            yield "cuMemcpyDtoDAsync"
        elif "exec.all_reduce" in line:
            yield "library ncclAllReduce"


def buckets_of(plan):
    """Per bucket: the position of its all-reduce, and of the first command that writes one of its gradients."""
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


class Trace(standins.StandinTest):
    def trace(self, name, data, **options):
        """The lines of rank 0 or 1, and the exec module."""
        artifact = self.compile_for_cuda(name, ddp=2, **options)
        self.run_on_standins(artifact, data=dlc.data(data), run=self.path("run"), steps=STEPS, quiet=True,
                             environment={"DLC_STANDIN_TRACE": self.path("trace-%p")})
        traces = sorted(glob.glob(self.path("trace-*")))
        self.assertEqual(len(traces), 2)
        with open(traces[0]) as file, open(self.path("plan.mlir")) as plan:
            return file.read().splitlines(), plan.read()

    def check(self, name, data, **options):
        lines, plan = self.trace(name, data, **options)
        launches = [i for i, line in enumerate(lines) if line.startswith("cuGraphLaunch")]
        self.assertEqual(len(launches), STEPS - 1)  # the first one warms up, the second is recorded

        # Nothing is allocated, planned or bound in a step.
        between = lines[launches[0] + 1:launches[-1]]
        self.assertEqual({line.split()[0] for line in between} - STEADY, set())
        # The host waits for the values that it reports, and for nothing else.
        calls = [line.split()[0] for line in between]
        reports = 2 * (STEPS - 2)  # loss and lr
        self.assertEqual([calls.count("cuEventSynchronize"), calls.count("cuMemcpyDtoHAsync")], [reports, reports])
        plans = [i for i, line in enumerate(lines) if line.startswith("plan ")]
        self.assertGreater(len(plans), 0)
        first_step = next(i for i, line in enumerate(lines) if line.startswith("cuLaunchKernel"))
        self.assertLess(plans[-1], first_step)

        # The recorded step is the compiled one.
        begin = next(i for i, line in enumerate(lines) if line.startswith("cuStreamBeginCapture"))
        recorded = [line[2:] for line in lines[begin:launches[0]] if line.startswith("  ")]
        work = [re.match(r"library cudnn \w+|library \w+|\w+(?: \w+)?", line)[0] for line in recorded
                if not re.match(r"cuEvent|cuStream", line)]
        work = [re.sub(r"^(cuMemcpyDtoDAsync).*", r"\1", line) for line in work]
        expected = list(commands_of(plan))
        self.assertEqual(work, expected)

        # Reductions start while gradients are computed.
        buckets = buckets_of(plan)
        self.assertGreater(len(buckets), 2)
        for k, (reduced, _) in buckets.items():
            if k + 2 in buckets:
                self.assertLess(reduced, buckets[k + 2][1], f"bucket {k}")

    def test_lenet(self):
        self.check("lenet", "mnist-train", batch=8, bucket_mb=0.01, optimizer="sgd")

    def test_gpt_tiny(self):
        self.check("gpt_tiny", "text-train", batch=2, bucket_mb=0.05, optimizer="adamw")


if __name__ == "__main__":
    dlc.main()
