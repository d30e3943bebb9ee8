"""The plain meaning of the inference ops of the dlc dialect, in numpy: runs what dlc-import prints."""

import math
import re

import ml_dtypes
import numpy as np

DTYPES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64, "i64": np.int64, "i32": np.int32,
          "i8": np.uint8, "u8": np.uint8, "i1": np.bool_, "bool": np.bool_}
erf = np.vectorize(math.erf, otypes=[np.float64])


def tensor_type(text):
    *dims, element = re.match(r"tensor<(.*)>", text).group(1).split("x")
    return [int(d) for d in dims], DTYPES[element]


def attributes(text):
    found = {}
    for item in re.finditer(r'([\w.]+)(?: = (array<i64(?:: ([-\d, ]*))?>|"([^"]*)"|([-+\w.]+)(?: : \w+)?))?(?:, |$)', text):
        name, whole, ints, string, number = item.groups()
        if whole is None:
            found[name] = True
        elif whole.startswith("array"):
            found[name] = [int(v) for v in (ints or "").split(",") if v.strip()]
        else:
            found[name] = string if string is not None else float(number) if re.search(r"[.E]", number) else int(number)
    return found


def constant(text):
    value, kind = re.match(r"dense<(.*)> : (.*)", text).groups()
    shape, dtype = tensor_type(kind)
    if value.startswith('"0x'):
        return np.frombuffer(bytes.fromhex(value[3:-1]), dtype).reshape(shape)
    words = re.findall(r"true|false|0x[0-9A-F]+|[-+.\deE]+", value)
    def number(word):
        if word.startswith("0x"):
            size = np.dtype(dtype).itemsize
            return np.frombuffer(int(word, 16).to_bytes(size, "little"), dtype)[0]
        return {"true": 1, "false": 0}.get(word, float(word) if dtype().dtype.kind == "f" else None) \
            if word in ("true", "false") or dtype().dtype.kind == "f" else int(word)
    values = np.array([number(w) for w in words], dtype)
    return np.full(shape, values[0]) if len(values) == 1 else values.reshape(shape)


def windows(x, a, kernel, fill):
    """Every window of a [N, C, H, W] input: [N, C, oh, ow, kh, kw]."""
    (t, l, b, r), (sh, sw), (dh, dw) = a["pads"], a["strides"], a["dilations"]
    x = np.pad(x, [(0, 0), (0, 0), (t, b), (l, r)], constant_values=fill)
    spans = [(k - 1) * d + 1 for k, d in zip(kernel, (dh, dw))]
    views = np.lib.stride_tricks.sliding_window_view(x, spans, (2, 3))
    return views[:, :, ::sh, ::sw, ::dh, ::dw]


def conv(a, x, w, bias=None):
    group = a.get("group", 1)
    xs = np.split(windows(x, a, w.shape[2:], 0), group, axis=1)
    ys = [np.einsum("ncabhw,ochw->noab", v, p, optimize=True) for v, p in zip(xs, np.split(w, group))]
    y = np.concatenate(ys, axis=1)
    return y if bias is None else y + bias[:, None, None]


def avg_pool(a, x):
    sums = windows(x, a, a["kernel"], 0).sum((-2, -1))
    ones = np.ones_like(x)
    if a.get("count_include_pad"):
        return sums / np.prod(a["kernel"])
    return sums / windows(ones, a, a["kernel"], 0).sum((-2, -1))


def matmul(a, x, y, bias=None):
    x = x.swapaxes(-1, -2) if a.get("trans_a") else x
    y = y.swapaxes(-1, -2) if a.get("trans_b") else y
    return x @ y if bias is None else x @ y + bias


def batch_norm(a, x, scale, bias, mean, var):
    def c(v):
        return v.reshape(1, -1, *[1] * (x.ndim - 2))
    return (x - c(mean)) / np.sqrt(c(var) + a["epsilon"]) * c(scale) + c(bias)


def layer_norm(a, x, scale, bias):
    axes = tuple(range(a["axis"], x.ndim))
    mean, var = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    rstd = 1 / np.sqrt(var + a["epsilon"])
    return (x - mean) * rstd * scale + bias, mean, rstd


def attention(a, q, k, v, mask=None):
    if a.get("layout") == "bthd":
        y, lse = attention({**a, "layout": "bhtd"}, *(x.swapaxes(1, 2) for x in (q, k, v)), mask)
        return y.swapaxes(1, 2), lse
    s = q @ k.swapaxes(2, 3) * q.dtype.type(a["scale"])
    if a.get("causal"):
        s = np.where(np.tril(np.ones(s.shape[2:], bool)), s, -np.inf)
    if mask is not None:
        s = np.where(mask, s, -np.inf) if mask.dtype == bool else s + mask
    top = s.max(3, keepdims=True)
    p = np.where(np.isneginf(top), 0, np.exp(s - np.where(np.isneginf(top), 0, top)))
    total = p.sum(3, keepdims=True)
    lse = np.where(total == 0, np.inf, top + np.log(total))
    return (p / np.where(total == 0, 1, total)).astype(q.dtype) @ v, lse


def softmax(a, x):
    e = np.exp(x - x.max(a["axis"], keepdims=True))
    return e / e.sum(a["axis"], keepdims=True)


def log_softmax(a, x):
    x = x - x.max(a["axis"], keepdims=True)
    return x - np.log(np.exp(x).sum(a["axis"], keepdims=True))


def gelu(a, x):
    if a.get("tanh"):
        return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    return 0.5 * x * (1 + erf(x / np.sqrt(2)))


def slice_(a, x):
    at = [s + np.arange(n) * k for s, n, k in zip(a["starts"], a["sizes"], a["steps"])]
    return x[np.ix_(*at)] if at else x


def pad(a, x):
    assert not any(a["interior"])
    return np.pad(x, list(zip(a["low"], a["high"])), constant_values=a["value"])


def cross_entropy(a, logits, labels):
    lse = np.log(np.exp(logits - logits.max(1, keepdims=True)).sum(1)) + logits.max(1)
    ignored = labels == a.get("ignore_index", None)
    picked = logits[np.arange(len(labels)), np.where(ignored, 0, labels)]
    return np.where(ignored, 0, lse - picked), lse


def divide(a, x, y):
    if x.dtype.kind == "f":
        return x / y
    return np.trunc(x / y.astype(np.float64)).astype(x.dtype)


def reduce(function):
    return lambda a, x: function(x, axis=tuple(a["axes"]), keepdims=a.get("keepdims", False))


OPS = {
    "neg": lambda a, x: -x, "abs": lambda a, x: np.abs(x), "sign": lambda a, x: np.sign(x),
    "floor": lambda a, x: np.floor(x), "ceil": lambda a, x: np.ceil(x), "round": lambda a, x: np.round(x),
    "exp": lambda a, x: np.exp(x), "log": lambda a, x: np.log(x), "sqrt": lambda a, x: np.sqrt(x),
    "rsqrt": lambda a, x: 1 / np.sqrt(x), "reciprocal": lambda a, x: 1 / x, "tanh": lambda a, x: np.tanh(x),
    "sigmoid": lambda a, x: 1 / (1 + np.exp(-x)), "relu": lambda a, x: np.maximum(x, 0),
    "erf": lambda a, x: erf(x), "sin": lambda a, x: np.sin(x), "cos": lambda a, x: np.cos(x),
    "softplus": lambda a, x: np.logaddexp(x, 0), "not": lambda a, x: ~x, "gelu": gelu,
    "add": lambda a, x, y: x + y, "sub": lambda a, x, y: x - y, "mul": lambda a, x, y: x * y, "div": divide,
    "pow": lambda a, x, y: np.power(x, y), "max": lambda a, x, y: np.maximum(x, y),
    "min": lambda a, x, y: np.minimum(x, y), "and": lambda a, x, y: x & y, "or": lambda a, x, y: x | y,
    "select": lambda a, c, x, y: np.where(c, x, y), "matmul": matmul, "conv": conv,
    "max_pool": lambda a, x: (windows(x, a, a["kernel"], -np.inf).max((-2, -1)), None), "avg_pool": avg_pool,
    "batch_norm_infer": batch_norm, "layer_norm": layer_norm,
    "attention": attention, "softmax": softmax, "log_softmax": log_softmax, "softmax_cross_entropy": cross_entropy,
    "reduce_sum": reduce(np.sum), "reduce_mean": reduce(np.mean), "reduce_max": reduce(np.max),
    "reduce_min": reduce(np.min),
    "argmax": lambda a, x: np.argmax(x, a["axes"][0], keepdims=a.get("keepdims", False)),
    "transpose": lambda a, x: x.transpose(a["perm"]), "slice": slice_, "pad": pad,
    "concat": lambda a, *x: np.concatenate(x, a["axis"]), "gather": lambda a, x, i: np.take(x, i, a["axis"]),
}
COMPARE = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
           "ge": np.greater_equal}


def shaped(op, a, operands, shape, dtype):
    """Ops whose result type is given."""
    if op == "iota":
        return np.broadcast_to(np.expand_dims(np.arange(shape[a["axis"]]), [d for d in range(len(shape)) if d != a["axis"]]), shape)
    x = operands[0]
    return {"reshape": lambda: x.reshape(shape), "broadcast": lambda: np.broadcast_to(x, shape),
            "cast": lambda: x.astype(dtype)}[op]()


def run(text, states, inputs):
    """The results of @predict by name; `inputs` by ONNX name."""
    values = {}
    head = re.search(r"func\.func @predict\((.*?)\)(?: -> .*)? \{\n", text)
    for name, key in re.findall(r'(%arg\d+): \S+ \{dlc\.name = "([^"]*)"', head.group(1)):
        values[name] = inputs[key]
    outputs = re.findall(r'dlc\.name = "([^"]*)"', text[head.end(1):head.end()])
    for line in text[head.end():].splitlines():
        line = line.strip()
        if line.startswith("return"):
            names = re.findall(r"%[\w#]+", line)
            return dict(zip(outputs, [values[n] for n in names]))
        results, op, rest = re.match(r"(.*?) = dlc\.(\w+) ?(.*)", line).groups()
        results = results.split(", ")
        if op == "constant":
            values[results[0]] = constant(rest)
            continue
        if op == "read":
            values[results[0]] = states[re.match(r'@"?([^"]*?)"? :', rest).group(1)]
            continue
        words, marked, types = re.match(r"(.*?)(?: \{(.*)\})? : (.*)", rest).groups() if "{" in rest else \
            (rest.split(" : ", 1)[0], None, rest.split(" : ", 1)[1])
        if op == "iota" and rest.startswith("{"):
            words, marked, types = "", *re.match(r"\{(.*)\} : (.*)", rest).groups()
        a = attributes(marked or "")
        operands = [values[n] for n in re.findall(r"%[\w#]+", words)]
        kinds = [tensor_type(t) for t in re.findall(r"tensor<[^>]*>", types.split("->")[1])]
        if op == "compare":
            found = COMPARE[words.split()[0]](*operands)
        elif op in OPS:
            found = OPS[op](a, *operands)
        else:
            found = shaped(op, a, operands, *kinds[0])
        found = found if isinstance(found, tuple) else (found,)
        for name, value, (shape, dtype) in zip(results, found, kinds):
            if value is not None:
                values[name] = np.asarray(value).astype(dtype)
                assert list(values[name].shape) == shape, f"{line}: computed {values[name].shape}"
    raise ValueError("no return")
