# SPDX-License-Identifier: Apache-2.0
"""Cases of gradients_test.py: operators that the importer makes of others, each with the same function in PyTorch.

A case is a list of nodes from "x" (and more float inputs, by name) to "y", with known tensors as initializers. At a tie differences do
not exist: `kink` asks for PyTorch's numbers alone. After a change: PYTHONPATH=test/support python test/import/gradient_cases.py, with
torch, writes gradients.json. An initializer may have at most 16 elements."""

import json
import os
from dataclasses import dataclass, field
from typing import Callable

import numpy as np
import onnx
from onnx import TensorProto, helper

NUMBERS = os.path.join(os.path.dirname(__file__), "gradients.json")
random = np.random.default_rng(7)


def rename_inputs(node, names):
    """Those of graphs in attributes, too, but for what these make themselves."""
    node.input[:] = [names.get(name, name) for name in node.input]
    for attribute in node.attribute:
        own = {name for inner in attribute.g.node for name in inner.output} | {value.name for value in attribute.g.input}
        for inner in attribute.g.node:
            rename_inputs(inner, {name: to for name, to in names.items() if name not in own})


def floats(*shape, low=-2.0, high=2.0):
    return np.round(random.uniform(low, high, shape), 3)


def ints(*values):
    return np.array(values, np.int64)


@dataclass
class Case:
    nodes: list
    inputs: dict  # floats, in f64
    torch: Callable  # of torch and the inputs in order
    known: dict = field(default_factory=dict)
    kink: bool = False
    opset: int = 21
    single: bool = False  # ONNX's operator takes no DOUBLE: the same program, imported in FLOAT


CASES = {}


def case(name, op, inputs, torch, known=None, names=None, kink=False, opset=21, single=False, **attributes):
    """One node, whose inputs are `names`: by default the inputs, then the known ones."""
    known = known or {}
    outputs = ["y", "i"] if op in ("TopK", "CausalConvWithState", "LinearAttention") else ["y"]
    node = helper.make_node(op, names or [*inputs, *known], outputs, **attributes)
    CASES[name] = Case([node], inputs, torch, known, kink, opset, single)


def losses(y):
    """The weights of the result's elements in the loss."""
    return np.cos(np.arange(1, np.prod(y.shape) + 1)).reshape(y.shape)


case("gather_elements", "GatherElements", {"x": floats(3, 4)}, lambda t, x: t.gather(x, 1, t.tensor([[0, 3, 0], [1, 1, 2]])),
     {"i": ints([0, -1, 0], [1, 1, -2])}, axis=1)
case("gather_nd", "GatherND", {"x": floats(2, 3, 2)}, lambda t, x: t.stack([x[0, [2, 2]], x[1, [0, 1]]]),
     {"i": ints([[-1], [2]], [[0], [1]])}, batch_dims=1)
case("scatter_elements", "ScatterElements", {"x": floats(3, 3), "u": floats(2, 2)},
     lambda t, x, u: t.scatter(x, 0, t.tensor([[0, 1], [2, 0]]), u), {"i": ints([0, 1], [-1, 0])}, ["x", "i", "u"], axis=0)
case("scatter_elements_add", "ScatterElements", {"x": floats(3, 3), "u": floats(2, 2)},
     lambda t, x, u: t.scatter_add(x, 1, t.tensor([[0, 0], [2, 1]]), u), {"i": ints([0, 0], [2, 1])}, ["x", "i", "u"], axis=1,
     reduction="add")
case("scatter_elements_mul", "ScatterElements", {"x": floats(3, 3), "u": np.array([[0.0, 0.5], [2.0, 0.0]])},
     lambda t, x, u: t.scatter_reduce(x, 1, t.tensor([[0, 0], [2, 2]]), u, "prod"), {"i": ints([0, 0], [2, 2])},
     ["x", "i", "u"], axis=1, reduction="mul")
case("scatter_elements_max_tie", "ScatterElements", {"x": np.array([[1.0, 5.0]]), "u": np.array([[1.0, 1.0, 2.0]])},
     lambda t, x, u: t.scatter_reduce(x, 1, t.tensor([[0, 0, 1]]), u, "amax"), {"i": ints([0, 0, 1])}, ["x", "i", "u"],
     kink=True, axis=1, reduction="max")
case("scatter_nd", "ScatterND", {"x": floats(4, 2), "u": floats(2, 2)},
     lambda t, x, u: x.index_put((t.tensor([3, 0]),), u), {"i": ints([-1], [0])}, ["x", "i", "u"])
case("scatter_nd_add", "ScatterND", {"x": floats(3, 2), "u": floats(3)},
     lambda t, x, u: x.index_put((t.tensor([2, 0, 2]), t.tensor([1, 0, 1])), u, accumulate=True),
     {"i": ints([2, 1], [0, 0], [2, 1])}, ["x", "i", "u"], reduction="add")
case("scatter_nd_min", "ScatterND", {"x": floats(3, 2), "u": floats(2, 2)},
     lambda t, x, u: t.stack([x[0], t.minimum(t.minimum(x[1], u[0]), u[1]), x[2]]), {"i": ints([1], [1])}, ["x", "i", "u"],
     reduction="min")
case("reverse_sequence", "ReverseSequence", {"x": floats(4, 2)},
     lambda t, x: t.stack([x[[1, 0, 2, 3], 0], x[[3, 2, 1, 0], 1]], 1), {"n": ints(2, 4)}, time_axis=0, batch_axis=1)
case("top_k", "TopK", {"x": floats(2, 5)}, lambda t, x: t.topk(x, 3, 1).values, {"k": ints(3)}, axis=1)
case("top_k_tie", "TopK", {"x": np.array([1.0, 2.0, 2.0, 0.0])}, lambda t, x: x[[1, 2]], {"k": ints(2)}, kink=True)
case("top_k_smallest", "TopK", {"x": floats(4, 3)}, lambda t, x: t.topk(x, 2, 0, largest=False).values, {"k": ints(2)}, axis=0,
     largest=0)
case("cumsum", "CumSum", {"x": floats(2, 5)}, lambda t, x: t.cumsum(x, 1), {"a": ints(-1).reshape(())})
case("cumsum_exclusive_reverse", "CumSum", {"x": floats(5)}, lambda t, x: t.flip(t.cumsum(t.flip(x, [0]), 0), [0]) - x,
     {"a": ints(0).reshape(())}, exclusive=1, reverse=1)
case("cumprod", "CumProd", {"x": np.array([0.5, -2.0, 0.0, 3.0, 0.0])}, lambda t, x: t.cumprod(x, 0), {"a": ints(0).reshape(())},
     opset=26)
case("reduce_prod", "ReduceProd", {"x": np.array([0.5, -2.0, 0.0, 3.0, 1.5, 2.5, -1.0, 0.75, 1.25, 0.0, 0.0, 0.25]).reshape(2, 3, 2)},
     lambda t, x: x.transpose(0, 1).reshape(3, 4).prod(1), {"a": ints(0, 2)}, keepdims=0)
for mode in "reflect", "edge", "wrap":
    case(f"pad_{mode}", "Pad", {"x": floats(1, 3, 4)},
         lambda t, x, mode=mode: t.nn.functional.pad(x, (2, 1), dict(edge="replicate", wrap="circular").get(mode, mode)),
         {"p": ints(0, 0, 2, 0, 0, 1)}, mode=mode)
case("pad_crop", "Pad", {"x": floats(3, 4)}, lambda t, x: t.nn.functional.pad(x, (1, -2), value=3.0),
     {"p": ints(0, 1, 0, -2), "v": np.array(3.0, np.float32)})
case("depth_to_space", "DepthToSpace", {"x": floats(1, 4, 2, 1)}, lambda t, x: t.pixel_shuffle(x, 2), blocksize=2, mode="CRD")
case("col2im", "Col2Im", {"x": floats(1, 4, 4)}, lambda t, x: t.nn.functional.fold(x, (3, 3), (2, 2)),
     {"s": ints(3, 3), "b": ints(2, 2)})
EINSUMS = {"bij,bjk->bik": [(2, 3, 4), (2, 4, 2)], "ii->i": [(3, 3)], "iji->j": [(2, 3, 2)], "...ij,jk": [(2, 2, 3), (3, 2)],
           "bhqd,bhkd->bhqk": [(1, 2, 3, 2), (1, 2, 2, 2)], "i,j,ij->": [(2,), (3,), (2, 3)], "ab,cd->dbca": [(2, 1), (2, 3)]}
for equation, shapes in EINSUMS.items():
    case(f"einsum {equation}", "Einsum", {name: floats(*s) for name, s in zip("xuv", shapes)},
         lambda t, *xs, e=equation: t.einsum(e, *xs), equation=equation)


def resize(name, shape, torch, scales=None, sizes=None, **attributes):
    known = {"s": np.array(scales, np.float32)} if scales else {"z": ints(*sizes)}
    case(f"resize_{name}", "Resize", {"x": floats(*shape)}, torch, known, ["x", "", *known] if scales else ["x", "", "", "z"],
         **attributes)


def interpolated(mode, **options):
    return lambda t, x: t.nn.functional.interpolate(x, mode=mode, **options)


resize("nearest", (1, 1, 2, 3), interpolated("nearest", scale_factor=2), [1, 1, 2, 2], mode="nearest",
       coordinate_transformation_mode="asymmetric", nearest_mode="floor")
resize("nearest_uneven", (1, 2, 3), interpolated("nearest", size=5), sizes=[1, 2, 5], mode="nearest",
       coordinate_transformation_mode="asymmetric", nearest_mode="floor")
resize("linear_twice", (1, 1, 3, 2), interpolated("bilinear", scale_factor=2), [1, 1, 2, 2], mode="linear",
       coordinate_transformation_mode="pytorch_half_pixel")
resize("linear_corners", (1, 2, 3), interpolated("linear", size=5, align_corners=True), sizes=[1, 2, 5], mode="linear",
       coordinate_transformation_mode="align_corners")
resize("linear_smaller", (1, 1, 5, 4), interpolated("bilinear", size=(3, 2)), sizes=[1, 1, 3, 2], mode="linear")
resize("linear_antialias", (1, 1, 5, 4), interpolated("bilinear", size=(3, 2), antialias=True), sizes=[1, 1, 3, 2], mode="linear",
       antialias=1, exclude_outside=1)
resize("cubic", (1, 1, 2, 3), interpolated("bicubic", scale_factor=2), [1, 1, 2, 2], mode="cubic")
resize("cubic_uneven", (1, 1, 3, 4), interpolated("bicubic", size=(5, 3)), sizes=[1, 1, 5, 3], mode="cubic")
for mode in "linear", "nearest", "cubic":
    for padding in "zeros", "border", "reflection":
        torchs = dict(linear="bilinear", cubic="bicubic").get(mode, mode)
        case(f"grid_sample_{mode}_{padding}", "GridSample", {"x": floats(1, 2, 3, 2), "g": floats(1, 2, 2, 2, low=-1.4, high=1.4)},
             lambda t, x, g, m=torchs, p=padding: t.nn.functional.grid_sample(x, g, m, p, align_corners=p == "border"),
             mode=mode, padding_mode=padding, align_corners=int(padding == "border"))
case("affine_grid", "AffineGrid", {"x": floats(1, 2, 3)}, lambda t, x: t.nn.functional.affine_grid(x, [1, 1, 2, 3], False),
     {"s": ints(1, 1, 2, 3)})
case("det", "Det", {"x": floats(2, 3, 3)}, lambda t, x: t.linalg.det(x))


def elementwise(op, low=-2.0, high=2.0, torch=None, opset=24, **attributes):
    name = op.lower()
    case(name, op, {"x": floats(2, 3, low=low, high=high)}, torch or (lambda t, x, n=name: getattr(t, n)(x)), opset=opset,
         **attributes)


for op in "Tan", "Sinh", "Cosh", "Asinh":
    elementwise(op, -1.4, 1.4)
for op in "Asin", "Acos", "Atanh":
    elementwise(op, -0.9, 0.9)
elementwise("Acosh", 1.1, 4.0)
elementwise("ThresholdedRelu", torch=lambda t, x: t.where(x > 0.5, x, 0.0), alpha=0.5)
elementwise("Shrink", torch=lambda t, x: t.nn.functional.softshrink(x, 0.4), lambd=0.4, bias=0.4)
case("mod_of_floats", "Mod", {"x": floats(2, 3), "b": floats(3, low=0.3, high=0.9)}, lambda t, x, b: t.fmod(x, b), fmod=1)
QKV = {"x": floats(1, 4, 3, 2), "k": floats(1, 2, 3, 2), "v": floats(1, 2, 3, 2)}


def attend(t, q, k, v, change):
    k, v = k.repeat_interleave(2, 1), v.repeat_interleave(2, 1)
    return t.softmax(change(q @ k.transpose(-1, -2) / 2**0.5), -1) @ v


case("attention_of_groups", "Attention", QKV, lambda t, q, k, v: attend(
    t, q, k, v, lambda s: s.masked_fill(~t.ones(3, 3, dtype=bool).tril(), -t.inf)), opset=24, is_causal=1)
case("attention_softcap", "Attention", QKV, lambda t, q, k, v: attend(t, q, k, v, lambda s: 0.5 * t.tanh(s / 0.5)), opset=24,
     softcap=0.5)


def recurrent(name, op, gates, both=1, **attributes):
    """A layer of 2 units over 3 steps of 2 rows; torch's gates are in another order than ONNX's."""
    order = {4: [0, 3, 1, 2], 3: [1, 0, 2], 1: [0]}[gates]  # torch: ifgo, rzn
    random = np.random.default_rng(3)
    inputs = {key: np.round(random.uniform(-1, 1, shape), 3)
              for key, shape in {"x": (3, 2, 3), "w": (both, 2 * gates, 3), "r": (both, 2 * gates, 2), "b": (both, 4 * gates),
                                 "h": (both, 2, 2), "c": (both, 2, 2)}.items() if key != "c" or op == "LSTM"}

    def layer(t, x, w, r, b, h, c=None):
        pick = lambda v: t.cat([v.reshape(gates, 2, -1)[order.index(k)] for k in range(gates)])
        flat = [part for d in range(both) for part in (pick(w[d]), pick(r[d]), pick(b[d][:2 * gates]).flatten(),
                                                       pick(b[d][2 * gates:]).flatten())]
        kind = {"LSTM": t._VF.lstm, "GRU": t._VF.gru, "RNN": t._VF.rnn_tanh}[op]
        y = kind(x, (h, c) if op == "LSTM" else h, flat, True, 1, 0.0, False, both == 2, False)[0]
        return y.reshape(3, 2, both, 2).transpose(1, 2)

    names = ["x", "w", "r", "b", "", "h", "c"][:7 if op == "LSTM" else 6]
    case(name, op, inputs, layer, names=names, hidden_size=2, **attributes)


recurrent("lstm", "LSTM", 4)
recurrent("lstm_both_ways", "LSTM", 4, 2, direction="bidirectional")
recurrent("gru_both_ways", "GRU", 3, 2, direction="bidirectional", linear_before_reset=1)
recurrent("rnn", "RNN", 1)


def peepholes(t, x, w, r, b, p):
    h = c = x.new_zeros(2, 2)
    pi, po, pf = p[0].chunk(3)
    states = []
    for now in x:
        i, o, f, g = (now @ w[0].T + h @ r[0].T + b[0][:8] + b[0][8:]).chunk(4, -1)
        c = t.sigmoid(f + pf * c) * c + t.sigmoid(i + pi * c) * g.tanh()
        h = t.sigmoid(o + po * c) * c.tanh()
        states.append(h)
    return t.stack(states).unsqueeze(1)


case("lstm_peepholes", "LSTM", {key: np.round(np.random.default_rng(ord(key)).uniform(-1, 1, shape), 3) for key, shape in
                               {"x": (3, 2, 3), "w": (1, 8, 3), "r": (1, 8, 2), "b": (1, 16), "p": (1, 6)}.items()}, peepholes,
     names=["x", "w", "r", "b", "", "", "", "p"], hidden_size=2)


def linear_attention(t, q, k, v, decay=None, beta=None, state=None, kv=2):
    """q of twice as many heads as k and v have, K = 2; beta of one number for all heads; step by step."""
    batch, steps, _ = q.shape
    heads = lambda x, count: x.reshape(batch, steps, count, -1)
    q, k, v = heads(q, 2 * kv), heads(k, kv), heads(v, kv)
    state, outputs = t.zeros(batch, kv, 2, v.shape[-1], dtype=q.dtype) if state is None else state, []
    for i in range(steps):
        if decay is not None:
            state = state * t.exp(heads(decay, kv)[:, i])[..., None]
        write = v[:, i]
        if beta is not None:
            write = beta[:, i, :, None] * (write - t.einsum("bhkv,bhk->bhv", state, k[:, i]))
        state = state + k[:, i, :, :, None] * write[:, :, None]
        outputs.append(t.einsum("bhk,bhkv->bhv", q[:, i], state.repeat_interleave(2, 1)) / 2**0.5)
    return t.stack(outputs, 1).reshape(batch, steps, -1)


def linear_attention_cases(name, rules, kv, linear):
    for rule, more in rules.items():
        case(f"{name}_{rule}", "LinearAttention", {**linear, **more},
             lambda t, q, k, v, *m, keys=tuple(more): linear_attention(t, q, k, v, kv=kv, **{
                 dict(d="decay", b="beta", s="state")[key]: value for key, value in zip(keys, m)}),
             names=["x", "k", "v", *(key if key in more else "" for key in "sdb")], opset=27, single=True, update_rule=rule,
             q_num_heads=2 * kv, kv_num_heads=kv)


LINEAR = {"x": floats(2, 3, 8), "k": floats(2, 3, 4), "v": floats(2, 3, 6)}
DECAY, BETA, STATE = {"d": floats(2, 3, 4, high=0)}, {"b": floats(2, 3, 1)}, {"s": floats(2, 2, 2, 3)}
linear_attention_cases("linear_attention", {"linear": {}, "gated": DECAY, "delta": BETA, "gated_delta": {**STATE, **DECAY, **BETA}},
                       2, LINEAR)
case("causal_conv", "CausalConvWithState", {"x": floats(2, 3, 4), "w": floats(3, 1, 3), "b": floats(3), "s": floats(2, 3, 2)},
     lambda t, x, w, b, s: t.nn.functional.silu(t.nn.functional.conv1d(t.cat([s, x], 2), w, b, groups=3)), opset=27,
     single=True, activation="silu")
bend = helper.make_graph([helper.make_node("Tanh", ["s"], ["r"])], "bend", [helper.make_empty_tensor_value_info("s")],
                         [helper.make_empty_tensor_value_info("r")])
case("flex_attention", "FlexAttention", QKV, lambda t, q, k, v: t.tanh(t.softmax(t.tanh(
    q @ k.repeat_interleave(2, 1).transpose(-1, -2) / 2**0.5), -1)) @ v.repeat_interleave(2, 1), domain="ai.onnx.preview",
     score_mod=bend, prob_mod=bend)
parts = lambda t, y: t.view_as_real(y)
whole = lambda t, x: t.view_as_complex(x.contiguous())
case("dft", "DFT", {"x": floats(2, 5, 3, 2)}, lambda t, x: parts(t, t.fft.fft(whole(t, x), 7, 1)),
     {"n": ints(7).reshape(()), "a": ints(1).reshape(())})
case("dft_of_real", "DFT", {"x": floats(2, 6, 1)}, lambda t, x: parts(t, t.fft.rfft(x[..., 0], dim=1)), onesided=1)
case("dft_inverse", "DFT", {"x": floats(5, 2)}, lambda t, x: parts(t, t.fft.ifft(whole(t, x), 4, 0)), {"n": ints(4).reshape(())},
     ["x", "n"], inverse=1)
for length in 6, 7:
    case(f"dft_to_real_{length}", "DFT", {"x": floats(2, 4, 2)},
         lambda t, x, n=length: t.fft.irfft(whole(t, x), n, 1)[..., None], {"n": ints(length).reshape(())}, ["x", "n"],
         inverse=1, onesided=1)
case("stft", "STFT", {"x": floats(2, 9, 1), "w": floats(4)},
     lambda t, x, w: parts(t, t.stft(x[..., 0], 4, 2, window=w, center=False, return_complex=True)).transpose(1, 2),
     {"step": ints(2).reshape(())}, ["x", "step", "w"])


def nodes(name, nodes, inputs, torch, known=None, **more):
    """A case of several nodes."""
    CASES[name] = Case(nodes, inputs, torch, known or {}, **more)


def regions(mode, samples, aligned, spread):
    """Of a 5 x 6 image; samples 0: as many as a region is large."""
    def torchs(t, x, mode=mode, samples=samples, aligned=aligned, corners=spread):
        from torchvision.ops import roi_align
        boxes = t.tensor(np.concatenate([[[0.0]] * len(corners), corners], 1))
        return roi_align(x, boxes, (2, 2), 0.5, samples or -1, aligned)
    case(f"roi_align_{samples}_{'half' if aligned else 'whole'}", "RoiAlign", {"x": floats(1, 2, 5, 6)}, torchs,
         {"v": spread, "b": np.zeros(len(spread), np.int64)}, output_height=2, output_width=2, sampling_ratio=samples,
         spatial_scale=0.5, mode=mode, coordinate_transformation_mode="half_pixel" if aligned else "output_half_pixel")


CORNERS = np.array([[1.0, 0.5, 9.0, 7.0], [-3.0, 2.0, 30.0, 3.0], [4.0, 4.0, 4.5, 5.0]])
for samples in 0, 2:
    for aligned in False, True:
        regions("avg", samples, aligned, CORNERS)
case("roi_align_max", "RoiAlign", {"x": floats(1, 2, 3, 3)}, lambda t, x: (x[:, :, :2, :2] * 0.25).amax((2, 3), True),
     {"v": np.array([[0.5, 0.5, 1.5, 1.5]]), "b": ints(0)}, sampling_ratio=1, mode="max")


def deform(name, inputs, **attributes):
    def torchs(t, x, w, o, b=None, m=None):
        from torchvision.ops import deform_conv2d
        return deform_conv2d(x, o, w, b, stride=(2, 1), padding=(1, 0), dilation=(1, 2), mask=m)
    case(name, "DeformConv", inputs, torchs, names=list(inputs), strides=[2, 1], pads=[1, 0, 1, 0], dilations=[1, 2], **attributes)


# x [2, 4, 4, 4], w [4, 2, 2, 2] in 2 groups: 3 x 2 places of 4 elements
deform("deform_conv", {"x": floats(2, 4, 4, 4), "w": floats(4, 2, 2, 2), "o": floats(2, 16, 3, 2) + 0.0005, "b": floats(4),
                               "m": floats(2, 8, 3, 2)}, group=2, offset_group=2)
deform("deform_conv_plain", {"x": floats(1, 2, 4, 4), "w": floats(3, 2, 2, 2), "o": floats(1, 8, 3, 2) + 0.0005})
UNPOOL = dict(kernel_shape=[2, 2], strides=[2, 2])
nodes("max_pool_and_unpool", [helper.make_node("MaxPool", ["x"], ["p", "i"], **UNPOOL), helper.make_node("MaxUnpool", ["p", "i"], ["y"], **UNPOOL)],
      {"x": floats(1, 2, 4, 4)}, lambda t, x: t.nn.functional.max_unpool2d(*t.nn.functional.max_pool2d(x, 2, return_indices=True), 2))
nodes("max_pool_beside_indices", [helper.make_node("MaxPool", ["x"], ["p", "i"], kernel_shape=[2], strides=[1]),
                                  helper.make_node("CastLike", ["i", "p"], ["f"]), helper.make_node("Mul", ["p", "f"], ["y"])],
      {"x": floats(1, 2, 4)}, lambda t, x: (lambda p, i: p * (i + t.tensor([[0], [4]])))(
          *t.nn.functional.max_pool1d(x, 2, 1, return_indices=True)))


def rounded(name, there, low, high, torch, known=None, **more):
    """There and back: a rounding's gradient is 1 where nothing was cut off."""
    def through(t, x):
        inside = t.where((x > low) & (x < high), x, x.detach())
        return inside + (torch(t, x) - inside).detach()
    nodes(name, there, {"x": np.array([-700.0, -3.7, -0.3, 0.1, 0.26, 0.9, 7.1, 900.0])}, through, known, kink=True, **more)


def cast_and_back(name, to, most):
    back = helper.make_node("Cast", ["q"], ["y"], to=11)
    rounded(f"cast_to_{name}", [helper.make_node("Cast", ["x"], ["q"], to=to), back], -most, most,
            lambda t, x: x.clamp(-most, most).to(getattr(t, name)).to(t.float64))


cast_and_back("float8_e4m3fn", 17, 448.0)
cast_and_back("float8_e5m2", 19, 57344.0)
nodes("cast_to_powers_of_two", [helper.make_node("Cast", ["x"], ["q"], to=24), helper.make_node("Cast", ["q"], ["y"], to=11)],
      {"x": np.array([-700.0, -3.7, -0.3, 0.1, 0.26, 0.9, 7.1, 900.0])},
      lambda t, x: x.abs() + (t.exp2(x.abs().log2().ceil()) - x.abs()).detach(), kink=True, opset=25)
LINEAR_CODE = {"s": np.float32(0.25), "z": np.uint8(3)}
rounded("quantize_and_back", [helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
                              helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"])], -0.75, 63.0,
        lambda t, x: ((x / 0.25).round() + 3).clamp(0, 255) * 0.25 - 0.75, LINEAR_CODE, single=True)


def normed_by_values(name, **attributes):
    """Batch norm by statistics of the graph's own, as exporters write weight standardization."""
    steps = [helper.make_node("ReduceMean", ["x", "axes"], ["m"], keepdims=0), helper.make_node("Mul", ["x", "x"], ["square"]),
             helper.make_node("ReduceMean", ["square", "axes"], ["q"], keepdims=0), helper.make_node("Mul", ["m", "m"], ["mm"]),
             helper.make_node("Sub", ["q", "mm"], ["v"]),
             helper.make_node("BatchNormalization", ["x", "s", "b", "m", "v"], ["y"], epsilon=0.1, **attributes)]
    nodes(name, steps, {"x": floats(2, 3, 4), "s": floats(3), "b": floats(3)},
          lambda t, x, s, b: t.nn.functional.batch_norm(x, None, None, s, b, training=True, eps=0.1), {"axes": ints(0, 2)})


normed_by_values("batch_norm_by_values")
normed_by_values("batch_norm_by_values_in_training_mode", training_mode=1)

# com.microsoft's, with no gradient case of what they are made of.
MS = dict(domain="com.microsoft", opset=21)


def heads_of(t, q, k, v, heads, keys=0, bias=0):
    part = lambda x, n: x.reshape(x.shape[0], x.shape[1], n, -1).transpose(1, 2)
    q, k, v = part(q, heads), part(k, keys or heads), part(v, keys or heads)
    if keys:
        k, v = k.repeat_interleave(heads // keys, 1), v.repeat_interleave(heads // keys, 1)
    p = t.softmax(q @ k.transpose(-1, -2) / q.shape[-1]**0.5 + bias, -1)
    return (p @ v).transpose(1, 2).reshape(q.shape[0], q.shape[2], -1)


def turned_by(t, x, heads):
    """Half a head apart, by the tables below."""
    x = x.reshape(1, 3, heads, 4)
    cos, sin = (t.tensor(table.astype(float))[:3, None] for table in TURNS.values())
    a, b = x[..., :2], x[..., 2:]
    return t.cat([a * cos - b * sin, a * sin + b * cos], -1).reshape(1, 3, -1)


TURNS = {"cos": np.cos(floats(4, 2)).astype(np.float32), "sin": np.sin(floats(4, 2)).astype(np.float32)}
CAUSAL = lambda t: t.zeros(3, 3).masked_fill(~t.ones(3, 3, dtype=bool).tril(), -t.inf)
case("ms_attention", "Attention", {"x": floats(1, 3, 4), "w": floats(4, 12), "b": floats(12)},
     lambda t, x, w, b: heads_of(t, *(x @ w + b).chunk(3, -1), 2, bias=CAUSAL(t)), num_heads=2, unidirectional=1, **MS)
case("ms_multi_head_packed", "MultiHeadAttention", {"x": floats(1, 3, 2, 3, 2)},
     lambda t, x: heads_of(t, *(x[:, :, :, i].flatten(2) for i in range(3)), 2), num_heads=2, **MS)
SCORES = floats(1, 2, 3, 2)  # a bias that is trained is written out, see contrib_test.py
case("ms_multi_head_bias", "MultiHeadAttention", {"x": floats(1, 3, 4), "k": floats(1, 2, 4), "v": floats(1, 2, 4), "b": floats(12)},
     lambda t, q, k, v, b: heads_of(t, q + b[:4], k + b[4:8], v + b[8:], 2, bias=t.tensor(SCORES)), {"s": SCORES},
     ["x", "k", "v", "b", "", "s"], num_heads=2, **MS)
GROUPS = {"x": floats(1, 3, 8), "k": floats(1, 3, 4), "v": floats(1, 3, 4)}
COUNTS = {"n": np.array([2], np.int32), "all": np.array(3, np.int32)}
case("ms_grouped", "GroupQueryAttention", GROUPS, lambda t, q, k, v: heads_of(
    t, turned_by(t, q, 2), turned_by(t, k, 1), v, 2, 1, CAUSAL(t)), {**COUNTS, **TURNS},
     ["x", "k", "v", "", "", "n", "all", "cos", "sin"], num_heads=2, kv_num_heads=1, do_rotary=1,
     single=True, **MS)


case("ms_rotary_from", "RotaryEmbedding", {"x": floats(1, 3, 8)}, lambda t, x: turned_by(t, x, 2), {"p": ints(0), **TURNS}, single=True, **MS)
case("ms_relative_bias", "RelativePositionBias", {"x": floats(4, 2)},
     lambda t, x: x[t.tensor([[0, 3, 3], [1, 0, 3], [1, 1, 0]])].permute(2, 0, 1)[None],
     {"q": ints(3).reshape(()), "k": ints(3).reshape(())}, is_bidirectional=1, max_distance=8, **MS)
case("ms_embed", "EmbedLayerNormalization", {"x": floats(4, 3), "p": floats(3, 3), "g": floats(3), "b": floats(3)},
     lambda t, x, p, g, b: t.nn.functional.layer_norm(x[t.tensor([[1, 1], [0, 3]])] + p[:2], (3,), g, b, 1e-3),
     {"i": np.array([[1, 1], [0, 3]], np.int32)}, ["i", "", "x", "p", "", "g", "b"], epsilon=1e-3, **MS)
case("ms_fused_conv", "FusedConv", {"x": floats(1, 2, 3, 3), "w": floats(2, 2, 2, 2), "b": floats(2), "z": floats(1, 2, 2, 2)},
     lambda t, x, w, b, z: t.nn.functional.leaky_relu(t.nn.functional.conv2d(x, w, b) + z, 0.2), activation="LeakyRelu",
     activation_params=[0.2], **MS)
case("ms_nhwc_conv", "NhwcConv", {"x": floats(1, 3, 3, 2), "w": floats(2, 2, 2, 2)},
     lambda t, x, w: t.nn.functional.conv2d(x.permute(0, 3, 1, 2), w.permute(0, 3, 1, 2)).permute(0, 2, 3, 1), **MS)
case("ms_fused_matmul", "FusedMatMul", {"x": floats(3, 2, 4), "b": floats(2, 2, 4)},
     lambda t, x, b: 0.5 * x.permute(1, 0, 2) @ b.transpose(1, 2), transBatchA=1, transB=1, alpha=0.5, **MS)
case("ms_skip_group_norm", "SkipGroupNorm", {"x": floats(1, 2, 2, 4), "g": floats(4), "b": floats(4), "s": floats(1, 2, 2, 4)},
     lambda t, x, g, b, s: t.nn.functional.silu(t.nn.functional.group_norm((x + s).permute(0, 3, 1, 2), 2, g, b, 1e-2)).permute(
         0, 2, 3, 1), groups=2, activation=1, epsilon=1e-2, **MS)
case("ms_bias_split_gelu", "BiasSplitGelu", {"x": floats(2, 4), "b": floats(4)},
     lambda t, x, b: (x + b)[:, :2] * t.nn.functional.gelu((x + b)[:, 2:]), **MS)
CODES = np.arange(16, dtype=np.uint8).reshape(2, 1, 8) * 17
case("ms_matmul_bits", "MatMulNBits", {"x": floats(2, 16)},
     lambda t, x: x @ t.tensor([[(i - 8) * s for i in r for _ in (0, 1)] for r, s in ((range(8), 0.5), (range(8, 16), 0.25))],
                               dtype=t.float64).T, {"w": CODES, "s": np.array([0.5, 0.25])}, K=16, N=2, bits=4, block_size=16, **MS)

# More steps than a chunk has, whose number divides nothing. Decays of the keys, and of the head; that many deltas need small keys.
SLOW = {"x": floats(1, 37, 4), "k": floats(1, 37, 2, low=-0.6, high=0.6), "v": floats(1, 37, 1)}
OF_KEYS, OF_HEAD = {"d": floats(1, 37, 2, low=-0.3, high=0)}, {"d": floats(1, 37, 1, low=-3, high=0)}
PART, FIRST = {"b": floats(1, 37, 1, low=0, high=1)}, {"s": floats(1, 1, 2, 1)}
linear_attention_cases("linear_attention_37", {"gated": OF_KEYS, "delta": {**FIRST, **PART}, "gated_delta": {**OF_HEAD, **PART}}, 1, SLOW)
linear_attention_cases("linear_attention_37_keys", {"gated_delta": {**FIRST, **OF_KEYS, **PART}}, 1, SLOW)
linear_attention_cases("linear_attention_37_head", {"gated": {**FIRST, **OF_HEAD}}, 1, SLOW)


def ends_by_data(t, x, w):
    """Three steps with these numbers, of five: what follows the end has no gradient."""
    for _ in range(5):
        if x.square().sum() > 60:
            break
        x = x * w + t.tanh(x)
    return x


UNTYPED = [onnx.ValueInfoProto(name=name) for name in ("a", "w", "end")]
STEP = helper.make_graph(
    [helper.make_node("Mul", ["a", "w"], ["aw"]), helper.make_node("Tanh", ["a"], ["t"]), helper.make_node("Add", ["aw", "t"], ["b"]),
     helper.make_node("ReduceSumSquare", ["b"], ["s"], keepdims=0), helper.make_node("LessOrEqual", ["s", "end"], ["on"])], "step",
    [helper.make_tensor_value_info("i", TensorProto.INT64, []), helper.make_tensor_value_info("go", TensorProto.BOOL, []), *UNTYPED],
    [helper.make_tensor_value_info("on", TensorProto.BOOL, []), onnx.ValueInfoProto(name="b"), *UNTYPED[1:]])
case("loop_until_of_data", "Loop", {"x": floats(4, low=0.5), "w": floats(4, low=1.2, high=2)}, ends_by_data,
     {"n": np.array(5, np.int64), "end": np.array(60.0)}, names=["n", "", "x", "w", "end"], body=STEP)


def branch(*nodes):
    return helper.make_graph(list(nodes), "branch", [], [onnx.ValueInfoProto(name="z")])


for name, limit in {"if_of_data": -1e3, "else_of_data": 1e3}.items():
    case(name, "If", {"x": floats(2, 3), "w": floats(3, 4), "v": floats(3, 4)},
         lambda t, x, w, v, limit=limit: t.tanh(x @ w) if x.sum() > limit else (x @ v).sin(), {"limit": np.array(limit)}, ["c"],
         then_branch=branch(helper.make_node("MatMul", ["x", "w"], ["a"]), helper.make_node("Tanh", ["a"], ["z"])),
         else_branch=branch(helper.make_node("MatMul", ["x", "v"], ["a"]), helper.make_node("Sin", ["a"], ["z"])))
    CASES[name].nodes[:0] = [helper.make_node("ReduceSum", ["x"], ["sum"], keepdims=0), helper.make_node("Greater", ["sum", "limit"], ["c"])]

case("stft_of_rows", "STFT", {"x": floats(2, 9), "w": floats(4)},
     lambda t, x, w: parts(t, t.stft(x, 4, 2, window=w, center=False, return_complex=True)).transpose(1, 2),
     {"step": ints(2).reshape(())}, ["x", "step", "w"])

# only the middle column of taps reads x
case("conv_of_padding", "Conv", {"x": floats(1, 2, 4, 3), "w": floats(2, 2, 3, 3)},
     lambda t, x, w: t.nn.functional.conv2d(x, w, padding=(2, 4), dilation=(2, 4)), pads=[2, 4, 2, 4], dilations=[2, 4])

BOUNDS = np.array([-3.0, -1.0, 0.0, 0.5, 1.0, 3.0, 6.0])


bound = lambda name, op, torch, known=None, opset=21, **attributes: case(
    f"{name}_at_its_bounds", op, {"x": BOUNDS}, torch, known, kink=True, opset=opset, **attributes)
bound("relu6", "Clip", lambda t, x: t.nn.functional.relu6(x), {"low": np.array(0.0), "high": np.array(6.0)})
bound("clamp_min", "Max", lambda t, x: x.clamp(min=0), {"low": np.array(0.0)})
bound("clamp_max", "Min", lambda t, x: x.clamp(max=1), {"high": np.array(1.0)})
bound("maximum", "Max", lambda t, x: t.maximum(x, t.zeros(7, dtype=x.dtype)), {"low": np.zeros(7)})
bound("hardsigmoid", "HardSigmoid", lambda t, x: t.nn.functional.hardsigmoid(x), alpha=1 / 6, beta=0.5)
bound("hardswish", "HardSwish", lambda t, x: t.nn.functional.hardswish(x), opset=22)
for op in "Elu", "Selu", "Celu":
    bound(op.lower(), op, lambda t, x, op=op.lower(): getattr(t.nn.functional, op)(x), opset=22)
bound("fmod", "Mod", lambda t, x: t.fmod(x, 0.7), {"b": np.array(0.7)}, fmod=1)
case("asinh_near_0", "Asinh", {"x": np.array([0.0, 0.001, -0.0001, 0.02])}, lambda t, x: t.asinh(x), kink=True)
case("atanh_near_its_bounds", "Atanh", {"x": np.array([0.0, 0.001, -0.0001, 0.99, -0.99])}, lambda t, x: t.atanh(x), kink=True)


def write():
    import torch
    numbers = {}
    for name, c in CASES.items():
        leaves = [torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in c.inputs.values()]
        y = c.torch(torch, *leaves)
        (y * torch.tensor(losses(y))).sum().backward()
        short = lambda t: [float(f"{v:.9g}") for v in t.reshape(-1).tolist()]
        gradients = [short(x.grad if x.grad is not None else torch.zeros_like(x)) for x in leaves]
        numbers[name] = {"shape": list(y.shape), "y": short(y.detach()), "gradients": gradients}
    with open(NUMBERS, "w") as file:
        file.write("{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in numbers.items()) + "\n}\n")


if __name__ == "__main__":
    write()
