// SPDX-License-Identifier: Apache-2.0
// What the operators that a folded value is named after do with a parameter.
#pragma once
#include "runtime/base/options/Pattern.h"
#include <fmt/format.h>
#include <set>
#include <string>

namespace dlc::import {

/// They make a constant.
inline const std::set<std::string> kCreators = {
    "arange",    "eye",      "full",       "full_like", "ones",
    "ones_like", "zeros",    "zeros_like", "tril",      "triu",
    "new_full",  "new_ones", "new_zeros",  "linspace",  "lift_fresh_copy",
    "detach",    "eq",       "ne",         "lt",        "le",
    "gt",        "ge"};
inline const std::set<std::string> kRepeaters = {
    "expand", "expand_as",    "broadcast_to", "embedding", "index",
    "gather", "index_select", "repeat",       "tile",      "repeat_interleave"};
/// They take rows of a table.
inline const std::set<std::string> kLookups = {"embedding", "gather", "index",
                                               "index_select"};
/// They take a part of a tensor, each of those at a place of its own.
inline const std::set<std::string> kCutters = {"chunk", "narrow", "select",
                                               "slice", "split",  "unbind"};
/// Each element is one of the parameter's, each of those at most once: training
/// the result is training the parameter.
inline const std::set<std::string> kMovers = {
    "_to_copy",  "alias",     "chunk",   "clone",     "contiguous",
    "flatten",   "flip",      "movedim", "narrow",    "permute",
    "reshape",   "roll",      "select",  "slice",     "split",
    "squeeze",   "t",         "to",      "transpose", "unbind",
    "unflatten", "unsqueeze", "view",    "stack",     "type_as"};

/// "one of 3 parameters (b.0.scale, ...)"
inline std::string among(const std::set<std::string> &names) {
  if (names.size() == 1)
    return *names.begin();
  return fmt::format("one of {} parameters ({}, ...)", names.size(),
                     *names.begin());
}

/// Parts of one parameter that are joined again, or a table of positions that
/// is moved: after an interpolation, mostly, of which a file has no note.
inline bool mayBeResized(const std::string &op, const std::string &parameter) {
  static const Pattern table = *Pattern::parse("(^|[._])pos($|[._e]|ition)");
  return op == "cat" || op == "stack" ||
         (!kCutters.count(op) && table.search(parameter));
}

} // namespace dlc::import
