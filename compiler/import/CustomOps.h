// SPDX-License-Identifier: Apache-2.0
// Operators of libraries that the user names (--op-library,
// runtime/plan/ops/dlc_op.h).
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
  /// Runs code of the libraries. Usage, naming the file: one that cannot be
  /// read or is no such library, two of one name, an operator that two have or
  /// that is ONNX's.
  static Result<CustomOps> load(const std::vector<std::string> &paths,
                                std::string device);

  /// By operatorName; null if no library has it.
  const Found *find(const std::string &op) const;
  /// Builds the node's call of that; its libraries are in `used` from then on.
  LogicalResult import(const Node &node, const Found &found);
  /// The libraries' bytes by their files in the artifact.
  const std::map<std::string, std::string> &used() const { return used_; }

private:
  Status add(const std::string &path);

  std::string device_;
  std::deque<Loaded> loaded_; // `found_` points there
  std::map<std::string, Found> found_;
  std::map<std::string, std::string> used_;
};

} // namespace dlc::import
