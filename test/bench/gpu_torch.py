# SPDX-License-Identifier: Apache-2.0
"""Measures PyTorch on the GPU, eager and compiled, for comparison with gpu-bench.

    gpu_torch.py BENCHMARK.json FOLDER    BENCHMARK.json is made by test/gpu/make_package.py

Data stays on the GPU; convolutions are channels-last; f32 is exact (no TF32); optimizers are fused. Adds a JSON file to
FOLDER for each of the two. Ends with 77 and a reason where torch or its GPU is missing. DLC_TORCH_DEVICE=cpu tries the
script without a GPU; DLC_TORCH_EAGER=0 leaves eager out.
"""

import json
import os
import sys
import time


def skip(reason):
    print("skipped:", reason)
    sys.exit(77)


try:
    import torch
    from torch.nn import functional as F
except ImportError as error:
    skip(f"{sys.executable} has no torch: {error}")

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [here, os.path.join(here, "..", "..", "models")]
import export  # noqa: E402

DEVICE = os.environ.get("DLC_TORCH_DEVICE", "cuda")
WARM_UP, SECONDS, ROUNDS = 5, 1.0, 5


class Step:
    """A training step; calling it returns the loss, on the device."""

    def __init__(self, benchmark, compiled):
        self.half = {None: None, "bf16": torch.bfloat16, "fp16": torch.float16}[
            benchmark.get("amp_dtype", "bf16") if benchmark.get("amp") else None]
        model, example = export.make(benchmark["model"]).to(DEVICE), export.MODELS[benchmark["model"]][1]
        self.batch, shape = benchmark["batch"], (benchmark["batch"], *example.shape[1:])
        self.tokens = self.batch * shape[1] if example.dtype == torch.int64 else None
        generator = torch.Generator().manual_seed(0)
        if self.tokens:
            self.x = torch.randint(0, 90, shape, generator=generator).to(DEVICE)
        else:
            self.x = torch.randn(shape, generator=generator).to(DEVICE)
        if self.x.dim() == 4:
            model = model.to(memory_format=torch.channels_last)
            self.x = self.x.to(memory_format=torch.channels_last)
        self.y = torch.randint(0, 10, (self.tokens or self.batch,), generator=generator).to(DEVICE)
        fused = DEVICE == "cuda"
        if benchmark["optimizer"] == "sgd":
            self.optimizer = torch.optim.SGD(model.parameters(), lr=benchmark["lr"], momentum=benchmark["momentum"],
                                             fused=fused)
        else:
            self.optimizer = torch.optim.AdamW(model.parameters(), lr=benchmark["lr"],
                                               weight_decay=benchmark["weight_decay"], fused=fused)
        self.scaler = torch.amp.GradScaler(DEVICE, enabled=self.half == torch.float16)

        def forward(x, y):
            with torch.autocast(DEVICE, self.half or torch.bfloat16, enabled=self.half is not None):
                logits = model(x)
            return F.cross_entropy(logits.float(), y)

        # Launches weigh most where steps are short.
        mode = "reduce-overhead" if benchmark["model"] in ("mlp", "lenet") and DEVICE == "cuda" else "default"
        self.forward = torch.compile(forward, mode=mode) if compiled else forward

    def __call__(self):
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.forward(self.x, self.y)
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return loss


def synchronize():
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def seconds(step, count):
    synchronize()
    start = time.perf_counter()
    for _ in range(count):
        loss = step()
    synchronize()
    return (time.perf_counter() - start) / count, loss


def measure(benchmark, compiled):
    if DEVICE == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    start = time.perf_counter()
    step = Step(benchmark, compiled)
    seconds(step, 1)
    first = time.perf_counter() - start
    seconds(step, WARM_UP)
    once, _ = seconds(step, 1)
    count = max(2, min(500, int(SECONDS / once)))
    times = []
    for _ in range(ROUNDS):
        mean, loss = seconds(step, count)
        times.append(mean)
    best = sorted(times)[ROUNDS // 2]
    result = dict(model=benchmark["name"], by="torch.compile" if compiled else "torch eager",
                  torch=torch.__version__, batch=step.batch, step_ms=1e3 * best, samples_per_s=step.batch / best,
                  loss=loss.item(), cold_s=first)
    if step.tokens:
        result["tokens_per_s"] = step.tokens / best
    if DEVICE == "cuda":
        result |= dict(gpu=torch.cuda.get_device_name(), memory_mib=torch.cuda.max_memory_reserved() / 2**20)
    return result


def main():
    if DEVICE == "cuda" and not torch.cuda.is_available():
        skip(f"torch {torch.__version__} of {sys.executable} finds no GPU")
    with open(sys.argv[1]) as file:
        benchmark = json.load(file)
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    failed = False
    for compiled in (True,) if os.environ.get("DLC_TORCH_EAGER") == "0" else (False, True):
        try:
            result = measure(benchmark, compiled)
        except Exception as error:  # the other one is still of use
            print(f"{'compiled' if compiled else 'eager'}: {type(error).__name__}: {error}"[:2000])
            failed = True
            continue
        print(f"{result['by']}: {result['step_ms']:.3f} ms a step, {result['samples_per_s']:.1f} samples/s", flush=True)
        name = f"torch-{benchmark['name']}-{'compiled' if compiled else 'eager'}.json"
        with open(os.path.join(sys.argv[2], name), "w") as file:
            json.dump(result, file)
    sys.exit(failed)


if __name__ == "__main__":
    main()
