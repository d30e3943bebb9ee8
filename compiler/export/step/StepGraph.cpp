// SPDX-License-Identifier: Apache-2.0
#include "compiler/export/step/StepGraph.h"
#include "onnx-ml.pb.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace mlir;

namespace dlc::exporter {
namespace {

void setType(onnx::ValueInfoProto &value, const std::string &name,
             RankedTensorType type) {
  value.set_name(name);
  auto &tensor = *value.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(onnxType(type.getElementType()));
  auto &shape = *tensor.mutable_shape();
  for (int64_t size : type.getShape())
    shape.add_dim()->set_dim_value(size);
}

/// The elements in the format of files.
std::string bytesOf(DenseElementsAttr value) {
  std::string bytes;
  if (value.getElementType().isInteger(1)) {
    for (bool element : value.getValues<bool>())
      bytes.push_back(element);
    return bytes;
  }
  ArrayRef<char> raw = value.getRawData();
  bytes.assign(raw.data(), raw.size());
  if (value.isSplat())
    for (int64_t i = 1; i < value.getNumElements(); ++i)
      bytes.append(raw.data(), raw.size());
  return bytes;
}

/// Longer constants of equal elements become one element and an Expand.
constexpr int64_t kMostRepeated = 64;

} // namespace

int32_t onnxType(Type element) {
  using T = onnx::TensorProto;
  if (element.isF16())
    return T::FLOAT16;
  if (element.isBF16())
    return T::BFLOAT16;
  if (isa<FloatType>(element))
    return element.isF64() ? T::DOUBLE : T::FLOAT;
  switch (element.getIntOrFloatBitWidth()) {
  case 1:
    return T::BOOL;
  case 8:
    return T::UINT8;
  case 32:
    return T::INT32;
  default:
    return T::INT64;
  }
}

std::string StepGraph::freeName(StringRef stem) {
  std::string name;
  do
    name = fmt::format("{}_{}", stem.str(), made++);
  while (!claim(name));
  return name;
}

std::string StepGraph::add(StringRef op, const Names &inputs,
                           const Settings &attributes) {
  std::string name = freeName(op);
  addAs(name, op, inputs, attributes);
  return name;
}

void StepGraph::addAs(const std::string &name, StringRef op,
                      const Names &inputs, const Settings &attributes) {
  *graph.add_node() =
      import::newNode(op.str(), name, inputs, {name}, attributes);
}

onnx::TensorProto &StepGraph::addTensor(const std::string &name, Type element,
                                        ArrayRef<int64_t> shape) {
  onnx::TensorProto &tensor = *graph.add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(onnxType(element));
  for (int64_t size : shape)
    tensor.add_dims(size);
  return tensor;
}

std::string StepGraph::constant(DenseElementsAttr value) {
  const auto type = llvm::cast<RankedTensorType>(value.getType());
  const Type element = type.getElementType();
  if (value.isSplat() && type.getNumElements() > kMostRepeated) {
    auto one = DenseElementsAttr::get(RankedTensorType::get({}, element),
                                      value.getSplatValue<mlir::Attribute>());
    return add("Expand", {constant(one), ints(type.getShape())});
  }
  const std::string bytes = bytesOf(value);
  std::string &name = constants[fmt::format(
      "{} {} {}", onnxType(element), fmt::join(type.getShape(), ","), bytes)];
  if (name.empty()) {
    name = freeName("constant");
    addTensor(name, element, type.getShape()).set_raw_data(bytes);
  }
  return name;
}

std::string StepGraph::ints(ArrayRef<int64_t> values) {
  auto type = RankedTensorType::get({int64_t(values.size())},
                                    IntegerType::get(context, 64));
  return constant(DenseElementsAttr::get(type, values));
}

std::string StepGraph::number(double value, Type element) {
  auto type = RankedTensorType::get({}, element);
  mlir::Attribute attribute;
  if (isa<FloatType>(element))
    attribute = FloatAttr::get(element, value);
  else
    attribute = IntegerAttr::get(element, int64_t(value));
  return constant(DenseElementsAttr::get(type, attribute));
}

void StepGraph::addState(const std::string &name, RankedTensorType type) {
  addTensor(name, type.getElementType(), type.getShape());
}
void StepGraph::addInput(const std::string &name, RankedTensorType type) {
  setType(*graph.add_input(), name, type);
}
void StepGraph::addOutput(const std::string &name, RankedTensorType type) {
  setType(*graph.add_output(), name, type);
}

std::string StepGraph::cast(const std::string &x, Type element) {
  return add("Cast", {x}, {{"to", int64_t(onnxType(element))}});
}

std::string StepGraph::reshape(const std::string &x, ArrayRef<int64_t> shape) {
  return add("Reshape", {x, ints(shape)}, {{"allowzero", 1}});
}

std::string StepGraph::transpose(const std::string &x, ArrayRef<int64_t> perm) {
  return add("Transpose", {x}, {{"perm", perm.vec()}});
}

std::string StepGraph::slice(const std::string &x, ArrayRef<int64_t> starts,
                             ArrayRef<int64_t> ends, ArrayRef<int64_t> steps) {
  const auto axes = llvm::to_vector(llvm::seq<int64_t>(0, starts.size()));
  return add("Slice", {x, ints(starts), ints(ends), ints(axes), ints(steps)});
}

std::string StepGraph::pad(const std::string &x, ArrayRef<int64_t> amounts,
                           const std::string &value) {
  if (llvm::all_of(amounts, [](int64_t n) { return n == 0; }))
    return x;
  return add("Pad", {x, ints(amounts), value});
}

} // namespace dlc::exporter
