# SPDX-License-Identifier: Apache-2.0
"""Copies weights and moments between a session and a PyTorch module and optimizer, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterator

from dlc.errors import UsageError

if TYPE_CHECKING:
    import torch

    from dlc._session import Session

# By class of torch.optim: the keys of its states, and the suffixes of the equivalent session states.
ADAM = {"exp_avg": "m", "exp_avg_sq": "v", "max_exp_avg_sq": "vmax"}
MOMENTS = {"SGD": {"momentum_buffer": "m"}, "Adam": ADAM, "AdamW": ADAM, "RAdam": {"exp_avg": "m", "exp_avg_sq": "v"},
           "RMSprop": {"square_avg": "v", "momentum_buffer": "m"}, "Adagrad": {"sum": "v"}}


def _pairs(session: Session, module: torch.nn.Module) -> list[tuple[str, torch.Tensor]]:
    """Pairs of module tensors and session states, including all trained parameters."""
    import torch

    states, pairs, missing = set(session.state), [], []
    same: dict[Any, list[str]] = {}  # names of tied weights by storage
    for name, tensor in module.state_dict(keep_vars=True).items():
        same.setdefault((tensor.data_ptr(), tensor.shape), []).append(name)
    for name, tensor in module.state_dict(keep_vars=True).items():
        names = [other for other in same[tensor.data_ptr(), tensor.shape] if other in states]
        if names:
            shapes = session.state.port(names[0]).shape, tuple(tensor.shape)
            own, others = ([size for size in shape if size != 1] for shape in shapes)  # an exporter may add dimensions of 1
            if own != others:
                raise UsageError(f"'{name}' of the module is {list(tensor.shape)}, of the session "
                                 f"{list(session.state.port(names[0]).shape)}: is it another module?")
            pairs.append((names[0], tensor))
        elif isinstance(tensor, torch.nn.Parameter) and tensor.requires_grad:
            missing.append(name)
    if missing:
        raise UsageError(f"the session has no state for the module's parameters {', '.join(missing)}: was it made from "
                         "another module, or under other names?")
    return pairs


def _moments(session: Session, pairs: list[tuple[str, torch.Tensor]],
             optimizer: torch.optim.Optimizer) -> Iterator[tuple[torch.Tensor, str, str]]:
    """Parameters, optimizer keys, and the equivalent session states."""
    kind, names = type(optimizer).__name__, {tensor: name for name, tensor in pairs}
    for group in optimizer.param_groups:
        if kind not in MOMENTS or group.get("centered"):
            raise UsageError(f"the state of {'a centered ' if kind in MOMENTS else ''}{kind} has no form in a session, only those of "
                             f"{', '.join(MOMENTS)} have")
        kept = {key: own for key, own in MOMENTS[kind].items()
                if group.get({"momentum_buffer": "momentum", "max_exp_avg_sq": "amsgrad"}.get(key, ""), True)}
        for parameter in group["params"]:
            if parameter not in names:
                if parameter.requires_grad:
                    raise UsageError("the optimizer has a parameter that the module does not have")
                continue
            name = names[parameter]
            found = {own for own in ("m", "v", "vmax", "vr", "vc") if f"{name}.{own}" in session.state}
            if parameter.requires_grad and found != set(kept.values()):
                raise UsageError(f"{kind} keeps {', '.join(kept) or 'nothing'} of '{name}', the session "
                                 f"{', '.join(f'{name}.{own}' for own in sorted(found)) or 'nothing'}: was it compiled with another "
                                 "optimizer?")
            for key, own in kept.items() if found else ():
                if session.state.port(f"{name}.{own}").dtype != "float32":
                    raise UsageError(f"'{name}.{own}' is {session.state.port(f'{name}.{own}').dtype}: compile with moments=\"f32\"")
                yield parameter, key, f"{name}.{own}"


def load_into(session: Session, module: torch.nn.Module, optimizer: torch.optim.Optimizer | None) -> None:
    """See Session.load_into."""
    import torch

    pairs = _pairs(session, module)
    moments = list(_moments(session, pairs, optimizer)) if optimizer else []
    with torch.no_grad():
        for name, tensor in pairs:
            tensor.copy_(torch.from_dlpack(session.state[name]).reshape(tensor.shape))
    for parameter, key, name in moments:
        state = optimizer.state[parameter]  # type: ignore[union-attr]
        state[key] = torch.from_dlpack(session.state[name]).reshape(parameter.shape).to(parameter)
        if key != "momentum_buffer":  # SGD has no step count
            state["step"] = torch.tensor(float(session.state["step"]))


def load_from(session: Session, module: torch.nn.Module, optimizer: torch.optim.Optimizer | None) -> None:
    """See Session.load_from."""
    import numpy as np
    import torch

    def write(name: str, tensor: torch.Tensor) -> None:
        shape, like = session.state.port(name).shape, torch.from_dlpack(session.state[name])
        session.state[name] = tensor.detach().to(like.device, like.dtype).reshape(shape).contiguous()

    pairs = _pairs(session, module)
    moments = list(_moments(session, pairs, optimizer)) if optimizer else []
    steps = {int(optimizer.state[parameter].get("step", 0)) for parameter, key, _ in moments  # type: ignore[union-attr]
             if key != "momentum_buffer"}
    if len(steps) > 1:
        raise UsageError(f"the optimizer's parameters have taken different numbers of steps: {', '.join(map(str, sorted(steps)))}")
    for name, tensor in pairs:
        for own in (name, f"ema/{name}"):
            if own in session.state:
                write(own, tensor)
    for parameter, key, name in moments:
        value = optimizer.state[parameter].get(key)  # type: ignore[union-attr]
        write(name, torch.zeros_like(parameter) if value is None else value)
    if steps:
        session.state["step"] = np.array(steps.pop(), np.int64)
