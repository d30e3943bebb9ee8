// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/bind/Declared.h"
#include "onnx-ml.pb.h"
#include "runtime/base/Text.h"

namespace dlc::import {
namespace {

/// nullopt if the file does not fix the type.
std::optional<ValueType> typeOf(const onnx::TypeProto &type) {
  bool isSequence = type.has_sequence_type();
  const onnx::TypeProto &tensor =
      isSequence ? type.sequence_type().elem_type() : type;
  if (!tensor.has_tensor_type() || !tensor.tensor_type().elem_type())
    return std::nullopt;
  return ValueType{tensor.tensor_type().elem_type(), isSequence};
}

bool fits(const onnx::TensorShapeProto &declared, const Shape &shape) {
  if (size_t(declared.dim_size()) != shape.size())
    return false;
  for (size_t i = 0; i < shape.size(); ++i)
    if (const auto &dim = declared.dim(int(i));
        dim.dim_value() > 0 && dim.dim_value() != shape[i])
      return false;
  return true;
}

} // namespace

Declared::Declared(const onnx::GraphProto &graph) {
  for (const auto *infos : {&graph.output(), &graph.value_info()})
    for (const auto &info : *infos)
      if (info.has_type())
        values[info.name()].push_back(&info);
}

Status Declared::check(const std::string &name, const ValueType &type,
                       const Shape &shape) {
  auto it = values.find(name);
  if (it == values.end())
    return {};
  for (const onnx::ValueInfoProto *info : it->second) {
    auto declared = typeOf(info->type());
    if (declared && *declared != type)
      return badModel("value '{}' is declared as {}, but has type {}",
                      printable(name), toString(*declared), toString(type));
    const auto &tensor = info->type().tensor_type();
    if (!type.isSequence && tensor.has_shape() &&
        !fits(tensor.shape(), shape) && stale++ == 0)
      firstStale = name;
  }
  return {};
}

std::string Declared::staleShapes() const {
  if (stale == 0)
    return "";
  return fmt::format("{} value{} of another shape than the file declares (the "
                     "first is '{}'); the computed shapes are used",
                     stale, stale > 1 ? "s are" : " is", printable(firstStale));
}

} // namespace dlc::import
