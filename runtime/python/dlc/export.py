# SPDX-License-Identifier: Apache-2.0
"""python -m dlc.export my.py:Model --input 1,3,224,224 -o model.onnx: exports a PyTorch module as an ONNX file for training.

See docs/guide/export.md. Needs torch, onnx and onnxscript.
"""

from __future__ import annotations

import argparse
import importlib
import os
import runpy
import shutil
import sys
import tempfile
from typing import Any

from dlc._torch import verify, write_onnx
from dlc.errors import Error, UsageError

# A dimension of 1 would be exported as constant.
LEAST_BATCH = 2


class FlagError(UsageError):
    """Messages have this command's names of flags."""

    def __init__(self, message: str) -> None:
        Exception.__init__(self, message)


def module_of(text: str) -> Any:
    """Evaluates `FILE.py:EXPRESSION` or `PACKAGE:EXPRESSION`: a module, or a class or function that is called to get one."""
    import torch

    place, colon, expression = text.partition(":")
    if not colon or not expression:
        raise UsageError(f"'{text}': expected FILE.py:MODEL or PACKAGE:MODEL, as in my.py:Model or 'my.py:Model(classes=10)'")
    if place.endswith(".py"):
        if not os.path.exists(place):
            raise UsageError(f"no such file: '{place}'")
        sys.path.insert(0, os.path.dirname(os.path.abspath(place)))
        names = runpy.run_path(place, run_name="dlc_export")
    else:
        sys.path.insert(0, os.getcwd())
        names = vars(importlib.import_module(place))
    if expression.isidentifier() and expression not in names:
        models = sorted(name for name, value in names.items() if isinstance(value, type) and issubclass(value, torch.nn.Module))
        raise UsageError(f"{place} has no '{expression}'; it has {', '.join(models) or 'no modules'}")
    found = eval(expression, dict(names))
    if not isinstance(found, torch.nn.Module) and callable(found):
        found = found()
    if not isinstance(found, torch.nn.Module):
        raise UsageError(f"'{text}' is a {type(found).__name__}, expected a torch.nn.Module or a function that returns one")
    return found


def example_of(text: str) -> Any:
    """A tensor of at least two samples for "1,3,224,224" or "1,128:int64"."""
    import torch

    sizes, _, name = text.partition(":")
    kind = getattr(torch, name or "float32", None)
    if not isinstance(kind, torch.dtype) or not all(size.isdecimal() and int(size) > 0 for size in sizes.split(",")):
        raise FlagError(f"--input {text}: expected sizes, and a type behind ':', as in 1,3,224,224 or 1,128:int64")
    first, *others = map(int, sizes.split(","))
    shape = [max(first, LEAST_BATCH), *others]
    return torch.randn(shape).to(kind) if kind.is_floating_point else torch.randint(0, 2, shape).to(kind)


def load(module: Any, file: str) -> None:
    """Loads a state_dict into the module."""
    import torch

    try:
        state = torch.load(file, map_location="cpu", weights_only=True)
        for key in ("state_dict", "model"):
            state = state.get(key, state) if isinstance(state.get(key), dict) else state
        module.load_state_dict(state)
    except Exception as error:
        raise FlagError(f"--weights {file}: {str(error).strip()}") from error


def run(words: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m dlc.export", description=__doc__.partition("\n")[0])
    parser.add_argument("model", help="FILE.py:MODEL or PACKAGE:MODEL, a torch.nn.Module or a function that returns one")
    parser.add_argument("--input", action="append", required=True, metavar="SIZES[:TYPE]",
                        help="sizes of the first input, the batch first, as in 1,3,224,224; one flag per input")
    parser.add_argument("--weights", metavar="FILE", help="state_dict of the module, by torch.save")
    parser.add_argument("-o", "--output", default="model.onnx", metavar="FILE", help="the ONNX file (default: model.onnx)")
    given = parser.parse_args(words)
    try:
        inputs = tuple(map(example_of, given.input))
        module = module_of(given.model)
        if given.weights:
            load(module, given.weights)
    except ImportError as error:
        raise UsageError(f"cannot import '{error.name}': {error}") from error
    with tempfile.TemporaryDirectory(prefix="dlc-") as folder:
        path = os.path.join(folder, "model.onnx")
        verify(path, module, inputs, write_onnx(module, inputs, path)[0])
        shutil.move(path, given.output)
    print(f"{given.output}: {sum(p.numel() for p in module.parameters())} parameters in training form, the batch is open, outputs as "
          f"the module's; next: dlc check {given.output}")


def main() -> None:
    try:
        run(sys.argv[1:])
    except Error as error:
        sys.exit((print(f"error: {error}", file=sys.stderr), error.code)[1])


if __name__ == "__main__":
    main()
