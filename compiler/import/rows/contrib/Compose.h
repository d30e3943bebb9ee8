// SPDX-License-Identifier: Apache-2.0
// Helpers for rows that build other operators of ai.onnx and need known shapes.
#pragma once
#include "compiler/import/rows/Rows.h"
#include <variant>

namespace dlc::import {

/// Creates nodes of the newest opset in place of one node and imports them
/// immediately. Values are names, "" if omitted. After an error, which is
/// reported, no more nodes are created and all names are "".
class Composer {
public:
  explicit Composer(const Node &n) : n(n), label(nodeLabel(n.proto)) {}

  /// Adds a node and returns its first result.
  std::string add(const char *op, const std::vector<std::string> &inputs,
                  const Settings &settings = {}) {
    return addAll(op, inputs, settings, 1)[0];
  }
  std::vector<std::string> addAll(const char *op,
                                  const std::vector<std::string> &inputs,
                                  const Settings &settings, int results);

  std::string in(size_t i) const { return n.inputName(i); }
  /// Empty after an error, and for an omitted value.
  Shape shape(const std::string &value) const;
  bool isGood() const { return !failed; }

  std::string known(const HostTensor &value);
  std::string integers(std::vector<int64_t> values);
  std::string integers(std::vector<int64_t> values, Shape shape);
  /// 0, 1, ..., count - 1.
  static std::vector<int64_t> upTo(int64_t count);
  /// A scalar with the element type of `like`.
  std::string number(double value, const std::string &like);

  std::string reshape(const std::string &x, const Shape &shape);
  std::string transpose(const std::string &x, const std::vector<int64_t> &perm);
  std::string unsqueeze(const std::string &x, std::vector<int64_t> axes);
  std::string slice(const std::string &x, int64_t axis, int64_t start,
                    int64_t end);
  std::vector<std::string> split(const std::string &x, int64_t axis,
                                 std::vector<int64_t> sizes);
  std::string join(std::vector<std::string> values, int64_t axis);
  /// a + b, or the one that is not omitted.
  std::string sum(const std::string &a, const std::string &b);
  std::string asLong(const std::string &x);
  std::string castTo(const std::string &x, int onnxType);

  /// Sets the node's output i to this value.
  void give(size_t i, const std::string &value);
  LogicalResult done() const { return LogicalResult(mlir::failure(failed)); }
  template <typename... Args>
  LogicalResult fail(fmt::format_string<Args...> text, Args &&...args) {
    failed = true;
    return n.fail(text, std::forward<Args>(args)...);
  }

  const Node &n;

private:
  std::string made(const char *op);

  const std::string label;
  int count = 0;
  bool failed = false;
};

/// Reports an error if the node has one of these inputs.
LogicalResult refuseInputs(const Node &n, std::initializer_list<int> inputs);

} // namespace dlc::import
