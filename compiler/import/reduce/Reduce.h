// SPDX-License-Identifier: Apache-2.0
// Reduces a model to a minimal part that still fails.
#pragma once

#include "runtime/base/Status.h"
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace dlc::import {

/// Whether the model in this file fails like the whole. Errors are returned.
using ModelFails = std::function<Result<bool>(const std::string &path)>;
/// Called with each smaller failing model: the contents of its file, and the
/// number of its nodes, without Constants.
using OnSmaller = std::function<Status(const std::string &model, int nodes)>;

struct ModelReduction {
  int nodes = 0, left = 0, tries = 0;
  std::vector<std::string> labels; // of the remaining nodes
};

/// Removes nodes of the main graph: first those after the failure by bisection,
/// then those it does not depend on, then those before it, then others by
/// ddmin. A tensor whose producer is removed becomes an input of the type
/// and shape that learnTypes finds with `dims`. The result fails only with
/// all its nodes. Code::Failed if a copy of the whole model does not fail: then
/// the failure does not depend on the nodes.
Result<ModelReduction> reduceModel(const std::string &path,
                                   const std::map<std::string, int64_t> &dims,
                                   const ModelFails &fails,
                                   const OnSmaller &onSmaller);

} // namespace dlc::import
