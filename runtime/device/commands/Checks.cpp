// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/commands/Checks.h"
#include "runtime/plan/Attributes.h"
#include "runtime/plan/Types.h"

#include <algorithm>

namespace dlc {

Shape shapeOf(const Operand &operand) {
  return {operand.type->shape().begin(), operand.type->shape().end()};
}

int64_t elements(const Operand &operand) {
  int64_t count = 1;
  for (int64_t dim : operand.type->shape())
    count *= dim;
  return count;
}

int64_t bytes(const Operand &operand) {
  return static_cast<int64_t>(plan::bytesOf(*operand.type).value_or(0));
}

int64_t elementSize(plan::DType type) {
  const std::optional<DType> element = plan::dtypeOf(type);
  return element ? static_cast<int64_t>(sizeOf(*element)) : 0;
}

std::string describe(const CommandSpec &spec) {
  return plan::describe(spec.command);
}

Status corrupt(const CommandSpec &spec, std::string_view what) {
  return corrupt("{}: {}", describe(spec), what);
}

Status incompatible(const CommandSpec &spec, std::string_view what) {
  return incompatible("{}: {}", describe(spec), what);
}

Status expectOperands(const CommandSpec &spec, size_t inputs, size_t outputs) {
  if (spec.inputs.size() == inputs && spec.outputs.size() == outputs)
    return {};
  return corrupt(spec,
                 fmt::format("{} inputs and {} outputs, expected {} and {}",
                             spec.inputs.size(), spec.outputs.size(), inputs,
                             outputs));
}

Status expectShape(const CommandSpec &spec, const Operand &operand,
                   const Shape &shape, std::string_view name) {
  const Shape found = shapeOf(operand);
  if (found == shape)
    return {};
  return corrupt(spec,
                 fmt::format("the shape of {} is [{}], expected [{}]", name,
                             fmt::join(found, ","), fmt::join(shape, ",")));
}

static std::string nameOfType(plan::DType type) {
  const std::optional<DType> element = plan::dtypeOf(type);
  return std::string(element ? nameOf(*element) : "unknown");
}

Status expectType(const CommandSpec &spec, const Operand &operand,
                  std::initializer_list<plan::DType> types,
                  std::string_view name) {
  if (std::find(types.begin(), types.end(), typeOf(operand)) != types.end())
    return {};
  std::vector<std::string> expected;
  for (plan::DType type : types)
    expected.push_back(nameOfType(type));
  return incompatible(spec,
                      fmt::format("the element type of {} is {}, expected {}",
                                  name, nameOfType(typeOf(operand)),
                                  fmt::join(expected, " or ")));
}

Status expectCopy(const CommandSpec &spec) {
  DLC_TRY(expectOperands(spec, 1, 1));
  const Operand &from = spec.inputs[0], &to = spec.outputs[0];
  const int64_t size = bytes(from), room = bytes(to);
  if (size != room)
    return corrupt(spec, fmt::format("copies {} bytes to {}", size, room));
  if (from.data != to.data && from.data < to.data + size &&
      to.data < from.data + size)
    return corrupt(spec, "its buffers overlap");
  return {};
}

Status expectFloats(const CommandSpec &spec,
                    std::initializer_list<Operand> operands) {
  for (const Operand &operand : operands)
    DLC_TRY(expectType(spec, operand,
                       {plan::F32, plan::F16, plan::BF16, plan::F64},
                       "an operand"));
  return {};
}

Status expectFloats(const CommandSpec &spec) {
  for (const Operand &operand : spec.inputs)
    DLC_TRY(expectFloats(spec, {operand}));
  for (const Operand &operand : spec.outputs)
    DLC_TRY(expectFloats(spec, {operand}));
  return {};
}

} // namespace dlc
