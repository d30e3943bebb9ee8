# SPDX-License-Identifier: Apache-2.0
"""Exports PyTorch modules to ONNX in training form by a trace; what a trace cannot represent is an error."""

from __future__ import annotations

import contextlib
import io
import linecache
import os
import re
import sys
import warnings
from typing import TYPE_CHECKING, Any, Iterator, Sequence
from unittest import mock

from dlc.errors import BadModel

if TYPE_CHECKING:
    import torch

OPSET = 17
GUIDE = "see docs/guide/export.md"
# Tensor methods that return a Python value, or an array.
READS = {"__bool__": "bool", "__int__": "int", "__float__": "float", "__index__": "int", "__contains__": "bool",
         "item": "number", "tolist": "list", "numpy": "array", "__array__": "array", "equal": "bool",
         "allclose": "bool", "is_nonzero": "bool"}
# Tracer warnings about values that may become constants; values that depend on data are refused.
HARMLESS = re.compile(r"Converting a tensor|Iterating over|Using len|torch\.\w+ results are registered as constants")


def _depends_on_data(value: Any) -> bool:
    """Whether a traced value depends on inputs, parameters or random numbers, not only on sizes."""
    todo, seen = [value.node()], set()
    while todo:
        node = todo.pop()
        if re.search("Param|GetAttr|rand|bernoulli|normal", node.kind()):
            return True
        if node not in seen and node.kind() != "aten::size":
            seen.add(node)
            todo += [read.node() for read in node.inputs()]
    return False


def _refuse(kind: str) -> None:
    """An error at the innermost line outside of torch and this package; lines that only assert are ignored."""
    import torch

    own = (os.path.dirname(torch.__file__) + os.sep, os.path.dirname(__file__) + os.sep)
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(own):
        if frame.f_code is torch._assert.__code__:
            return
        frame = frame.f_back
    file, line = frame.f_code.co_filename, frame.f_lineno
    text = linecache.getline(file, line).strip()
    if text.startswith("assert "):
        return
    raise BadModel(f"{file}:{line}: '{text}' makes a Python {kind} of values that the model computes: the exported graph would "
                   "keep what it was for the example, for all data. Write it with tensors, as in torch.where(condition, a, b); "
                   f"{GUIDE}")


@contextlib.contextmanager
def _watched() -> Iterator[None]:
    """In this context, tracing must not convert data to Python values."""
    import torch

    def watching(read: Any, kind: str) -> Any:
        def call(tensor: Any, *given: Any, **named: Any) -> Any:
            if torch.jit.is_tracing() and isinstance(tensor, torch.Tensor) \
                    and _depends_on_data(torch._C._get_value_trace(tensor)):
                _refuse(kind)
            return read(tensor, *given, **named)
        return call

    with contextlib.ExitStack() as patches:
        for place in (torch.Tensor, torch):
            for name, kind in READS.items():
                if hasattr(place, name) and (place is torch.Tensor or not name.startswith("_")):
                    patches.enter_context(mock.patch.object(place, name, watching(getattr(place, name), kind)))
        yield


@contextlib.contextmanager
def _untraced() -> Iterator[None]:
    """Operations in this context are not traced."""
    import torch

    state = torch._C._get_tracing_state()
    torch._C._set_tracing_state(None)
    try:
        yield
    finally:
        torch._C._set_tracing_state(state)


@contextlib.contextmanager
def _gradients() -> Iterator[None]:
    """In this context, the trace keeps operations that the exporter drops or cannot write: detach(), data and no_grad() become
    nodes StopGradient; torch.autograd.grad becomes a node Gradient with inputs y (a scalar) and the tensors to differentiate by."""
    import torch
    from torch.overrides import TorchFunctionMode

    detach, data, grad = torch.Tensor.detach, torch.Tensor.data, torch.autograd.grad

    class Stop(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(context: Any, tensor: torch.Tensor) -> torch.Tensor:
            return detach(tensor)

        @staticmethod
        def symbolic(graph: Any, tensor: Any) -> Any:
            return graph.op("ai.dlc::StopGradient", tensor).setType(tensor.type())

    class Derive(torch.autograd.Function):  # type: ignore[misc]
        """Makes `slopes`, which PyTorch computed, results of y and xs in the trace."""

        @staticmethod
        def forward(context: Any, slopes: Iterator[torch.Tensor], y: torch.Tensor, *xs: torch.Tensor) -> tuple[torch.Tensor, ...]:
            return tuple(slope.clone() for slope in slopes)

        @staticmethod
        def symbolic(graph: Any, slopes: Any, y: Any, *xs: Any) -> Any:
            found = graph.op("ai.dlc::Gradient", y, *xs, outputs=len(xs))
            return tuple(slope.setType(x.type()) for slope, x in zip([found] if len(xs) == 1 else found, xs))

    def stop(tensor: Any) -> Any:
        """For any result; values without gradient, such as integers, are unchanged."""
        if isinstance(tensor, (tuple, list)) and type(tensor) in (tuple, list):
            return type(tensor)(map(stop, tensor))
        return Stop.apply(tensor) if isinstance(tensor, torch.Tensor) and tensor.is_floating_point() else tensor

    def derive(outputs: Any, inputs: Any, **options: Any) -> tuple[Any, ...]:
        """torch.autograd.grad's result for its arguments, in the form of function overrides."""
        if options["is_grads_batched"]:
            raise BadModel(f"torch.autograd.grad(is_grads_batched=True) has no form in ONNX: call it for each gradient; {GUIDE}")
        ys = [outputs] if isinstance(outputs, torch.Tensor) else list(outputs)
        weights = options.pop("grad_outputs")
        weights = [weights] if weights is None or isinstance(weights, torch.Tensor) else list(weights)
        weights += [None] * (len(ys) - len(weights))
        with torch.enable_grad():
            y = sum(out.sum() if weight is None else (out * weight).sum() for out, weight in zip(ys, weights))
        with _untraced():
            slopes: tuple[Any, ...] = grad(ys, inputs, grad_outputs=weights, **{**options, "create_graph": True})
            used = [(x, slope, detach(slope)) for x, slope in zip(inputs, slopes) if slope is not None]
        traced = Derive.apply(iter([value for _, _, value in used]), y, *(x for x, _, _ in used))
        for (_, slope, _), value in zip(used, traced):  # the gradient may be differentiated again, its value may not
            torch._C._set_value_trace(slope, torch._C._get_value_trace(value))
        return slopes if options["create_graph"] else tuple(map(stop, slopes))

    class Mode(TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if function is grad and torch.jit.is_tracing():
                return derive(*args, **(kwargs or {}))
            result = function(*args, **(kwargs or {}))
            if not torch.jit.is_tracing():
                return result
            ends = function in (detach, torch.detach, data.__get__) or not torch.is_grad_enabled()
            if ends and any(tensor.requires_grad for tensor in _tensors([*args, *(kwargs or {}).values()])):
                with torch.enable_grad():
                    return stop(args[0] if function == data.__get__ else result)
            return result

    with Mode():
        yield


def _tensors(found: Any) -> Iterator[Any]:
    """The tensors in nested arguments."""
    import torch

    for part in found:
        if isinstance(part, torch.Tensor):
            yield part
        elif isinstance(part, (tuple, list)):
            yield from _tensors(part)


def export_training(module: torch.nn.Module, inputs: tuple[Any, ...], names: Sequence[str], axes: Any) -> bytes:
    """Returns an ONNX model without folding, with the module's names, and Dropout and batch norms in training mode."""
    import torch

    count = len(inputs)
    buffer = io.BytesIO()
    with warnings.catch_warnings(record=True) as said, _watched(), _gradients():
        warnings.simplefilter("always")  # also about the older exporter; the newer one folds training away
        try:
            torch.onnx.export(module, inputs, buffer, dynamo=False, opset_version=OPSET,
                              training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False,
                              input_names=list(names[:count]), output_names=list(names[count:]), dynamic_axes=axes)
        except (torch.onnx.errors.OnnxExporterError, RuntimeError) as error:
            reason = str(error).partition("\n")[0]
            raise BadModel(f"torch's exporter in training form cannot write the module: {reason}. Write that part of the "
                           "module in other words, or export the module by dynamo=True, optimize=False and give the file to "
                           f"dlc.compile; {GUIDE}") from error
    for warning in said:
        if issubclass(warning.category, torch.jit.TracerWarning) and not HARMLESS.match(str(warning.message)):
            raise BadModel(f"{warning.filename}:{warning.lineno}: {str(warning.message).strip()}; {GUIDE}")
    return buffer.getvalue()
