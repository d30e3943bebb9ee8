"""Writes losses_ref.npz: losses of several outputs and their gradients by the outputs' own parameters, by PyTorch.

    python test/refs/make_losses.py

Each case is a group of outputs x + p; GROUPS of test/e2e/losses_test.py has the flags that say the same."""

import os

import numpy as np
import torch
import torch.nn.functional as F

WEIGHTS = torch.tensor([0.5, 2.0, 1.0, 0.0, 1.5], dtype=torch.float64)
IMAGE = (4, 5, 2, 3)


def hard(shape, axis=1):
    return torch.randint(0, 5, shape[:axis] + shape[axis + 1:])


def soft(shape, axis=1):
    return torch.rand(shape, dtype=torch.float64).softmax(axis)


def ce(**options):
    return lambda x, y: F.cross_entropy(x, y, **options)


def nll(**options):
    return lambda x, y: F.nll_loss(F.log_softmax(x, 1), y, **options)


def ignoring(y):
    y.view(-1)[::4] = 1
    return y


def cases():
    """(group, output, shape, labels, loss)"""
    for name, shape in ("rows", (4, 5)), ("image", IMAGE):
        yield "plain", name, shape, hard(shape), ce()
    yield "plain", "logs", IMAGE, hard(IMAGE), nll()
    yield "plain", "share", (4, 6), soft((4, 6)), lambda x, y: F.kl_div(F.log_softmax(x, 1), y, reduction="batchmean")
    yield "plain", "far", (4, 3, 2), 2 * torch.randn(4, 3, 2, dtype=torch.float64), F.l1_loss
    yield "plain", "mean", (4, 3, 2), torch.randn(4, 3, 2, dtype=torch.float64), F.mse_loss
    options = dict(weight=WEIGHTS, ignore_index=1)
    for name, shape in ("rows", (4, 5)), ("image", IMAGE):
        yield "chosen", name, shape, ignoring(hard(shape)), ce(label_smoothing=0.1, **options)
    yield "chosen", "logs", IMAGE, ignoring(hard(IMAGE)), nll(**options)
    targets = 2 * torch.randn(4, 3, dtype=torch.float64)
    yield "chosen", "curve", (4, 3), targets, lambda x, y: F.huber_loss(x, y, delta=0.5)
    yield "chosen", "smooth", (4, 3), targets, lambda x, y: F.smooth_l1_loss(x, y, beta=0.5)
    yield "chosen", "bits", (4, 3), (targets > 0).double(), lambda x, y: F.binary_cross_entropy_with_logits(
        x, y, pos_weight=torch.tensor([2.0, 0.5, 3.0], dtype=torch.float64))
    yield "soft", "image", IMAGE, soft(IMAGE), ce(weight=WEIGHTS, label_smoothing=0.2)
    yield "soft", "line", (4, 5, 3), soft((4, 5, 3)), ce(weight=WEIGHTS, label_smoothing=0.2)
    yield "sure", "image", IMAGE, ignoring(hard(IMAGE)), ce(ignore_index=1)
    yield "sure", "line", (4, 5, 3), ignoring(hard((4, 5, 3))), ce(ignore_index=1)


def main():
    torch.manual_seed(0)
    arrays = {}
    for group, name, shape, y, loss in cases():
        key = f"{group}/{name}/"
        x = torch.randn(shape, dtype=torch.float64)
        p = torch.randn(shape[1:], dtype=torch.float64, requires_grad=True)
        value = loss(x + p, y)
        value.backward()
        for what, array in dict(x=x, p=p.detach(), y=y, gradient=p.grad).items():
            array = array.numpy()
            arrays[key + what] = array.astype(np.float32 if what in "xp" or group == "soft" and what == "y"
                                              else array.dtype)
        arrays[key + "loss"] = np.float64(value.item())
    np.savez_compressed(os.path.join(os.path.dirname(os.path.abspath(__file__)), "losses_ref.npz"), **arrays)


if __name__ == "__main__":
    main()
