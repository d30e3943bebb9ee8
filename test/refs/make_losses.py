# SPDX-License-Identifier: Apache-2.0
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


def dice(x, y, ignore=None, weight=None, smooth=1e-5):
    """1 - the overlap of each class in each sample: plain formulas, as PyTorch has none."""
    p = x.sigmoid() if x.shape[1] == 1 else x.softmax(1)
    t = y if y.shape == x.shape else F.one_hot(y, x.shape[1]).movedim(-1, 1).to(x.dtype)
    if ignore is not None:
        counts = (y != ignore).reshape(y.shape[0], 1, *x.shape[2:]).to(x.dtype)
        p, t = p * counts, t * counts
    axes = tuple(range(2, x.dim()))
    each = 1 - (2 * (p * t).sum(axes) + smooth) / (p.sum(axes) + t.sum(axes) + smooth)
    return each.mean() if weight is None else ((each * weight).sum(1) / weight.sum()).mean()


def focal(x, y, gamma, ignore=None, weight=None):
    entropy = F.cross_entropy(x, y, reduction="none")
    weights = torch.ones_like(entropy) if weight is None else weight[y]
    if ignore is not None:
        weights = weights * (y != ignore)
    return ((1 - torch.exp(-entropy)) ** gamma * entropy * weights).sum() / weights.sum()


def binary_focal(x, y, gamma, alpha=None):
    """torchvision.ops.sigmoid_focal_loss."""
    p = x.sigmoid()
    there = p * y + (1 - p) * (1 - y)
    loss = F.binary_cross_entropy_with_logits(x, y, reduction="none") * (1 - there) ** gamma
    return loss.mean() if alpha is None else (loss * (alpha * y + (1 - alpha) * (1 - y))).mean()


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
    yield "overlap", "dice", IMAGE, hard(IMAGE), dice
    yield "overlap", "mask", (4, 1, 2, 3), torch.randint(0, 2, (4, 1, 2, 3)).double(), dice
    yield "overlap", "rows", IMAGE, hard(IMAGE), lambda x, y: focal(x, y, 2)
    yield "overlap", "bits", (4, 6), torch.randint(0, 2, (4, 6)).double(), lambda x, y: binary_focal(x, y, 2)
    yield "overlap_chosen", "dice", IMAGE, ignoring(hard(IMAGE)), lambda x, y: dice(x, y, 1, WEIGHTS, 1.0)
    yield "overlap_chosen", "rows", IMAGE, ignoring(hard(IMAGE)), lambda x, y: focal(x, y, 1.5, 1, WEIGHTS)
    yield "overlap_chosen", "bits", (4, 6), torch.randint(0, 2, (4, 6)).double(), lambda x, y: binary_focal(x, y, 1.5, 0.3)
    yield "overlap_soft", "dice", IMAGE, soft(IMAGE), dice


def distances():
    """(name, how many outputs, labels, loss)"""
    y = torch.tensor([1.0, -1.0, -1.0, 1.0], dtype=torch.float64)
    for name, options in ("plain", {}), ("chosen", dict(margin=0.3)):
        yield name + "/cosine_embedding", 2, y, lambda x, y, o=options: F.cosine_embedding_loss(*x, y, **o)
    for name, options in ("plain", {}), ("chosen", dict(margin=0.3, p=3, swap=True)), ("near", dict(p=1, margin=2.0)):
        yield name + "/triplet_margin", 3, None, lambda x, y, o=options: F.triplet_margin_loss(*x, **o)


def sequences():
    """(name, logits [steps, rows, classes], labels, lengths of both, options)"""
    logits = torch.randn(7, 4, 5, dtype=torch.float64)
    labels = torch.tensor([[1, 2, 2], [3, 3, 0], [4, 0, 0], [2, 1, 4]])
    given = torch.tensor([7, 5, 6, 3]), torch.tensor([3, 2, 1, 3])
    yield "plain", logits, labels, given, {}
    yield "last", logits, torch.where(labels == 0, 1, labels - 1), given, dict(blank=4)
    yield "none", logits, labels, (torch.tensor([7, 1, 6, 2]), torch.tensor([3, 2, 0, 2])), dict(zero_infinity=True)
    yield "padded", logits, torch.tensor([[1, 2, 2], [3, 3, -1], [4, -1, -1], [2, 1, 4]]), (
        torch.tensor([7] * 4), torch.tensor([3, 2, 1, 3])), {}


def beside(arrays):
    """Losses with arrays or outputs of their own."""
    for name, count, y, loss in distances():
        xs = torch.randn(count, 4, 6, dtype=torch.float64)
        p = torch.randn(count, 6, dtype=torch.float64, requires_grad=True)
        value = loss(tuple(xs + p[:, None]), y)
        value.backward()
        record = dict(x=xs, p=p.detach(), gradient=p.grad, loss=value.detach())
        save(arrays, name, record if y is None else record | dict(y=y))
    for name, x, y, (steps, count), options in sequences():
        p = torch.randn(x.shape[0], x.shape[2], dtype=torch.float64, requires_grad=True)
        value = F.ctc_loss(F.log_softmax(x + p[:, None], 2), y.clamp(min=0), steps, count, **options)
        value.backward()
        save(arrays, name + "/ctc", dict(x=x, p=p.detach(), gradient=p.grad, loss=value.detach(), y=y, steps=steps, count=count))


def save(arrays, name, tensors):
    for what, tensor in tensors.items():
        arrays[f"{name}/{what}"] = tensor.numpy().astype(np.float32 if what in "xp" else tensor.numpy().dtype)


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
            arrays[key + what] = array.astype(np.float32 if what in "xp" or group.endswith("soft") and what == "y"
                                              else array.dtype)
        arrays[key + "loss"] = np.float64(value.item())
    beside(arrays)
    np.savez_compressed(os.path.join(os.path.dirname(os.path.abspath(__file__)), "losses_ref.npz"), **arrays)


if __name__ == "__main__":
    main()
