// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/diff/Diff.h"
#include "compiler/import/file/NodeView.h"
#include "compiler/import/file/OnnxFile.h"
#include "compiler/import/tensor/DataType.h"
#include "compiler/import/tensor/HostTensor.h"
#include "compiler/import/tensor/WeightStore.h"
#include "onnx-ml.pb.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/ranges.h>
#include <unordered_map>

namespace dlc::import {
namespace {

constexpr size_t kChunk = size_t(1) << 20; // elements compared per step

/// Adds the differences of a range of elements of two tensors.
void addPart(const Weight &a, const Weight &b, size_t first, size_t count,
             ValueDiff &diff) {
  const size_t size = sizeOf(a.dtype);
  const Weight x{a.dtype, {int64_t(count)}, a.at(first), count * size},
      y{b.dtype, {int64_t(count)}, b.at(first), count * size};
  if (areEqual(x, y))
    return;
  const HostTensor left = HostTensor::from(x, {}),
                   right = HostTensor::from(y, {});
  for (size_t i = 0; i < count; ++i) {
    if (std::memcmp(x.at(i), y.at(i), size) == 0)
      continue;
    ++diff.differing;
    const double p = left.number(int64_t(i)), q = right.number(int64_t(i)),
                 apart = std::abs(p - q);
    if (!std::isfinite(apart)) {
      ++diff.notFinite;
      continue;
    }
    const double largest = std::max(std::abs(p), std::abs(q));
    diff.absolute = std::max(diff.absolute, apart);
    if (largest > 0)
      diff.relative = std::max(diff.relative, apart / largest);
  }
}

/// "MatMul '/fc/MatMul'"
std::string titleOf(const onnx::NodeProto &node) {
  return fmt::format("{} '{}'", operatorName(node), nodeLabel(node));
}

/// "alpha = 1"; for tensors and graphs only the kind.
std::string textOf(const onnx::AttributeProto &attribute) {
  switch (attribute.type()) {
  case onnx::AttributeProto::INT:
    return fmt::format("{} = {}", attribute.name(), attribute.i());
  case onnx::AttributeProto::FLOAT:
    return fmt::format("{} = {}", attribute.name(), attribute.f());
  case onnx::AttributeProto::STRING:
    return fmt::format("{} = \"{}\"", attribute.name(), attribute.s());
  case onnx::AttributeProto::INTS:
    return fmt::format("{} = [{}]", attribute.name(),
                       fmt::join(attribute.ints(), ", "));
  case onnx::AttributeProto::FLOATS:
    return fmt::format("{} = [{}]", attribute.name(),
                       fmt::join(attribute.floats(), ", "));
  default:
    return fmt::format(
        "{} ({})", attribute.name(),
        onnx::AttributeProto::AttributeType_Name(attribute.type()));
  }
}

/// "FLOAT [n, 3]"
std::string textOf(const onnx::TypeProto &type) {
  if (!type.has_tensor_type())
    return "no tensor";
  const auto &tensor = type.tensor_type();
  std::vector<std::string> dims;
  for (const auto &dim : tensor.shape().dim())
    dims.push_back(dim.has_dim_value()   ? std::to_string(dim.dim_value())
                   : dim.has_dim_param() ? dim.dim_param()
                                         : "?");
  return fmt::format("{} [{}]", onnxTypeName(tensor.elem_type()),
                     fmt::join(dims, ", "));
}

std::string bytesOf(onnx::AttributeProto attribute) {
  attribute.clear_doc_string();
  return attribute.SerializeAsString();
}

class Differ {
public:
  Differ(const OnnxFile &a, const OnnxFile &b) : a(a), b(b) {}

  ModelDiff run() {
    compareInitializers();
    compareOpsets();
    compareValues("input", a.model->graph().input(), b.model->graph().input());
    compareValues("output", a.model->graph().output(),
                  b.model->graph().output());
    compareNodes();
    return std::move(diff);
  }

private:
  template <typename... Args>
  void graph(fmt::format_string<Args...> format, Args &&...args) {
    diff.graph.push_back(fmt::format(format, std::forward<Args>(args)...));
  }

  void compareInitializers() {
    std::map<std::string, const onnx::TensorProto *> others;
    for (const auto &tensor : b.model->graph().initializer())
      others[tensor.name()] = &tensor;
    for (const auto &tensor : a.model->graph().initializer()) {
      auto other = others.find(tensor.name());
      if (other == others.end()) {
        diff.onlyA.push_back(tensor.name());
        continue;
      }
      compareTensors(tensor, *other->second);
      others.erase(other);
    }
    for (const auto &[name, tensor] : others)
      diff.onlyB.push_back(name);
  }

  void compareTensors(const onnx::TensorProto &left,
                      const onnx::TensorProto &right) {
    const std::string &name = left.name();
    const Weight &x = *a.weights.find(name), &y = *b.weights.find(name);
    if (left.data_type() != right.data_type() || x.shape != y.shape) {
      diff.layout.push_back(fmt::format(
          "'{}' is {} [{}] in the first, {} [{}] in the second", name,
          onnxTypeName(left.data_type()), fmt::join(x.shape, ", "),
          onnxTypeName(right.data_type()), fmt::join(y.shape, ", ")));
      return;
    }
    ValueDiff value{name, onnxTypeName(left.data_type()), x.shape,
                    x.elements()};
    const size_t count = size_t(x.elements());
    for (size_t first = 0; first < count; first += kChunk)
      addPart(x, y, first, std::min(kChunk, count - first), value);
    if (value.differing)
      diff.values.push_back(std::move(value));
    else
      ++diff.equal;
  }

  void compareOpsets() {
    std::map<std::string, int64_t> left, right;
    for (const auto &opset : a.model->opset_import())
      left[opset.domain()] = opset.version();
    for (const auto &opset : b.model->opset_import())
      right[opset.domain()] = opset.version();
    if (left != right)
      graph("operator sets {} in the first, {} in the second", left, right);
  }

  template <typename Values>
  void compareValues(const char *what, const Values &left,
                     const Values &right) {
    if (left.size() != right.size())
      graph("{} {}s in the first, {} in the second", left.size(), what,
            right.size());
    for (int i = 0; i < std::min(left.size(), right.size()); ++i)
      if (left[i].name() != right[i].name())
        graph("{} {} is '{}' in the first, '{}' in the second", what, i,
              left[i].name(), right[i].name());
      else if (left[i].type().SerializeAsString() !=
               right[i].type().SerializeAsString())
        graph("{} '{}' has another type: {} in the first, {} in the second",
              what, left[i].name(), textOf(left[i].type()),
              textOf(right[i].type()));
  }

  static std::string keyOf(const onnx::NodeProto &node) {
    return node.output_size() ? node.output(0) : "";
  }

  void compareNodes() {
    std::unordered_map<std::string, const onnx::NodeProto *> others;
    for (const auto &node : b.model->graph().node())
      others[keyOf(node)] = &node;
    for (const auto &node : a.model->graph().node()) {
      auto other = others.find(keyOf(node));
      if (other == others.end()) {
        graph("{} is only in the first", titleOf(node));
        continue;
      }
      compareNode(node, *other->second);
      others.erase(other);
    }
    for (const auto &node : b.model->graph().node())
      if (others.count(keyOf(node)))
        graph("{} is only in the second", titleOf(node));
  }

  void compareNode(const onnx::NodeProto &left, const onnx::NodeProto &right) {
    if (left.op_type() != right.op_type() || left.domain() != right.domain()) {
      graph("{} is {} in the second", titleOf(left), titleOf(right));
      return;
    }
    if (left.name() != right.name())
      graph("{} is named '{}' in the second", titleOf(left), right.name());
    compareNames(left, "inputs", left.input(), right.input());
    compareNames(left, "outputs", left.output(), right.output());
    std::map<std::string, const onnx::AttributeProto *> others;
    for (const auto &attribute : right.attribute())
      others[attribute.name()] = &attribute;
    for (const auto &attribute : left.attribute()) {
      auto other = others.find(attribute.name());
      if (other == others.end())
        graph("{}: attribute {} is only in the first", titleOf(left),
              textOf(attribute));
      else if (bytesOf(attribute) != bytesOf(*other->second))
        graph("{}: attribute {} in the first, {} in the second", titleOf(left),
              textOf(attribute), textOf(*other->second));
      if (other != others.end())
        others.erase(other);
    }
    for (const auto &[name, attribute] : others)
      graph("{}: attribute {} is only in the second", titleOf(left),
            textOf(*attribute));
  }

  template <typename Names>
  void compareNames(const onnx::NodeProto &node, const char *what,
                    const Names &left, const Names &right) {
    if (!std::equal(left.begin(), left.end(), right.begin(), right.end()))
      graph("{} has {} ({}) in the first, ({}) in the second", titleOf(node),
            what, fmt::join(left, ", "), fmt::join(right, ", "));
  }

  const OnnxFile &a, &b;
  ModelDiff diff;
};

} // namespace

Result<ModelDiff> diffModels(const std::string &a, const std::string &b,
                             size_t budget) {
  DLC_ASSIGN(OnnxFile left, loadOnnx(a, Budget(budget)));
  DLC_ASSIGN(OnnxFile right, loadOnnx(b, Budget(budget)));
  return Differ(left, right).run();
}

} // namespace dlc::import
