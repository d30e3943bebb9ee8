// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/rows/contrib/Compose.h"
#include "onnx-ml.pb.h"
#include <fmt/format.h>
#include <numeric>

using namespace mlir;

namespace dlc::import {

Composer::Composer(const Node &n)
    : n(n), label(n.proto.name().empty() ? n.proto.output(0) : n.proto.name()) {
}

std::string Composer::made(const char *op) {
  return n.table.unusedName(fmt::format("{}/{}#{}", label, op, count++));
}

std::vector<std::string> Composer::addAll(const char *op,
                                          std::vector<std::string> inputs,
                                          std::vector<Setting> settings,
                                          int results) {
  onnx::NodeProto node;
  node.set_op_type(op);
  node.set_name(label + "/" + op);
  for (const Setting &setting : settings) {
    auto *attribute = node.add_attribute();
    attribute->set_name(setting.name);
    if (auto *whole = std::get_if<int64_t>(&setting.value)) {
      attribute->set_type(onnx::AttributeProto::INT);
      attribute->set_i(*whole);
    } else if (auto *number = std::get_if<double>(&setting.value)) {
      attribute->set_type(onnx::AttributeProto::FLOAT);
      attribute->set_f(float(*number));
    } else if (auto *text = std::get_if<const char *>(&setting.value)) {
      attribute->set_type(onnx::AttributeProto::STRING);
      attribute->set_s(*text);
    } else {
      attribute->set_type(onnx::AttributeProto::INTS);
      for (int64_t i : std::get<std::vector<int64_t>>(setting.value))
        attribute->add_ints(i);
    }
  }
  std::vector<std::string> names(results);
  if (failed)
    return names;
  for (const std::string &input : inputs) {
    node.add_input(input);
    if (!input.empty())
      n.table.use(input);
  }
  for (std::string &name : names) {
    node.add_output(name = made(op));
    n.table.use(name);
  }
  failed = mlir::failed(n.table.importNode(node));
  return failed ? std::vector<std::string>(results) : names;
}

Shape Composer::shape(const std::string &value) const {
  RankedTensorType type =
      failed || value.empty() ? nullptr : n.table.type(value);
  return type ? Shape(type.getShape()) : Shape();
}

std::string Composer::known(const HostTensor &value) {
  if (failed)
    return "";
  std::string name = made("Constant");
  n.table.define(name, value);
  n.table.use(name); // until the import ends
  return name;
}

std::string Composer::integers(std::vector<int64_t> values) {
  return known(HostTensor::list(std::move(values)));
}

std::string Composer::integers(std::vector<int64_t> values, Shape shape) {
  HostTensor tensor = HostTensor::list(std::move(values));
  tensor.shape = std::move(shape);
  return known(tensor);
}

std::string Composer::number(double value, const std::string &like) {
  RankedTensorType type = failed ? nullptr : n.table.type(like);
  return type ? known(HostTensor::scalar(toDType(type.getElementType()), value))
              : "";
}

std::vector<int64_t> Composer::upTo(int64_t count) {
  std::vector<int64_t> all(size_t(std::max<int64_t>(0, count)));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

std::string Composer::asLong(const std::string &x) {
  return castTo(x, onnx::TensorProto::INT64);
}

std::string Composer::reshape(const std::string &x, const Shape &shape) {
  return add("Reshape", {x, integers(shape)});
}

std::string Composer::transpose(const std::string &x,
                                const std::vector<int64_t> &perm) {
  return add("Transpose", {x}, {{"perm", perm}});
}

std::string Composer::unsqueeze(const std::string &x,
                                std::vector<int64_t> axes) {
  return add("Unsqueeze", {x, integers(std::move(axes))});
}

std::string Composer::slice(const std::string &x, int64_t axis, int64_t start,
                            int64_t end) {
  return add("Slice",
             {x, integers({start}), integers({end}), integers({axis})});
}

std::vector<std::string> Composer::split(const std::string &x, int64_t axis,
                                         std::vector<int64_t> sizes) {
  const int results = int(sizes.size());
  return addAll("Split", {x, integers(std::move(sizes))}, {{"axis", axis}},
                results);
}

std::string Composer::join(std::vector<std::string> values, int64_t axis) {
  return add("Concat", std::move(values), {{"axis", axis}});
}

std::string Composer::sum(const std::string &a, const std::string &b) {
  return a.empty() ? b : b.empty() ? a : add("Add", {a, b});
}

std::string Composer::castTo(const std::string &x, int onnxType) {
  return add("Cast", {x}, {{"to", int64_t(onnxType)}});
}

void Composer::give(size_t i, const std::string &value) {
  if (failed || i >= n.outputs() || n.proto.output(int(i)).empty())
    return;
  onnx::NodeProto node;
  node.set_op_type("Identity");
  node.set_name(label);
  node.add_input(value);
  n.table.use(value);
  node.add_output(n.proto.output(int(i)));
  failed = mlir::failed(n.table.importNode(node));
}

LogicalResult refuseInputs(const Node &n, std::initializer_list<int> inputs) {
  for (int i : inputs)
    if (n.has(i))
      return n.fail() << "input " << i << " ('" << n.inputName(i)
                      << "') is not supported";
  return success();
}

} // namespace dlc::import
