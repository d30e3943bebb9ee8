// Operators of libraries that the user names (--op-library,
// runtime/plan/ops/dlc_op.h).
#pragma once
#include "compiler/import/rows/Rows.h"
#include "runtime/plan/ops/OpLibrary.h"

namespace dlc::import {

class CustomOps {
public:
  /// Runs code of the libraries. Usage, naming the file: one that cannot be
  /// read or is no such library, two of one name, an operator that two have or
  /// that is ONNX's.
  static Result<CustomOps> load(const std::vector<std::string> &paths,
                                std::string device);

  /// By operatorName.
  bool knows(const std::string &op) const { return find(op).op; }
  /// Builds the node's call; its libraries are in `used` from then on.
  LogicalResult import(const Node &node);
  /// The libraries' bytes by their files in the artifact.
  const std::map<std::string, std::string> &used() const { return used_; }

private:
  struct Loaded {
    std::string file, bytes;
    OpLibrary library;
  };
  struct Found {
    const Loaded *library;
    const dlc_op *op;
  };

  Status add(const std::string &path);
  Found find(const std::string &name) const;

  std::string device_;
  std::vector<Loaded> loaded_;
  std::map<std::string, std::string> used_;
};

} // namespace dlc::import
