// SPDX-License-Identifier: Apache-2.0
// Typed access to a node's attributes.
#pragma once
#include "runtime/base/Status.h"
#include <cstdint>
#include <string>
#include <vector>

namespace onnx {
class AttributeProto;
class NodeProto;
} // namespace onnx

namespace dlc::import {

/// "Conv", "com.microsoft.Gelu": the operator, with a domain but ai.onnx.
std::string operatorName(const onnx::NodeProto &node);

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

} // namespace dlc::import
