// SPDX-License-Identifier: Apache-2.0
// The smallest part of a model that still fails.
#pragma once

#include "runtime/base/Status.h"
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace dlc::import {

/// Whether the model in this file fails as the whole does. An error ends the
/// reduction.
using ModelFails = std::function<Result<bool>(const std::string &path)>;
/// A part that fails, the smallest so far: the bytes of its file, and how many
/// nodes it has, Constants apart.
using OnSmaller = std::function<Status(const std::string &model, int nodes)>;

struct ModelReduction {
  int nodes = 0, left = 0, tries = 0;
  std::vector<std::string> labels; // of the nodes that are left
};

/// By nodes of the main graph: first those behind the failure are cut off by
/// bisection, then what it does not depend on, then those before it, then
/// ddmin (Ddmin.h) drops what is left. A tensor that is cut becomes an input,
/// of the type and shape that LearnTypes.h finds with `dims`. Of the result no
/// node can be left out. Code::Failed if a copy of the whole does not fail:
/// what makes it fail is then nothing that a part has.
Result<ModelReduction> reduceModel(const std::string &path,
                                   const std::map<std::string, int64_t> &dims,
                                   const ModelFails &fails,
                                   const OnSmaller &onSmaller);

} // namespace dlc::import
