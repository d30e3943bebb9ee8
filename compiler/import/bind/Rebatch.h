// SPDX-License-Identifier: Apache-2.0
// Changes the batch size that a file fixes, including constants in nodes that
// repeat it.
#pragma once
#include "compiler/import/rows/Rows.h"
#include "compiler/import/tensor/OnnxMessages.h"
#include <set>

namespace dlc::import {

class Rebatch {
public:
  /// For a file that was exported with `from` rows in each of `inputs`.
  Rebatch(int64_t from, int64_t to, const std::vector<std::string> &inputs)
      : from(from), to(to), rows(inputs.begin(), inputs.end()) {}
  bool isNeeded() const { return !rows.empty(); }

  /// The node for the new batch, preceded by nodes that it needs. An error for
  /// nodes that select one sample or generate values of the file's batch.
  Result<std::vector<onnx::NodeProto>> adapted(const onnx::NodeProto &node,
                                               ValueTable &table);
  /// Whether an output of this shape lacks the file's batch dimension.
  bool isLost(const onnx::ValueInfoProto &output, const Shape &shape) const;
  /// What to do if the batch cannot be changed.
  std::string advice() const;

private:
  bool isOfBatch(const std::string &name) const { return rows.count(name) > 0; }
  bool readsBatch(const onnx::NodeProto &node) const;
  Status adaptReader(onnx::NodeProto &node, ValueTable &table,
                     std::vector<onnx::NodeProto> &made);
  std::string shapeFor(const std::string &shape, ValueTable &table);
  std::string repeated(const onnx::NodeProto &node, int input, size_t axis,
                       ValueTable &table, std::vector<onnx::NodeProto> &made);

  int64_t from, to;
  std::set<std::string> rows; // values that depend on the inputs
};

} // namespace dlc::import
