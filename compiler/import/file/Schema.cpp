// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/file/Schema.h"
#include "onnx-ml.pb.h"
#include <algorithm>

namespace dlc::import {
namespace {
#include "compiler/import/file/Schemas.inc"
} // namespace

std::span<const SchemaParameter> Schema::inputs() const {
  return {kParameters + firstParameter, size_t(inputCount)};
}
std::span<const SchemaParameter> Schema::outputs() const {
  return {kParameters + firstParameter + inputCount, size_t(outputCount)};
}
std::span<const SchemaAttribute> Schema::attributes() const {
  return {kAttributes + firstAttribute, size_t(attributeCount)};
}

/// Schemas are sorted by operator, then by version.
const Schema *findSchema(std::string_view op, int64_t opset) {
  auto after = std::upper_bound(
      std::begin(kSchemas), std::end(kSchemas), std::pair(op, opset),
      [](const auto &wanted, const Schema &schema) {
        return wanted < std::pair(schema.op, int64_t(schema.since));
      });
  if (after == std::begin(kSchemas) || std::prev(after)->op != op)
    return nullptr;
  return std::prev(after);
}

int firstOpset(std::string_view op) {
  auto first = std::ranges::lower_bound(kSchemas, op, {}, &Schema::op);
  return first == std::end(kSchemas) || first->op != op ? 0 : first->since;
}

} // namespace dlc::import
