# SPDX-License-Identifier: Apache-2.0
"""Compiles ONNX to artifacts and exports trained weights to ONNX, in a separate process, so that LLVM is never loaded here."""

from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING, Union

from dlc import _dlc
from dlc._arguments import options_of
from dlc.errors import UsageError

if TYPE_CHECKING:
    from typing import Protocol

    from typing import Unpack

    from dlc.options import CompileOptions, ExportOptions, Path

    class ModelProto(Protocol):
        """An onnx.ModelProto; the package onnx is not needed."""

        def SerializeToString(self) -> bytes: ...

    Model = Union[Path, bytes, ModelProto]


def compile(model: Model, artifact: Path, **options: Unpack[CompileOptions]) -> str:
    """Compiles an ONNX file, its bytes or an onnx.ModelProto to the folder `artifact`, and returns its path.

    An existing artifact is replaced. Options are the flags of `dlc compile`: amp=True, optimizer="adamw".
    """
    made, words = os.fspath(artifact), options_of(options)
    if isinstance(model, (str, os.PathLike)):
        _dlc.compile(os.fspath(model), made, words)
        return made
    if not isinstance(model, bytes):
        if not hasattr(model, "SerializeToString"):
            raise UsageError(f"a model is a path, bytes or an onnx.ModelProto, found {type(model).__name__}")
        model = model.SerializeToString()
    with tempfile.TemporaryDirectory(prefix="dlc-") as folder:
        path = os.path.join(folder, "model.onnx")
        with open(path, "wb") as file:
            file.write(model)
        _dlc.compile(path, made, words)
    return made


def export(model: Path, file: Path, **options: Unpack[ExportOptions]) -> str:
    """Writes the weights of an artifact, a run or a checkpoint to the ONNX file `file`, and returns its path."""
    made = os.fspath(file)
    _dlc.export_onnx(os.fspath(model), made, options_of(options))
    return made
