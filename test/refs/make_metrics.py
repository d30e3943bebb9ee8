# SPDX-License-Identifier: Apache-2.0
"""Writes metrics_ref.npz: outputs, labels and their metrics by sklearn and torchmetrics.

    python test/refs/make_metrics.py      # needs scikit-learn, torch and torchmetrics

Of each case x, y and a number a metric, by dlc's name for it; sklearn's where it has it. CASES of test/e2e/metrics_test.py has the
flags."""

import os

import numpy as np
import sklearn.metrics as sk
import torch
import torchmetrics.functional.classification as tm
from torchmetrics.functional.text import perplexity

random = np.random.default_rng(7)


def sigmoid(x):
    return 1 / (1 + np.exp(-x.astype(np.float64)))


def softmax(x):
    e = np.exp(x.astype(np.float64) - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def near(y, classes, strength=1.0):
    """Scores with ties that know the label a little."""
    x = random.normal(size=(*y.shape, classes)) + strength * np.eye(classes)[np.clip(y, 0, None)]
    return np.round(x, 1).astype(np.float32)


def averages(y, found, name, function, **options):
    return {f"{name}.{a}": function(y, found, average=a, zero_division=0, **options) for a in ("macro", "micro", "weighted")}


def counted(y, found):
    return (averages(y, found, "precision", sk.precision_score) | averages(y, found, "recall", sk.recall_score)
            | averages(y, found, "f1", sk.f1_score) | averages(y, found, "iou", sk.jaccard_score))


def of_classes(x, y, ignored=None):
    """Rows of scores, classes last."""
    counts = y != ignored if ignored is not None else np.ones(len(y), bool)
    x, y = x[counts], y[counts]
    classes, found, p = x.shape[1], x.argmax(1), softmax(x)
    labels, t, s = np.arange(classes), torch.tensor(y), torch.tensor(p)
    both = np.union1d(y, found)
    curves = {a: {f: [g(y == c, p[:, c]) for c in np.unique(y)] for f, g in (("auc", sk.roc_auc_score), ("ap", sk.average_precision_score))}
              for a in ("macro",)}["macro"]
    share = np.array([(y == c).mean() for c in np.unique(y)])
    return counted(y, found) | {
        "accuracy": sk.accuracy_score(y, found), "accuracy.macro": tm.multiclass_accuracy(s, t, classes, average="macro").item(),
        "balanced_accuracy": sk.balanced_accuracy_score(y, found), "mcc": sk.matthews_corrcoef(y, found),
        "kappa": sk.cohen_kappa_score(y, found), "specificity": np.mean([sk.recall_score(y != c, found != c) for c in both]),
        "dice": sk.f1_score(y, found, average="macro", zero_division=0),
        "auc": np.mean(curves["auc"]), "auc.weighted": share @ curves["auc"],
        "ap": np.mean(curves["ap"]), "ap.weighted": share @ curves["ap"],
        "perplexity": perplexity(torch.tensor(np.log(p))[None], t[None]).item(),
        "confusion": sk.confusion_matrix(y, found, labels=labels)}


def of_binary(x, y):
    found = (x > 0).astype(int)
    return {"accuracy": sk.accuracy_score(y, found), "balanced_accuracy": sk.balanced_accuracy_score(y, found),
            "precision": sk.precision_score(y, found), "recall": sk.recall_score(y, found), "f1": sk.f1_score(y, found),
            "specificity": sk.recall_score(1 - y, 1 - found), "iou": sk.jaccard_score(y, found), "dice": sk.f1_score(y, found),
            "mcc": sk.matthews_corrcoef(y, found), "kappa": sk.cohen_kappa_score(y, found),
            "auc": sk.roc_auc_score(y, x), "ap": sk.average_precision_score(y, x), "confusion": sk.confusion_matrix(y, found)}


def of_labels(x, y):
    found = (x > 0).astype(int)
    return counted(y, found) | {"accuracy": (found == y).mean(), "auc": sk.roc_auc_score(y, x), "ap": sk.average_precision_score(y, x),
                                "auc.weighted": sk.roc_auc_score(y, x, average="weighted")}


def of_values(x, y):
    return {"mae": sk.mean_absolute_error(y, x), "mse": sk.mean_squared_error(y, x), "rmse": np.sqrt(sk.mean_squared_error(y, x)),
            "r2": sk.r2_score(y, x)}


def main():
    cases = {}
    y = random.choice([0, 1, 2, 4, 5], p=[0.4, 0.3, 0.15, 0.1, 0.05], size=83)  # class 3 is never a label, 6 never found
    x = near(y, 7)
    x[:, 6] -= 9
    cases["classes"] = x, y, of_classes(x, y) | {f"top{k}": sk.top_k_accuracy_score(
        y, softmax(x) - 1e-9 * np.arange(7), k=k, labels=np.arange(7)) for k in (2, 5)}
    y = random.integers(0, 4, (11, 3, 2))
    y[::3, 0] = -100
    x = near(y, 4)
    cases["image"] = np.moveaxis(x, -1, 1), y, of_classes(x.reshape(-1, 4), y.reshape(-1), -100)
    y = random.integers(0, 2, 61)
    x = np.round(random.normal(size=61) + y - 0.3, 1).astype(np.float32)
    cases["binary"] = x[:, None], y[:, None].astype(np.float32), of_binary(x, y)
    cases["probability"] = cases["binary"]
    y = random.integers(0, 2, (53, 4)) * [1, 1, 0, 1]
    y[0, 2] = 1
    x = np.round(random.normal(size=y.shape) + y, 1).astype(np.float32)
    cases["labels"] = x, y.astype(np.float32), of_labels(x, y)
    y = (random.normal(size=(47, 3)) + [1000, 0, -5]).astype(np.float32)
    x = (y + random.normal(size=y.shape) * [0.5, 1.5, 0.1]).astype(np.float32)
    cases["values"] = x, y, of_values(x.astype(np.float64), y.astype(np.float64))
    arrays = {}
    for name, (x, y, metrics) in cases.items():
        arrays |= {f"{name}/x": x, f"{name}/y": y} | {f"{name}/is/{key}": value for key, value in metrics.items()}
    np.savez_compressed(os.path.join(os.path.dirname(os.path.abspath(__file__)), "metrics_ref.npz"), **arrays)


if __name__ == "__main__":
    main()
