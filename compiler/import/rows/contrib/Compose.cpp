// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/rows/contrib/Compose.h"
#include "onnx-ml.pb.h"
#include <fmt/format.h>
#include <numeric>

using namespace mlir;

namespace dlc::import {

std::string Composer::made(const char *op) {
  return n.table.unusedName(fmt::format("{}/{}#{}", label, op, count++));
}

std::vector<std::string>
Composer::addAll(const char *op, const std::vector<std::string> &inputs,
                 const Settings &settings, int results) {
  std::vector<std::string> names(results);
  if (failed)
    return names;
  for (std::string &name : names)
    name = made(op);
  const auto node = newNode(op, label + "/" + op, inputs, names, settings);
  n.table.useAll(node);
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
  n.table.use(value);
  failed = mlir::failed(n.table.importNode(
      newNode("Identity", label, {value}, {n.proto.output(int(i))})));
}

LogicalResult refuseInputs(const Node &n, std::initializer_list<int> inputs) {
  for (int i : inputs)
    if (n.has(i))
      return n.fail("input {} ('{}') is not supported", i, n.inputName(i));
  return success();
}

} // namespace dlc::import
