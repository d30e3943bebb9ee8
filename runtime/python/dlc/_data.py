# SPDX-License-Identifier: Apache-2.0
"""Samples from files, from arrays without a copy, or from Python functions."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Callable, Mapping, Protocol, Sequence, Union

import numpy as np

from dlc import _dlc
from dlc._arguments import options_of
from dlc.errors import UsageError

if TYPE_CHECKING:
    from typing import Unpack

    from dlc.options import DatasetOptions, Path


# The folder of the guide's models and data, as `dlc data samples` prints it.
SAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "share", "dlc", "models")


class SupportsDLPack(Protocol):
    """An array of NumPy, torch, JAX, ... in host memory, row-major and contiguous."""

    def __dlpack__(self) -> Any: ...

    def __dlpack_device__(self) -> Any: ...


Array = Union["np.ndarray[Any, Any]", SupportsDLPack]
Sample = Mapping[str, Array]
Samples = Union["Dataset", Mapping[str, Array], str, "os.PathLike[str]"]


def _plain(name: str, array: Any) -> Any:
    """Converts pandas' objects to NumPy arrays."""
    if not hasattr(array, "to_numpy"):
        return array
    found = array.to_numpy()
    if found.dtype.kind not in "biuf":
        raise UsageError(f"'{name}' has columns that are no numbers ({found.dtype}): choose others, or turn classes into numbers, "
                         "as astype('category').cat.codes does")
    return np.ascontiguousarray(found, np.float32 if found.dtype.kind == "f" else None)


class Dataset:
    """Named arrays with a sample per row. A model's only input may be named "x", its labels "y"."""

    def __init__(self, arrays: Mapping[str, Array]) -> None:
        """Arrays are not copied, so later writes to them are visible. Columns of pandas (a DataFrame of numbers, a Series)
        are copied, floats to float32."""
        plain = {name: _plain(name, array) for name, array in arrays.items()}
        self._handle = _dlc.Dataset.arrays(list(plain.items()))
        self._said = ", ".join(f"{name} {list(getattr(array, 'shape', ()))}" for name, array in plain.items())

    def __repr__(self) -> str:
        return f"dlc.Dataset({self._said})"

    @classmethod
    def _of(cls, handle: _dlc.Dataset, said: str) -> Dataset:
        made = cls.__new__(cls)
        made._handle, made._said = handle, said
        return made

    @classmethod
    def open(cls, path: Path, **options: Unpack[DatasetOptions]) -> Dataset:
        """A path that `dlc train --data` accepts, with its sample options: columns="x:a..f;y:label", mean="imagenet"."""
        return cls._of(_dlc.Dataset.open(os.fspath(path), options_of(options)), repr(os.fspath(path)))

    @classmethod
    def rows(cls, samples: Union[Sequence[Sample], Callable[[int], Sample]], count: int | None = None,
             identity: str = "") -> Dataset:
        """Samples made by Python on demand, each a dict of arrays: a sequence, or a function of the sample's index and the
        number of samples. To resume a run exactly, an index must always give the same sample, and `identity` must identify the
        data. May be called by several threads concurrently."""
        read = samples if callable(samples) else samples.__getitem__
        length = count if count is not None else len(samples) if not callable(samples) else None
        if not length or length < 0:
            raise UsageError("a data set of rows needs samples: expected a sequence that has some, or a function and count")
        first = {name: np.asarray(array) for name, array in read(0).items()}
        columns = [(name, str(array.dtype), list(array.shape)) for name, array in first.items()]
        said = ", ".join(f"{name} {dtype} {[length, *shape]}" for name, dtype, shape in columns)
        return cls._of(_dlc.Dataset.rows(length, columns, _Rows(read), identity), said)


class _Rows:
    """Reads columns of samples; each thread caches its last sample for the next column."""

    def __init__(self, read: Callable[[int], Sample]) -> None:
        import threading

        self._read, self._last = read, threading.local()

    def __call__(self, column: str, number: int) -> Array:
        last = getattr(self._last, "sample", None)
        if last is None or last[0] != number:
            last = self._last.sample = (number, self._read(number))
        found = np.asarray(last[1][column])
        return np.ascontiguousarray(found).reshape(found.shape)


def dataset_of(samples: Samples) -> Dataset:
    """Converts a data set, arrays by name, or a path."""
    if isinstance(samples, Dataset):
        return samples
    if isinstance(samples, (str, os.PathLike)):
        return Dataset.open(samples)
    if isinstance(samples, Mapping):
        return Dataset(samples)
    hint = '; of a frame: {"x": frame[["age", "height"]], "y": frame["label"]}' if hasattr(samples, "columns") else ""
    raise UsageError(f"samples are a dlc.Dataset, a dict of arrays or a path, found {type(samples).__name__}{hint}")
