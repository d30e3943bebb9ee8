// SPDX-License-Identifier: Apache-2.0
// Initializers of a file that have another name or layout in its program.
#pragma once
#include "runtime/base/Status.h"
#include "runtime/base/numbers/DType.h"
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace dlc::import {

/// One initializer as the file has it: elements of tensors of the program, one
/// piece after the other as a tensor of shape `from`, transposed by `perm` if
/// that is not empty, in the shape `shape`.
struct Replaced {
  struct Piece {
    std::string tensor;
    int64_t first = 0, count = 0; // elements, in its order
    std::vector<int64_t> shape;   // of the tensor when it took the place
  };
  /// An input of a node, by the node's first output, what it was and is.
  struct Use {
    std::string output;
    int slot = 0;
    std::string value, now;
  };

  std::string name;
  int type = 0; // ONNX's number of its element type
  std::vector<int64_t> shape, from, perm;
  std::vector<Piece> pieces;
  std::vector<Use> uses;
};

/// A dense tensor in the caller's memory.
struct Elements {
  DType dtype = DType::F32;
  const void *data = nullptr;
  size_t bytes = 0;
};

struct Gathered {
  DType dtype = DType::F32; // of the pieces
  std::string bytes;
};

using FindElements =
    std::function<std::optional<Elements>(const std::string &)>;

/// The element type of its pieces; Code::Corrupt where a piece is missing or
/// out of bounds, or the shapes do not fit. `find` gives the tensors of the
/// program by name.
Result<DType> covers(const Replaced &replaced, const FindElements &find);

/// The contents of a replaced initializer; Code::Corrupt as `covers`.
Result<Gathered> gather(const Replaced &replaced, const FindElements &find);

} // namespace dlc::import
