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

/// "Conv", "com.microsoft.Gelu": the operator with its domain, but for ai.onnx.
std::string operatorName(const onnx::NodeProto &node);

/// A node with the opset it belongs to. A getter gives the default when the
/// attribute is absent; one of another type is remembered and reported by
/// `problem` after the node has been handled.
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
  /// Not ok when a getter met an attribute of another type.
  Status problem() const { return wrong; }

  const onnx::NodeProto &proto;
  const int64_t opset;

private:
  const onnx::AttributeProto *findTyped(const std::string &name,
                                        int type) const;
  mutable Status wrong;
};

} // namespace dlc::import
