# SPDX-License-Identifier: Apache-2.0
"""Compiles PyTorch modules to artifacts."""

from __future__ import annotations

import inspect
import os
import re
import tempfile
from typing import TYPE_CHECKING, Any, Iterator, Mapping, Sequence

from dlc import _dlc
from dlc._arguments import options_of
from dlc._tracing import OPSET, export_training
from dlc.errors import Failed, UsageError

if TYPE_CHECKING:
    import onnx
    import torch
    from typing import Unpack

    from dlc._session import Session
    from dlc.options import CompileOptions, Path

# Tolerance between float32 outputs of two programs, relative to the largest.
TOLERANCE = 1e-4


def _axes(inputs: Sequence[Any], outputs: Sequence[Any], names: Sequence[str]) -> dict[str, dict[int, str]]:
    """Makes the first dimension dynamic if it equals the batch."""
    batch = inputs[0].shape[0] if inputs[0].dim() else None
    tensors = zip(names, [*inputs, *outputs])
    return {name: {0: "batch"} for name, tensor in tensors if tensor.dim() and tensor.shape[0] == batch}


def _tensors(found: Any) -> Iterator[Any]:
    """The tensors in a module's result, in order."""
    if hasattr(found, "dim") and hasattr(found, "shape"):
        yield found
    elif isinstance(found, dict) or hasattr(found, "values"):
        for part in found.values():
            yield from _tensors(part)
    elif isinstance(found, (tuple, list)):
        for part in found:
            yield from _tensors(part)


class _Modes:
    """Saves training modes and buffers of a module and restores them at the end, since tracing runs the module."""

    def __init__(self, module: torch.nn.Module) -> None:
        self._module = module

    def __enter__(self) -> None:
        self._modes = {part: part.training for part in self._module.modules()}
        self._buffers = {name: buffer.detach().clone() for name, buffer in self._module.named_buffers()}

    def __exit__(self, *_: object) -> None:
        import torch

        for part, training in self._modes.items():
            part.training = training
        with torch.no_grad():
            for name, buffer in self._module.named_buffers():
                buffer.copy_(self._buffers[name])


def _frozen(module: torch.nn.Module, held: set[str]) -> list[str]:
    """Patterns of parameters that are not trained; `held`: the exported parameters, without those that forward does not read."""
    import torch

    for name, part in module.named_modules():
        if isinstance(part, torch.nn.RNNBase):  # the exporter packs them, and dlc unpacks them
            held = held | {f"{name}.{own}".lstrip(".") for own, _ in part.named_parameters()}
    return [f"^{re.escape(name)}$" for name, parameter in module.named_parameters()
            if not parameter.requires_grad and name in held]


def _restored(model: bytes, module: torch.nn.Module) -> onnx.ModelProto:
    """Restores running statistics, which tracing has updated, and converts the trace's nodes Gradient to ONNX's."""
    import numpy as np
    import onnx

    proto = onnx.load_from_string(model)
    buffers = {name: buffer.detach().cpu().numpy() for name, buffer in module.named_buffers()}
    for tensor in proto.graph.initializer:
        value = buffers.get(tensor.name)
        if value is not None and list(value.shape) == list(tensor.dims):
            tensor.CopyFrom(onnx.numpy_helper.from_array(np.ascontiguousarray(value), tensor.name))
    for node in proto.graph.node:
        if node.domain == "ai.dlc" and node.op_type == "Gradient":  # y and xs are its inputs, in ONNX attributes
            y, *xs = node.input
            node.CopyFrom(onnx.helper.make_node("Gradient", xs, node.output, node.name, domain="ai.onnx.preview.training", y=y, xs=xs))
    if any(node.domain == "ai.onnx.preview.training" for node in proto.graph.node):
        proto.opset_import.append(onnx.helper.make_opsetid("ai.onnx.preview.training", 1))
    if any(node.domain == "ai.dlc" for node in proto.graph.node):  # the function by which other tools run the file
        proto.functions.append(onnx.helper.make_function("ai.dlc", "StopGradient", ["x"], ["y"], [onnx.helper.make_node("Identity", ["x"], ["y"])],
                                                         [onnx.helper.make_opsetid("", OPSET)]))
    return proto


def _perturbed(inputs: Sequence[Any]) -> list[Any]:
    """Other inputs of the same shapes: float values reversed, and halved, or negated if some are negative. Integers are kept if
    there are floats, as they may be lengths."""
    import torch

    floats = any(tensor.is_floating_point() for tensor in inputs)
    changed = []
    for tensor in inputs:
        if tensor.is_floating_point() or not floats:
            tensor = tensor.flip(list(range(tensor.dim())))
        if tensor.is_floating_point() and bool(torch.isfinite(tensor).all()):
            tensor = tensor * (-1.0 if bool((tensor < 0).any()) else 0.5)
        changed.append(tensor)
    return changed


def _outputs(module: torch.nn.Module, inputs: Sequence[Any]) -> list[Any]:
    """Outputs in eval(), with gradients enabled, since forward may use them."""
    with _Modes(module):
        module.eval()
        return [tensor.detach().cpu().clone() for tensor in _tensors(module(*inputs))]


def _compare(session: Session, inputs: Sequence[Any], expected: Sequence[Any], names: Sequence[str], what: str) -> None:
    """Checks that the session's predictions equal the module's outputs in eval()."""
    import numpy as np

    given = {name: tensor.detach().cpu().contiguous() for name, tensor in zip(names, inputs)}
    found = session.predict({port.name: given[port.name] for port in session.inputs("predict")})
    for name, tensor in zip(names[len(inputs):], expected):
        right, got = tensor.float().numpy(), np.asarray(found[name], np.float32)
        finite = right[np.isfinite(right)]
        limit = TOLERANCE * max(1.0, float(np.abs(finite).max()) if finite.size else 1.0)
        if np.allclose(got, right, rtol=0, atol=limit if tensor.is_floating_point() else 0, equal_nan=True):
            continue
        raise Failed(f"output '{name}' of the compiled model differs from the module's in eval() by "
                     f"{float(np.abs(got - right).max()):.3g} on {what}, expected at most {limit:.3g}: does the module compute "
                     "something else on each call, on other data, or in eval() than what a trace sees? check=False compiles it "
                     "all the same")


def verify(path: str, module: torch.nn.Module, inputs: Sequence[Any], names: Sequence[str], frozen: Sequence[str] = ()) -> None:
    """Checks that the exported model computes the module's outputs, for the example and for other values. `frozen`: the option
    freeze."""
    from dlc._session import Session

    with tempfile.TemporaryDirectory(prefix="dlc-") as folder:
        plain = os.path.join(folder, "check.dlc")
        _dlc.compile(path, plain, options_of({"batch": inputs[0].shape[0], "predict_only": True, "quiet": True,
                                                "freeze": list(frozen)}))
        session = Session(plain)
        for values, what in ((inputs, "the example"), (_perturbed(inputs), "the example with other values")):
            _compare(session, values, _outputs(module, values), names, what)


def write_onnx(module: torch.nn.Module, inputs: tuple[Any, ...], path: str, input_names: Sequence[str] | None = None,
               output_names: Sequence[str] | None = None) -> tuple[list[str], set[str]]:
    """Exports the module in training form to the file `path` with a dynamic first dimension; returns the names of inputs and
    outputs, and of initializers."""
    expected = _outputs(module, inputs)
    names = [*(input_names or _numbered("input", len(inputs))), *(output_names or _numbered("output", len(expected)))]
    if len(names) != len(inputs) + len(expected):
        raise UsageError(f"the module has {len(inputs)} inputs and {len(expected)} outputs, found {len(names)} names")
    with _Modes(module):
        module.train()
        model = export_training(module, inputs, names, _axes(inputs, expected, names))
    proto = _restored(model, module)
    with open(path, "wb") as file:
        file.write(proto.SerializeToString())
    return names, {tensor.name for tensor in proto.graph.initializer}


def from_torch(module: torch.nn.Module, example_inputs: Any, artifact: Path, *, input_names: Sequence[str] | None = None,
               output_names: Sequence[str] | None = None, check: bool = True,
               **options: Unpack[CompileOptions]) -> str:
    """Compiles a PyTorch module for training to the folder `artifact`, and returns its path.

    The module is exported in training form: nothing is folded, parameters keep their state_dict names, Dropout and batch norm
    are in training mode, parameters with requires_grad=False are frozen, detach() stops gradients, and torch.autograd.grad in
    forward is differentiated. `example_inputs` is a tensor, a tuple of tensors, or a dict by names of forward's parameters, which
    then name the inputs; the first dimension is the batch, whose size is the option `batch` or else that of the example. The
    exported model's predictions are compared with the module in eval() (1e-4, f32), for the example and for other values of its
    shape. A forward that converts data to Python values (`if x.sum() > 0:`) is an error. The module is not changed. Needs torch, onnx and onnxscript."""
    import torch

    if isinstance(example_inputs, Mapping):
        bound = inspect.signature(module.forward).bind(**example_inputs)
        if bound.kwargs:
            raise UsageError(f"example_inputs: forward takes {', '.join(bound.kwargs)} only by name or behind others that are not "
                             "given: wrap the module in one whose forward takes the inputs in order")
        input_names, example_inputs = input_names or list(bound.arguments), bound.args
    inputs = tuple(example_inputs) if isinstance(example_inputs, (tuple, list)) else (example_inputs,)
    if not inputs or not all(isinstance(tensor, torch.Tensor) for tensor in inputs):
        raise UsageError("example_inputs are a tensor, or a tuple or a dict of tensors, found "
                         + (", ".join(type(value).__name__ for value in inputs) or "none"))
    made = os.fspath(artifact)
    given: dict[str, Any] = {"batch": inputs[0].shape[0], **options}
    with tempfile.TemporaryDirectory(prefix="dlc-") as folder:
        path = os.path.join(folder, "model.onnx")
        names, held = write_onnx(module, inputs, path, input_names, output_names)
        frozen = _frozen(module, held)
        if frozen:
            own = given.get("freeze") or []
            given["freeze"] = [*([own] if isinstance(own, str) else own), *frozen]
        if check:
            verify(path, module, inputs, names, frozen)
        _dlc.compile(path, made, options_of(given))
    return made


def _numbered(name: str, count: int) -> list[str]:
    return [name] if count == 1 else [f"{name}_{i}" for i in range(count)]
