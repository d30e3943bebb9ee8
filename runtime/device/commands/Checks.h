// SPDX-License-Identifier: Apache-2.0
// What every kind of command checks before it is bound, on any device.
#pragma once

#include "runtime/device/Device.h"

#include <initializer_list>

namespace dlc {

using Shape = std::vector<int64_t>;

Shape shapeOf(const Operand &operand);
int64_t elements(const Operand &operand);
int64_t bytes(const Operand &operand);
int64_t elementSize(plan::DType type);
inline plan::DType typeOf(const Operand &operand) {
  return operand.type->dtype();
}

// "conv 'node_1'"; errors are that and ": <what>".
std::string describe(const CommandSpec &spec);
Status corrupt(const CommandSpec &spec, std::string_view what);
Status incompatible(const CommandSpec &spec, std::string_view what);

// Counts as the plan's README says; `inputs` already counts the optional
// operands that are present.
Status expectOperands(const CommandSpec &spec, size_t inputs, size_t outputs);

// A copy's: one operand and one result of as many bytes, the same memory or
// disjoint.
Status expectCopy(const CommandSpec &spec);

// `operand` has this shape; the message calls it `name`.
Status expectShape(const CommandSpec &spec, const Operand &operand,
                   const Shape &shape, std::string_view name);

// `operand` has one of these element types.
Status expectType(const CommandSpec &spec, const Operand &operand,
                  std::initializer_list<plan::DType> types,
                  std::string_view name);

// All operands, or those given, are f32, f16, bf16 or f64.
Status expectFloats(const CommandSpec &spec);
Status expectFloats(const CommandSpec &spec,
                    std::initializer_list<Operand> operands);

} // namespace dlc
