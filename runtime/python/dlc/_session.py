# SPDX-License-Identifier: Apache-2.0
"""A loaded model: training steps, evaluation, prediction, and states by name."""

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
    """An input of a program, or a tensor of the state."""

    name: str
    dtype: str
    shape: tuple[int, ...]


class Evaluation(NamedTuple):
    """Means over all samples."""

    loss: float
    accuracy: float | None
    samples: int


class State(MutableMapping[str, Any]):
    """Parameters, buffers and optimizer states by name, like PyTorch's state_dict. Reading copies a state to a new array (bf16:
    an object for torch.from_dlpack); writing takes effect in the next step."""

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
        """Its dtype and shape; the values are not read."""
        return self._ports[name]


class Session:
    """A loaded artifact, run (its newest checkpoint) or checkpoint. Not thread-safe."""

    def __init__(self, path: Path, **options: Unpack[SessionOptions]) -> None:
        self._handle = _dlc.Session(os.fspath(path), options_of(options))
        self._path = os.fspath(path)
        self._order = [port.name for port in self.inputs("train_step")]
        self.state = State(self._handle)

    def __repr__(self) -> str:
        ports = self.inputs("predict") or self.inputs()
        return f"dlc.Session({self._path!r}): " + ", ".join(f"{name} {dtype} {list(shape)}" for name, dtype, shape in ports)

    def inputs(self, program: str = "train_step") -> list[Port]:
        """Inputs of "train_step", "eval_step" or "predict", in order; empty if the program does not exist."""
        return [Port(name, dtype, shape) for name, dtype, shape in self._handle.inputs(program)]

    def train_step(self, *arrays: Array, **named: Array) -> float | None:
        """Runs one micro-batch, with dtypes and shapes of inputs("train_step"), in order or by name. Arrays are read without a copy,
        during the call. Returns the loss of the update, or None if it needs more micro-batches (--accumulate)."""
        if named:
            arrays = (*arrays, *self._arranged(named, self._order[len(arrays):]))
        return self._handle.metric("loss") if self._handle.train_step(arrays) else None

    def train(self, batches: Iterable[Batch], on_update: Callable[[float], object] | None = None) -> list[float]:
        """Runs a step for each batch (a tuple of arrays, or arrays by name) and returns the losses of updates. on_update is called
        with each loss; if it returns False, the loop ends."""
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
        """The outputs for all samples, in order, by name; a single array is the model's only input."""
        if not isinstance(samples, (Dataset, Mapping, str, os.PathLike)):
            samples = {"x": samples}
        return self._handle.predict(dataset_of(samples)._handle)

    def save(self, path: Path) -> None:
        """Writes all state to a new safetensors file."""
        self._handle.save(os.fspath(path))

    def load(self, path: Path) -> None:
        """Loads a state of the same artifact from a safetensors file."""
        self._handle.load(os.fspath(path))

    def load_into(self, module: torch.nn.Module, optimizer: torch.optim.Optimizer | None = None) -> None:
        """Copies weights and running statistics by name to the module that was compiled, and moments and the step count to its
        SGD, Adam, AdamW, RAdam, RMSprop or Adagrad. Nothing is written unless every parameter of the module is found with its
        shape. A frozen parameter (requires_grad=False) that is a constant of the model is not changed."""
        from dlc._transfer import load_into

        load_into(self, module, optimizer)

    def load_from(self, module: torch.nn.Module, optimizer: torch.optim.Optimizer | None = None) -> None:
        """The inverse of load_into. Moving averages (ema) are reset to the weights; the loss scale is not changed."""
        from dlc._transfer import load_from

        load_from(self, module, optimizer)


if TYPE_CHECKING:
    _Ndarray = np.ndarray[Any, Any]
