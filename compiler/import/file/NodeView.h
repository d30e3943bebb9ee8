// SPDX-License-Identifier: Apache-2.0
// Typed access to a node's attributes; which nodes compute and read values.
#pragma once
#include "compiler/import/tensor/OnnxMessages.h"
#include "runtime/base/Status.h"
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

namespace dlc::import {

/// The operator is of ai.onnx.
bool isCore(const onnx::NodeProto &node);
/// "Conv", "com.microsoft.Gelu": the operator, with a domain but ai.onnx.
std::string operatorName(const onnx::NodeProto &node);
/// The operator that one of dlc's ops is named after: "ReduceSum" for
/// "dlc.reduce_sum".
std::string operatorLike(std::string_view op);
/// The node's name, or else its first output.
std::string nodeLabel(const onnx::NodeProto &node);

/// Input `i`; "" if it is omitted.
std::string inputOf(const onnx::NodeProto &node, int i);

/// An attribute of a new node.
struct Setting {
  Setting(const char *name, int value) : Setting(name, int64_t(value)) {}
  Setting(const char *name, int64_t value) : name(name), value(value) {}
  Setting(const char *name, double value) : name(name), value(value) {}
  Setting(const char *name, const char *value) : name(name), value(value) {}
  Setting(const char *name, std::vector<int64_t> value)
      : name(name), value(std::move(value)) {}

  const char *name;
  std::variant<int64_t, double, const char *, std::vector<int64_t>> value;
};
using Settings = std::vector<Setting>;
void addAttributes(onnx::NodeProto &node, const Settings &settings);
/// A node of an operator as operatorName calls it.
onnx::NodeProto newNode(const std::string &op, const std::string &name,
                        const std::vector<std::string> &inputs,
                        const std::vector<std::string> &outputs,
                        const Settings &settings = {});
/// A Constant of this value.
onnx::NodeProto newConstant(const onnx::TensorProto &value,
                            const std::string &name, const std::string &output);

/// A node and the version of the opset that it belongs to. A getter returns the
/// default if the attribute is absent; a wrong type is recorded, and reported
/// by `problem` after the node was imported.
class NodeView {
public:
  NodeView(const onnx::NodeProto &proto, int64_t opset)
      : proto(proto), opset(opset) {}

  const onnx::AttributeProto *find(const std::string &name) const;
  bool has(const std::string &name) const { return find(name); }
  int64_t integer(const std::string &name, int64_t otherwise) const;
  double number(const std::string &name, double otherwise) const;
  std::string text(const std::string &name, const std::string &otherwise) const;
  std::vector<int64_t> integers(const std::string &name,
                                std::vector<int64_t> otherwise = {}) const;
  /// Not ok if a getter found an attribute of another type.
  Status problem() const { return wrong; }

  const onnx::NodeProto &proto;
  const int64_t opset;

private:
  const onnx::AttributeProto *findTyped(const std::string &name,
                                        int type) const;
  mutable Status wrong;
};

class ValueFlow {
public:
  /// Input `slot` of a node.
  struct Reader {
    const onnx::NodeProto *node;
    int slot;
  };

  void add(const onnx::NodeProto &node);
  /// Adds the node and those of its subgraphs.
  void addWithBodies(const onnx::NodeProto &node);

  /// Null for values that no node computes.
  const onnx::NodeProto *maker(const std::string &value) const;
  /// In the order in which nodes were added.
  std::span<const Reader> readers(const std::string &value) const;

private:
  std::unordered_map<std::string, const onnx::NodeProto *> makers;
  std::unordered_map<std::string, std::vector<Reader>> users;
};

} // namespace dlc::import
