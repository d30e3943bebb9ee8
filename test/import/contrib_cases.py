# SPDX-License-Identifier: Apache-2.0
"""Cases of contrib_test.py: operators of com.microsoft with the results of ONNX Runtime's CPU kernels, or of `expected` where it has none.

After a change: PYTHONPATH=test/support python test/import/contrib_cases.py, with onnxruntime, writes contrib.npz."""

import math
import os
from dataclasses import dataclass, field

import numpy as np
from onnx import TensorProto, helper, numpy_helper

NUMBERS = os.path.join(os.path.dirname(__file__), "contrib.npz")
MS = "com.microsoft"
random = np.random.default_rng(11)


@dataclass
class Case:
    op: str
    inputs: list  # arrays in order, None where one is left out
    known: set = field(default_factory=set)  # indices of initializers
    outputs: int = 1
    attributes: dict = field(default_factory=dict)
    expected: object = None  # function of the arrays, where ONNX Runtime has no kernel for CPUs
    step: float = 0.0  # by which a result may differ, beside rounding
    ends: list = None  # of samples: what follows is not compared


CASES = {}


def case(name, op, inputs, known=(), outputs=1, expected=None, step=0.0, ends=None, **attributes):
    CASES[name] = Case(op, list(inputs), set(known), outputs, attributes, expected, step, ends)


def model(case):
    """The node alone."""
    names = ["" if a is None else f"in{i}" for i, a in enumerate(case.inputs)]
    outputs = [f"out{i}" for i in range(case.outputs)]
    node = helper.make_node(case.op, names, outputs, "node", domain=MS, **case.attributes)
    infos = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
             for i, (n, a) in enumerate(zip(names, case.inputs)) if a is not None and i not in case.known]
    tensors = [numpy_helper.from_array(case.inputs[i], names[i]) for i in sorted(case.known)]
    graph = helper.make_graph([node], "g", infos, [helper.make_tensor_value_info(o, 0, None) for o in outputs], tensors)
    for info in graph.output:
        info.ClearField("type")
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid(MS, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def fed(case):
    return {f"in{i}": a for i, a in enumerate(case.inputs) if a is not None and i not in case.known}


def floats(*shape, low=-1.0, high=1.0):
    return np.round(random.uniform(low, high, shape), 2).astype(np.float32)


def bytes_(*shape, dtype=np.uint8):
    info = np.iinfo(dtype)
    return random.integers(info.min, info.max + 1, shape).astype(dtype)


def ints(*values, dtype=np.int32):
    return np.array(values, dtype)


def scalar(value, dtype=np.float32):
    return np.array(value, dtype)


# Attention: B 2, T 3, 2 heads of 4.
X, W, B = floats(2, 3, 8), floats(8, 24), floats(24)
case("attention", "Attention", [X, W, B], {1, 2}, num_heads=2)
case("attention_causal", "Attention", [X, W, B], {1, 2}, num_heads=2, unidirectional=1)
case("attention_sizes", "Attention", [X, floats(8, 20), floats(20)], {1, 2}, num_heads=2, qkv_hidden_sizes=[8, 8, 4], scale=0.3)
case("attention_keys", "Attention", [X, W, B, ints([1, 1, 0], [0, 0, 0])], {1, 2}, step=1e-3, num_heads=2)  # scores of -10000 are coarse
case("attention_keys_filter", "Attention", [X, W, B, ints([1, 1, 0], [1, 0, 1])], {1, 2}, num_heads=2, mask_filter_value=-2.0)
case("attention_keys_causal", "Attention", [X, W, B, ints([1, 1, 0], [0, 1, 1])], {1, 2}, num_heads=2, unidirectional=1)
case("attention_ends", "Attention", [X, W, B, ints(2, 3)], {1, 2}, num_heads=2)
case("attention_ends_starts", "Attention", [X, W, B, ints(2, 3, 0, 1)], {1, 2}, num_heads=2)
case("attention_mask_3d", "Attention", [X, W, B, ints(*np.tri(3).tolist())[None].repeat(2, 0)], {1, 2}, num_heads=2)
case("attention_bias", "Attention", [X, W, B, None, None, floats(1, 2, 3, 3)], {1, 2}, num_heads=2)
case("attention_past", "Attention", [X, W, B, ints([1, 1, 0, 1, 1], [1, 1, 1, 1, 0]), floats(2, 2, 2, 2, 4)], {1, 2}, 2,
     num_heads=2, unidirectional=1)
case("attention_present", "Attention", [X, W, B], {1, 2}, 2, num_heads=2)

Q, K, V, BIAS = floats(2, 3, 8), floats(2, 5, 8), floats(2, 5, 12), floats(28)
HEADS = dict(num_heads=2)
case("mha", "MultiHeadAttention", [Q, K, V], **HEADS)
case("mha_bias", "MultiHeadAttention", [Q, K, V, BIAS], {3}, **HEADS)
case("mha_keys", "MultiHeadAttention", [Q, K, V, None, ints([1, 1, 0, 1, 1], [1, 0, 1, 1, 0])], **HEADS)
case("mha_bias_and_keys", "MultiHeadAttention", [Q, K, V, None, ints([1, 1, 0, 1, 1], [1, 0, 1, 1, 0]), floats(1, 2, 3, 5)], **HEADS)
case("mha_score_bias", "MultiHeadAttention", [Q, K, V, None, None, floats(2, 1, 3, 5)], scale=0.25, **HEADS)
case("mha_own_heads", "MultiHeadAttention", [Q, floats(2, 2, 5, 4), floats(2, 2, 5, 4)], **HEADS)
case("mha_causal", "MultiHeadAttention", [Q, floats(2, 3, 8), floats(2, 3, 8)], unidirectional=1, **HEADS)
case("mha_past", "MultiHeadAttention",
     [Q, floats(2, 3, 8), floats(2, 3, 8), None, None, None, floats(2, 2, 2, 4), floats(2, 2, 2, 4)], outputs=3, **HEADS)
case("mha_present", "MultiHeadAttention", [Q, floats(2, 3, 8), floats(2, 3, 8)], outputs=3, **HEADS)
PACKED, KV = floats(2, 3, 2, 3, 4), floats(2, 5, 2, 2, 4)


def attend(q, k, v, heads):
    q, k, v = (a.reshape(a.shape[0], a.shape[1], heads, -1).transpose(0, 2, 1, 3) for a in (q, k, v))
    s = q @ k.transpose(0, 1, 3, 2) / np.sqrt(q.shape[-1])
    p = np.exp(s - s.max(-1, keepdims=True))
    y = (p / p.sum(-1, keepdims=True)) @ v
    return y.transpose(0, 2, 1, 3).reshape(y.shape[0], y.shape[2], -1)


case("mha_packed", "MultiHeadAttention", [PACKED], expected=lambda x: [attend(*(x[:, :, :, i] for i in range(3)), 2)], **HEADS)
case("mha_packed_keys", "MultiHeadAttention", [Q, KV], expected=lambda q, x: [attend(q, x[:, :, :, 0], x[:, :, :, 1], 2)], **HEADS)

# Grouped queries: 4 heads of 16 on 2 of keys.
GQ, GK, GV = floats(2, 3, 64), floats(2, 3, 32), floats(2, 3, 32)
COS, SIN = np.cos(floats(16, 8, high=3)), np.sin(floats(16, 8, high=3))
ALL, TOTAL = ints(2, 2), ints(3)
GROUPS = dict(num_heads=4, kv_num_heads=2)
PLAIN = [GQ, GK, GV, None, None, ALL, TOTAL]
ROTARY = dict(do_rotary=1, **GROUPS)
case("gqa", "GroupQueryAttention", PLAIN, {6}, 3, **GROUPS)
case("gqa_padded", "GroupQueryAttention", [GQ, GK, GV, None, None, ints(2, 1), TOTAL], {6}, 1,
     ends=[3, 2], **GROUPS)
case("gqa_packed", "GroupQueryAttention", [floats(2, 3, 128), None, None, None, None, ALL, TOTAL], {6}, 3, **GROUPS)
case("gqa_rotary", "GroupQueryAttention", [*PLAIN, COS, SIN], {6, 7, 8}, 3, **ROTARY)
case("gqa_rotary_pairs", "GroupQueryAttention", [*PLAIN, COS, SIN], {6, 7, 8}, 3, rotary_interleaved=1, **ROTARY)
case("gqa_rotary_packed", "GroupQueryAttention", [floats(2, 3, 128), None, None, None, None, ALL, TOTAL, COS, SIN], {6, 7, 8}, 3, **ROTARY)
case("gqa_scale_cap", "GroupQueryAttention", PLAIN, {6}, 1, scale=0.7, softcap=0.5, **GROUPS)
case("gqa_window", "GroupQueryAttention", PLAIN, {6}, 1, local_window_size=2, **GROUPS)
case("gqa_smooth", "GroupQueryAttention", PLAIN, {6}, 1, smooth_softmax=1, **GROUPS)
case("gqa_sink", "GroupQueryAttention", [*PLAIN, None, None, None, None, floats(4)], {6, 11}, 1, **GROUPS)
case("gqa_bias", "GroupQueryAttention", [*PLAIN, None, None, None, floats(1, 4, 3, 3)], {6}, 1, **GROUPS)
PAST = [floats(2, 2, 4, 16), floats(2, 2, 4, 16)]
case("gqa_past", "GroupQueryAttention", [GQ[:, :1], GK[:, :1], GV[:, :1], *PAST, ints(4, 4), ints(5)], {6}, 3, **GROUPS)
case("gqa_past_rotary", "GroupQueryAttention", [GQ[:, :1], GK[:, :1], GV[:, :1], *PAST, ints(4, 4), ints(5), COS, SIN], {6, 7, 8}, 3,
     **ROTARY)
case("gqa_past_several", "GroupQueryAttention", [GQ[:1], GK[:1], GV[:1], PAST[0][:1], PAST[1][:1], ints(6), ints(7), COS, SIN],
     {6, 7, 8}, 3, local_window_size=4, **ROTARY)


def normed_groups(q, k, v, ends, total, q_scale, k_scale):
    def rms(x, scale):
        x = x.reshape(*x.shape[:2], -1, 16)
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-3) * scale

    q, k, v = rms(q, q_scale), rms(k, k_scale).repeat(2, 2), v.reshape(2, 3, 2, 16).repeat(2, 2)
    s = np.einsum("bihd,bjhd->bhij", q, k) / 4 + np.where(np.tri(3), 0, -np.inf)
    p = np.exp(s - s.max(-1, keepdims=True))
    return [np.einsum("bhij,bjhd->bihd", p / p.sum(-1, keepdims=True), v).reshape(2, 3, -1)]


case("gqa_norm", "GroupQueryAttention", [*PLAIN, None, None, None, None, None, None, None, floats(16), floats(16)], {6, 14, 15}, 1,
     expected=normed_groups, qk_norm_epsilon=1e-3, **GROUPS)


def t5_bias(both, most):
    """T5's, of 8 buckets."""
    def one(distance):
        count, base = (4, 4 if distance < 0 else 0) if both else (8, 0)
        distance = abs(distance) if both else max(0, distance)
        if distance < count // 2:
            return base + distance
        large = math.log(distance / (count // 2)) / math.log(most / (count // 2)) * (count - count // 2)
        return base + min(count - 1, count // 2 + int(large))

    return lambda table, queries, keys: [np.array([[table[one(i - j)] for j in range(keys)] for i in range(queries)]).transpose(2, 0, 1)[None]]


case("rotary", "RotaryEmbedding", [floats(2, 2, 3, 16), ints([0, 1, 2], [5, 4, 9], dtype=np.int64), COS, SIN], {2, 3})
case("rotary_from", "RotaryEmbedding", [floats(2, 3, 32), ints(4, dtype=np.int64), COS, SIN], {2, 3})
case("rotary_part", "RotaryEmbedding", [floats(2, 3, 48), ints(1, dtype=np.int64), COS, SIN], {2, 3}, num_heads=2,
     rotary_embedding_dim=16, interleaved=1)
for name, both, most in ("both", 1, 16), ("before", 0, 12):
    case(f"relative_{name}", "RelativePositionBias", [floats(8, 2), scalar(20, np.int64), scalar(24, np.int64)], {1, 2},
         expected=t5_bias(both, most), is_bidirectional=both, max_distance=most)

IDS, TYPES = ints([3, 1, 4], [1, 5, 0]), ints([0, 0, 1], [0, 1, 1])
TABLES = [floats(6, 8), floats(5, 8), floats(2, 8), floats(8), floats(8)]
case("embed", "EmbedLayerNormalization", [IDS, TYPES, *TABLES, ints([1, 1, 0], [1, 1, 1])], {2, 3, 4, 5, 6}, 3)
case("embed_no_segments", "EmbedLayerNormalization",
     [IDS, None, TABLES[0], TABLES[1], None, TABLES[3], TABLES[4], None, ints([2, 3, 4], [0, 1, 2])], {2, 3, 5, 6}, 2, epsilon=1e-5)

SKIP = [floats(2, 3, 8), floats(2, 3, 8), floats(8), floats(8), floats(8)]
case("skip_norm", "SkipLayerNormalization", SKIP, {2, 3, 4}, epsilon=1e-3)
case("skip_norm_broadcast", "SkipLayerNormalization", [SKIP[0], floats(3, 8), SKIP[2]], {2})
case("skip_rms", "SkipSimplifiedLayerNormalization", [*SKIP[:3], SKIP[4]], {2, 3}, epsilon=1e-5)
for op in "BiasGelu", "FastGelu":
    case(op.lower(), op, [floats(2, 5, high=3), floats(5)], {1})
case("gelu", "Gelu", [floats(2, 5, high=3)])
case("quickgelu", "QuickGelu", [floats(2, 5, high=3)], alpha=1.5)


def norm(x, groups, scale, bias, epsilon):
    n, h, w, c = x.shape
    y = x.reshape(n, h * w, groups, c // groups)
    y = (y - y.mean((1, 3), keepdims=True)) / np.sqrt(y.var((1, 3), keepdims=True) + epsilon)
    return y.reshape(x.shape) * scale + bias


def swish(x):
    return x / (1 + np.exp(-x))


def gelu(x):
    return 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


case("group_norm", "GroupNorm", [floats(2, 3, 2, 4), floats(4), floats(4)], {1, 2},
     expected=lambda x, g, b: [swish(norm(x, 2, g, b, 1e-3))], groups=2, activation=1, channels_last=1, epsilon=1e-3)
case("group_norm_first", "GroupNorm", [floats(2, 4, 3, 2), floats(4), floats(4)], {1, 2}, groups=2, activation=0, channels_last=0,
     expected=lambda x, g, b: [norm(x.transpose(0, 2, 3, 1), 2, g, b, 1e-5).transpose(0, 3, 1, 2)])
case("skip_group_norm", "SkipGroupNorm", [floats(2, 3, 2, 4), floats(4), floats(4), floats(2, 1, 1, 4), floats(4)], {1, 2, 4}, 2,
     expected=lambda x, g, b, s, c: [norm(x + s + c, 2, g, b, 1e-5), x + s + c], groups=2, activation=0)
case("bias_add", "BiasAdd", [floats(2, 3, 4), floats(4), floats(2, 3, 4)], {1}, expected=lambda x, b, s: [x + b + s])
case("bias_split_gelu", "BiasSplitGelu", [floats(2, 3, 8), floats(8)], {1},
     expected=lambda x, b: [(x + b)[..., :4] * gelu((x + b)[..., 4:])])

IMAGE, WEIGHTS = floats(2, 4, 5, 6), floats(6, 2, 3, 3)
CONV = dict(pads=[1, 0, 1, 1], strides=[1, 2], group=2)
for activation, numbers in ("Relu", None), ("LeakyRelu", [0.2]), ("Clip", [-0.1, 0.4]), ("HardSigmoid", [0.3, 0.4]), ("Sigmoid", None), \
        ("Tanh", None):
    case(f"fused_conv_{activation.lower()}", "FusedConv", [IMAGE, WEIGHTS, floats(6)], {1, 2}, activation=activation,
         **({"activation_params": numbers} if numbers else {}), **CONV)
case("fused_conv_sum", "FusedConv", [IMAGE, WEIGHTS, floats(6), floats(2, 6, 5, 3)], {1, 2}, activation="Relu", **CONV)
A, M = floats(2, 3, 4, 5), floats(2, 3, 5, 2)
case("fused_matmul", "FusedMatMul", [A, M], alpha=0.5)
case("fused_matmul_swapped", "FusedMatMul", [A.swapaxes(2, 3), M.swapaxes(2, 3)], transA=1, transB=1)
case("fused_matmul_batch", "FusedMatMul", [A.transpose(2, 0, 1, 3), M.transpose(2, 0, 1, 3)], transBatchA=1, transBatchB=1)
case("fused_matmul_batch_swapped", "FusedMatMul", [A.transpose(3, 0, 1, 2), M.transpose(3, 0, 1, 2)], transBatchA=1, transBatchB=1,
     transA=1, transB=1)
case("fused_gemm", "FusedGemm", [floats(3, 4), floats(5, 4), floats(5)], {1, 2}, activation="LeakyRelu", activation_alpha=0.25,
     transB=1, alpha=2.0)
case("trilu", "Trilu", [floats(2, 3, 4), scalar(1, np.int64)], {1}, upper=0)
case("expand_dims", "ExpandDims", [floats(2, 3), scalar(-1, np.int32)], {1})
case("gather_nd", "GatherND", [floats(2, 3), ints([0, 1], [1, 2], dtype=np.int64)], {1})
case("pad", "Pad", [floats(2, 3), ints(0, 1, 1, 0, dtype=np.int64), scalar(2.5)], {1, 2}, mode="constant")
case("grid_sample", "GridSample", [floats(1, 2, 3, 3), floats(1, 2, 2, 2)], mode="bilinear", padding_mode="zeros", align_corners=0)

for bits, zeros in (4, "packed"), (4, "none"), (8, "none"), (4, "float"):
    blocks, size = 3, 16 * bits // 8
    zero = {"packed": bytes_(5, 2), "none": None, "float": floats(5, 3, low=6, high=9)}[zeros]
    case(f"matmul_{bits}_bits_{zeros}", "MatMulNBits", [floats(2, 3, 40), bytes_(5, blocks, size), floats(5, blocks), zero, None,
                                                       *([floats(5)] if bits == 8 else [])],
         {1, 2} | ({3} if zero is not None else set()) | ({5} if bits == 8 else set()), K=40, N=5, bits=bits, block_size=16)
for kind in 0, 1:
    case(f"matmul_bnb_{kind}", "MatMulBnb4", [floats(2, 32), bytes_(80), floats(10, low=0.1)], {1, 2}, K=32, N=5, block_size=16,
         quant_type=kind)
case("gather_blocks", "GatherBlockQuantized", [bytes_(6, 16), ints([0, 5], [2, 2]), floats(6, 2), bytes_(6, 1)], {0, 2, 3}, bits=4,
     block_size=16, gather_axis=0, quantize_axis=1)


# Of kernels for GPUs: formulas of ONNX Runtime's documents.
def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def tanh_gelu(x):
    return x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def gated_bias(query, query_bias, places, weight, bias, share, heads=2):
    b, t, width = query.shape
    q = (query + query_bias).reshape(b, t, heads, width // heads).transpose(0, 2, 1, 3)
    gates = 1 / (1 + np.exp(-(q @ weight + bias).reshape(b, heads, t, 2, -1).sum(-1)))
    return [(gates[..., :1] * (gates[..., 1:] * share - 1) + 2) * places]


case("bias_softmax", "BiasSoftmax", [floats(2, 3, 4, 5), floats(2, 1, 1, 5)], expected=lambda x, b: [softmax(x + b)], axis=3,
     is_inner_broadcast=1)
case("bias_softmax_flat", "BiasSoftmax", [floats(2, 3, 4), floats(1, 3, 4)], axis=1, is_inner_broadcast=0,
     expected=lambda x, b: [softmax((x + b).reshape(2, 12)).reshape(2, 3, 4)])
case("gemm_fast_gelu", "GemmFastGelu", [floats(2, 3, 4), floats(4, 5), floats(5)], {1, 2},
     expected=lambda x, w, b: [tanh_gelu(x @ w + b)])
case("matmul_activation", "FusedMatMulActivation", [floats(2, 4, 3), floats(4, 5)], transA=1, alpha=0.5, activation="LeakyRelu",
     activation_alpha=0.1, expected=lambda a, b: [np.where((y := 0.5 * a.transpose(0, 2, 1) @ b) > 0, y, 0.1 * y)])
case("matmul_softmax", "FusedMatMulActivation", [floats(2, 3, 4), floats(4, 5)], activation="Softmax", activation_axis=-1,
     expected=lambda a, b: [softmax(a @ b)])
case("gated_bias", "GatedRelativePositionBias", [floats(2, 3, 8), floats(8), floats(1, 2, 3, 3), floats(4, 6), floats(6), floats(1, 2, 1, 1)],
     {3, 4}, num_heads=2, expected=gated_bias)


def write():
    import onnxruntime as ort

    arrays = {}
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    for name, c in CASES.items():
        if c.expected:
            results = c.expected(*[a.astype(float) if a.dtype.kind == "f" else a for a in c.inputs if a is not None])
            results = [r.astype(np.float32) if r.dtype.kind == "f" else r for r in results]
        else:
            try:
                results = ort.InferenceSession(model(c).SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, fed(c))
            except Exception as error:
                print(name, str(error)[:200])
                continue
        for i, result in enumerate(results):
            arrays[f"{name}.{i}"] = result
    np.savez_compressed(NUMBERS, **arrays)
    print(len(arrays), os.path.getsize(NUMBERS), "bytes")


if __name__ == "__main__":
    write()
