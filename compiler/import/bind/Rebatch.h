// SPDX-License-Identifier: Apache-2.0
// Another batch than the one that a file fixes: numbers in nodes that repeat
// the file's follow.
#pragma once
#include "compiler/import/rows/Rows.h"
#include <set>

namespace onnx {
class ValueInfoProto;
} // namespace onnx

namespace dlc::import {

class Rebatch {
public:
  /// Of a file that was exported for `from` rows in each of `inputs`.
  Rebatch(int64_t from, int64_t to, const std::vector<std::string> &inputs)
      : from(from), to(to), rows(inputs.begin(), inputs.end()) {}
  bool isNeeded() const { return !rows.empty(); }

  /// The node as it is for the new batch, with nodes of its own before it. An
  /// error for what takes one sample, or makes numbers for the file's batch.
  Result<std::vector<onnx::NodeProto>> adapted(const onnx::NodeProto &node,
                                               ValueTable &table);
  /// Whether an output that has `shape` lost the batch that the file gave it.
  bool isLost(const onnx::ValueInfoProto &output, const Shape &shape) const;
  /// What to do instead.
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
  std::set<std::string> rows; // values computed from the inputs
};

} // namespace dlc::import
