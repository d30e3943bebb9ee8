// SPDX-License-Identifier: Apache-2.0
// Checks of commands before they are bound, shared by all devices.
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

// "conv 'node_1'"; errors begin with that and ": ".
std::string describe(const CommandSpec &spec);
Status corrupt(const CommandSpec &spec, std::string_view what);
Status incompatible(const CommandSpec &spec, std::string_view what);

// Checks the numbers of operands against the plan's README; `inputs` must
// include the optional operands that are present.
Status expectOperands(const CommandSpec &spec, size_t inputs, size_t outputs);

// Checks a copy: one operand and one result with the same number of bytes,
// which are the same memory or disjoint.
Status expectCopy(const CommandSpec &spec);

// Checks that `operand`, called `name` in the message, has this shape.
Status expectShape(const CommandSpec &spec, const Operand &operand,
                   const Shape &shape, std::string_view name);

// Checks that `operand` has one of these element types.
Status expectType(const CommandSpec &spec, const Operand &operand,
                  std::initializer_list<plan::DType> types,
                  std::string_view name);

// Checks that all operands, or those given, are f32, f16, bf16 or f64.
Status expectFloats(const CommandSpec &spec);
Status expectFloats(const CommandSpec &spec,
                    std::initializer_list<Operand> operands);

} // namespace dlc
