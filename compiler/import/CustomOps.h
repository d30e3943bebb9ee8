// SPDX-License-Identifier: Apache-2.0
// Operators of shared libraries that --op-library names
// (runtime/plan/ops/dlc_op.h).
#pragma once
#include "compiler/import/rows/Rows.h"
#include "runtime/plan/ops/OpLibrary.h"
#include <deque>

namespace dlc::import {

class CustomOps {
  struct Loaded {
    std::string file, bytes;
    OpLibrary library;
  };

public:
  struct Found {
    const Loaded *library;
    const dlc_op *op;
  };
  /// Loads the libraries and runs their code. Code::Usage, naming the file, if
  /// one cannot be read or is not an operator library, if two have the same
  /// name, or if an operator is defined twice or by ONNX.
  static Result<CustomOps> load(const std::vector<std::string> &paths,
                                std::string device);

  /// Looks up an operator by operatorName; null if no library defines it.
  const Found *find(const std::string &op) const;
  /// Builds the call of `found` for the node and adds its libraries to `used`.
  LogicalResult import(const Node &node, const Found &found);
  /// Contents of the libraries in use, by file name in the artifact.
  const std::map<std::string, std::string> &used() const { return used_; }

private:
  Status add(const std::string &path);

  std::string device_;
  std::deque<Loaded> loaded_; // owns what `found_` points to
  std::map<std::string, Found> found_;
  std::map<std::string, std::string> used_;
};

} // namespace dlc::import
