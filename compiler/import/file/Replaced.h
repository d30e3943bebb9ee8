// SPDX-License-Identifier: Apache-2.0
// Initializers of a file whose names or layouts in the program are different.
#pragma once
#include "compiler/import/tensor/WeightStore.h"
#include "runtime/base/Status.h"
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace dlc::import {

/// How one initializer of the file is computed from tensors of the program: its
/// pieces are concatenated in a tensor of shape `from`, transposed by `perm`
/// unless that is empty, and reshaped to `shape`.
struct Replaced {
  struct Piece {
    std::string tensor;
    int64_t first = 0, count = 0; // range of its elements
    std::vector<int64_t> shape;   // of the tensor when it was replaced
  };
  /// An input of a node (by the node's first output), with the old and new
  /// values.
  struct Use {
    std::string output;
    int slot = 0;
    std::string value, now;
  };

  std::string name;
  int type = 0; // ONNX's element type
  std::vector<int64_t> shape, from, perm;
  std::vector<Piece> pieces;
  std::vector<Use> uses;
};

struct Gathered {
  DType dtype = DType::F32; // type of the pieces
  std::string bytes;
};

/// Looks up a tensor of the program; its shape is not used.
using FindWeight = std::function<std::optional<Weight>(const std::string &)>;

/// Element type of the pieces; Code::Corrupt if a piece is missing or out of
/// bounds, or if shapes do not fit.
Result<DType> covers(const Replaced &replaced, const FindWeight &find);

/// Contents of a replaced initializer; errors are those of `covers`.
Result<Gathered> gather(const Replaced &replaced, const FindWeight &find);

} // namespace dlc::import
