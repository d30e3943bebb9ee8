# SPDX-License-Identifier: Apache-2.0
"""Complete training runs, like `dlc train`: bitwise resumable, with callbacks."""

from __future__ import annotations

import csv
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Callable, Mapping, NamedTuple

from dlc import _dlc
from dlc._arguments import options_of
from dlc._data import Samples, dataset_of
from dlc.cli import call
from dlc.errors import UsageError
from dlc.options import CompileOptions, TrainerOptions

if TYPE_CHECKING:
    from typing import Unpack

    from dlc.options import Path


class Step(NamedTuple):
    """An update; the first of a run is 1. `metrics` has "loss", "lr", ..."""

    step: int
    steps: int
    epoch: int
    samples_per_second: float
    metrics: Mapping[str, float]


class Epoch(NamedTuple):
    """A completed epoch, after its validation. `metrics` has "val_loss", "val_accuracy", ..."""

    epoch: int
    step: int
    metrics: Mapping[str, float]


@dataclass(frozen=True)
class Run:
    """The result of a run."""

    folder: str
    steps: int
    stopped: bool  # ended early by a callback or stop()
    signal: int  # signal that ended it early; 0: none

    @property
    def history(self) -> dict[str, list[float]]:
        """Columns of the run's results.csv ("epoch", "train_loss", "val_loss", ...) with a value per epoch or validation, in a form
        that pandas.DataFrame accepts."""
        with open(os.path.join(self.folder, "results.csv"), newline="") as file:
            rows = list(csv.DictReader(file))
        whole = ("epoch", "step")
        return {name: [int(row[name]) if name in whole else float(row[name] or "nan") for row in rows]
                for name in (rows[0] if rows else ())}

    def report(self, file: Path = "report.html") -> str:
        """Writes the page of `dlc report`, which needs no network, and returns its path: a notebook shows it by IPython's
        IFrame."""
        made = os.fspath(file)
        call("report", self.folder, "-o", made)
        return made


class Trainer:
    """A run of the artifact `model`. Options are the flags of `dlc train`: epochs=3, run="run", resume="run" (without
    model). `data` and `val` are paths, a dlc.Dataset or arrays by name. If a callback returns False, the run ends with a
    checkpoint, as with Ctrl-C; exceptions of a callback are raised by run()."""

    def __init__(self, model: Path | None = None, data: Samples | None = None, val: Samples | None = None,
                 on_step: Callable[[Step], object] | None = None, on_epoch: Callable[[Epoch], object] | None = None,
                 **options: Unpack[TrainerOptions]) -> None:
        for name in options:
            if name in CompileOptions.__annotations__ and name not in TrainerOptions.__annotations__:
                raise UsageError(f"'{name}' is an option of dlc.compile: the artifact has it")
        words = options_of(options)
        handles: list[_dlc.Dataset | None] = []
        for name, samples in (("data", data), ("val", val)):
            if samples is None or isinstance(samples, (str, os.PathLike)):
                words += [] if samples is None else [(name, os.fspath(samples))]
                handles.append(None)
            else:
                handles.append(dataset_of(samples)._handle)
        step = None if on_step is None else (lambda *event: on_step(Step(*event)))
        epoch = None if on_epoch is None else (lambda *event: on_epoch(Epoch(*event)))
        path = None if model is None else os.fspath(model)
        self._handle = _dlc.Trainer(path, handles[0], handles[1], words, step, epoch)
        self._said = ", ".join([*([repr(path)] if path else []), *(f"{name}={value!r}" for name, value in options.items())])

    def __repr__(self) -> str:
        return f"dlc.Trainer({self._said})"

    def run(self) -> Run:
        """Trains to the end; call once."""
        return Run(*self._handle.run())

    def stop(self) -> None:
        """Ends the run after its current step; from a callback, or another thread."""
        self._handle.stop()
