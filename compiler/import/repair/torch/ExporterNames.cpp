// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/repair/torch/Restoring.h"
#include <algorithm>

namespace dlc::import {
namespace {

/// Operators of torch that folding may leave as the last: folded values are
/// named after them, with suffixes such as "_2". Modules rarely have a root
/// parameter with such a name, and names of others have a dot.
const std::unordered_set<std::string> kOperators = {"_to_copy",
                                                    "abs",
                                                    "add",
                                                    "addmm",
                                                    "alias",
                                                    "arange",
                                                    "bmm",
                                                    "broadcast_to",
                                                    "cat",
                                                    "chunk",
                                                    "clamp",
                                                    "clone",
                                                    "contiguous",
                                                    "conv1d",
                                                    "conv2d",
                                                    "conv3d",
                                                    "cos",
                                                    "cumsum",
                                                    "detach",
                                                    "div",
                                                    "einsum",
                                                    "embedding",
                                                    "eq",
                                                    "exp",
                                                    "expand",
                                                    "expand_as",
                                                    "eye",
                                                    "flatten",
                                                    "flip",
                                                    "full",
                                                    "full_like",
                                                    "gather",
                                                    "ge",
                                                    "getitem",
                                                    "gt",
                                                    "index",
                                                    "index_select",
                                                    "le",
                                                    "lift_fresh_copy",
                                                    "linspace",
                                                    "log",
                                                    "lt",
                                                    "masked_fill",
                                                    "matmul",
                                                    "maximum",
                                                    "mean",
                                                    "minimum",
                                                    "mm",
                                                    "movedim",
                                                    "mul",
                                                    "narrow",
                                                    "ne",
                                                    "neg",
                                                    "new_full",
                                                    "new_ones",
                                                    "new_zeros",
                                                    "norm",
                                                    "ones",
                                                    "ones_like",
                                                    "outer",
                                                    "pad",
                                                    "permute",
                                                    "pow",
                                                    "reciprocal",
                                                    "repeat",
                                                    "repeat_interleave",
                                                    "reshape",
                                                    "roll",
                                                    "rsqrt",
                                                    "rsub",
                                                    "select",
                                                    "sigmoid",
                                                    "sin",
                                                    "slice",
                                                    "softmax",
                                                    "softplus",
                                                    "split",
                                                    "sqrt",
                                                    "squeeze",
                                                    "stack",
                                                    "sub",
                                                    "sum",
                                                    "t",
                                                    "tanh",
                                                    "tile",
                                                    "to",
                                                    "transpose",
                                                    "tril",
                                                    "triu",
                                                    "type_as",
                                                    "unbind",
                                                    "unflatten",
                                                    "unsqueeze",
                                                    "view",
                                                    "where",
                                                    "zeros",
                                                    "zeros_like"};

bool isNumber(const std::string &text) {
  return !text.empty() &&
         text.find_first_not_of("0123456789") == std::string::npos;
}

} // namespace

std::string operatorOf(const std::string &value) {
  size_t mark = value.rfind('_');
  std::string op = mark != std::string::npos && isNumber(value.substr(mark + 1))
                       ? value.substr(0, mark)
                       : value;
  if (op.starts_with("split_split") || op.starts_with("getitem"))
    return "split";
  return kOperators.count(op) ? op : "";
}

bool isMadeUp(const TorchNotes &notes, const std::string &name) {
  if (notes.isParameterTarget(name) || notes.bufferTargets().count(name))
    return false;
  size_t output = name.rfind("_output_");
  return name.find("::") != std::string::npos || name.starts_with('/') ||
         name.starts_with("val_") || name.starts_with('_') || isNumber(name) ||
         name.starts_with("Constant") ||
         (output != std::string::npos && isNumber(name.substr(output + 8))) ||
         (notes.namesByOperator() && !operatorOf(name).empty());
}

} // namespace dlc::import
