# SPDX-License-Identifier: Apache-2.0
"""A model that is loaded: steps, evaluation, prediction, state by name."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator, Mapping, MutableMapping, NamedTuple, Sequence, Union

from dlc import _dlc
from dlc._arguments import options_of
from dlc._data import Array, Dataset, Samples, dataset_of
from dlc.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    import torch
    from typing import Unpack

    from dlc.options import Path, SessionOptions

Batch = Union[Sequence[Array], Mapping[str, Array], Array]


class Port(NamedTuple):
    """What a program takes, or a tensor of the state."""

    name: str
    dtype: str
    shape: tuple[int, ...]


class Evaluation(NamedTuple):
    """Means over all samples."""

    loss: float
    accuracy: float | None
    samples: int


class State(MutableMapping[str, Any]):
    """Parameters, buffers and the optimizer's state by name, as in PyTorch's state_dict. Reading one copies it into a
    new array (of bf16, into an object for torch.from_dlpack); what is written counts from the next step on."""

    def __init__(self, handle: _dlc.Session) -> None:
        self._handle = handle
        self._ports = {name: Port(name, dtype, shape) for name, dtype, shape in handle.states()}

    def __getitem__(self, name: str) -> Any:
        if name not in self._ports:
            raise KeyError(name)
        return self._handle.read(name)

    def __setitem__(self, name: str, value: Array) -> None:
        self._handle.write(name, value)

    def __delitem__(self, name: str) -> None:
        raise TypeError(f"state '{name}' is part of the model: it can be written, not deleted")

    def __iter__(self) -> Iterator[str]:
        return iter(self._ports)

    def __len__(self) -> int:
        return len(self._ports)

    def __contains__(self, name: object) -> bool:
        return name in self._ports

    def __repr__(self) -> str:
        return f"dlc.State({', '.join(list(self)[:8])}{', ...' if len(self) > 8 else ''})"

    def port(self, name: str) -> Port:
        """Its dtype and shape, without reading it."""
        return self._ports[name]


class Session:
    """An artifact, a run (its newest checkpoint) or a checkpoint, loaded. One thread at a time uses it."""

    def __init__(self, path: Path, **options: Unpack[SessionOptions]) -> None:
        self._handle = _dlc.Session(os.fspath(path), options_of(options))
        self._path = os.fspath(path)
        self._order = [port.name for port in self.inputs("train_step")]
        self.state = State(self._handle)

    def __repr__(self) -> str:
        ports = self.inputs("predict") or self.inputs()
        return f"dlc.Session({self._path!r}): " + ", ".join(f"{name} {dtype} {list(shape)}" for name, dtype, shape in ports)

    def inputs(self, program: str = "train_step") -> list[Port]:
        """Of "train_step", "eval_step" or "predict", in the order in which they are given; none: no such program."""
        return [Port(name, dtype, shape) for name, dtype, shape in self._handle.inputs(program)]

    def train_step(self, *arrays: Array, **named: Array) -> float | None:
        """One micro-batch, in the dtypes and shapes of inputs("train_step"), in their order or by name. Arrays are read
        where they are, once. The update's loss; None in the middle of an update (--accumulate)."""
        if named:
            arrays = (*arrays, *self._arranged(named, self._order[len(arrays):]))
        return self._handle.metric("loss") if self._handle.train_step(arrays) else None

    def train(self, batches: Iterable[Batch], on_update: Callable[[float], object] | None = None) -> list[float]:
        """A step for each batch: arrays in a tuple or by name. The updates' losses; on_update gets each, too, and False
        from it ends the loop."""
        losses: list[float] = []
        for batch in batches:
            if isinstance(batch, Mapping):
                loss = self.train_step(*self._arranged(batch, self._order))
            elif isinstance(batch, (tuple, list)):
                loss = self.train_step(*batch)
            else:
                loss = self.train_step(batch)  # type: ignore[arg-type]
            if loss is not None:
                losses.append(loss)
                if on_update is not None and on_update(loss) is False:
                    break
        return losses

    def _arranged(self, named: Mapping[str, Array], order: Sequence[str]) -> list[Array]:
        unknown = sorted(set(named) - set(order))
        if unknown or len(named) != len(order):
            raise UsageError(f"train_step takes {', '.join(order) or 'nothing'}, found {', '.join(named)}")
        return [named[name] for name in order]

    def metric(self, name: str) -> float:
        """ "loss", "lr", "grad_norm", ... of the last update."""
        return self._handle.metric(name)

    def evaluate(self, samples: Samples) -> Evaluation:
        """Loss and accuracy over all samples: a path, a Dataset, or arrays by name."""
        return Evaluation(*self._handle.evaluate(dataset_of(samples)._handle))

    def predict(self, samples: Samples | Array) -> dict[str, Any]:
        """The outputs for all samples, in order, by name; an array alone is the model's only input."""
        if not isinstance(samples, (Dataset, Mapping, str, os.PathLike)):
            samples = {"x": samples}
        return self._handle.predict(dataset_of(samples)._handle)

    def save(self, path: Path) -> None:
        """All state to a new safetensors file."""
        self._handle.save(os.fspath(path))

    def load(self, path: Path) -> None:
        """State of the same artifact from a safetensors file."""
        self._handle.load(os.fspath(path))

    def load_into(self, module: torch.nn.Module, optimizer: torch.optim.Optimizer | None = None) -> None:
        """Copies the weights and running statistics into the module that they came from, by name, and the moments and the
        number of steps into its SGD, Adam, AdamW, RAdam, RMSprop or Adagrad. Nothing is written unless every parameter of
        the module is found with its shape. A frozen one (requires_grad=False) that the model has as a constant stays as it
        is."""
        from dlc._transfer import load_into

        load_into(self, module, optimizer)

    def load_from(self, module: torch.nn.Module, optimizer: torch.optim.Optimizer | None = None) -> None:
        """The inverse of load_into. Moving averages of weights (ema) start at the weights; the loss scale stays."""
        from dlc._transfer import load_from

        load_from(self, module, optimizer)


if TYPE_CHECKING:
    _Ndarray = np.ndarray[Any, Any]
