// SPDX-License-Identifier: Apache-2.0
// Classes of operators that folded values are named after.
#pragma once
#include "runtime/base/options/Pattern.h"
#include <fmt/format.h>
#include <set>
#include <string>

namespace dlc::import {

/// Operators that create a constant.
inline const std::set<std::string> kCreators = {
    "arange",    "eye",      "full",       "full_like", "ones",
    "ones_like", "zeros",    "zeros_like", "tril",      "triu",
    "new_full",  "new_ones", "new_zeros",  "linspace",  "lift_fresh_copy",
    "detach",    "eq",       "ne",         "lt",        "le",
    "gt",        "ge"};
inline const std::set<std::string> kRepeaters = {
    "expand", "expand_as",    "broadcast_to", "embedding", "index",
    "gather", "index_select", "repeat",       "tile",      "repeat_interleave"};
/// Operators that select rows of a table.
inline const std::set<std::string> kLookups = {"embedding", "gather", "index",
                                               "index_select"};
/// Operators that take a part of a tensor, at different positions.
inline const std::set<std::string> kCutters = {"chunk", "narrow", "select",
                                               "slice", "split",  "unbind"};
/// Operators whose result only has elements of the parameter, each at most
/// once, so training the result is equivalent to training the parameter.
inline const std::set<std::string> kMovers = {
    "_to_copy",  "alias",     "chunk",   "clone",     "contiguous",
    "flatten",   "flip",      "movedim", "narrow",    "permute",
    "reshape",   "roll",      "select",  "slice",     "split",
    "squeeze",   "t",         "to",      "transpose", "unbind",
    "unflatten", "unsqueeze", "view",    "stack",     "type_as"};
/// Other operators that folding may leave as the last. Modules rarely have a
/// root parameter with such a name, and names of others have a dot.
inline const std::set<std::string> kComputing = {
    "abs",     "add",     "addmm",   "bmm",         "cat",    "clamp",
    "conv1d",  "conv2d",  "conv3d",  "cos",         "cumsum", "div",
    "einsum",  "exp",     "log",     "masked_fill", "matmul", "maximum",
    "mean",    "minimum", "mm",      "mul",         "neg",    "norm",
    "outer",   "pad",     "pow",     "reciprocal",  "rsqrt",  "rsub",
    "sigmoid", "sin",     "softmax", "softplus",    "sqrt",   "sub",
    "sum",     "tanh",    "where"};

/// "one of 3 parameters (b.0.scale, ...)"
inline std::string among(const std::set<std::string> &names) {
  if (names.size() == 1)
    return *names.begin();
  return fmt::format("one of {} parameters ({}, ...)", names.size(),
                     *names.begin());
}

/// The value joins parts of one parameter, or moves a table of positions,
/// usually after an interpolation, which the notes do not mention.
inline bool mayBeResized(const std::string &op, const std::string &parameter) {
  static const Pattern table = *Pattern::parse("(^|[._])pos($|[._e]|ition)");
  return op == "cat" || op == "stack" ||
         (!kCutters.count(op) && table.search(parameter));
}

} // namespace dlc::import
