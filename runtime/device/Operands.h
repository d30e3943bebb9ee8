// SPDX-License-Identifier: Apache-2.0
// The operands of a program's commands in the memory of its regions.
#pragma once

#include "runtime/device/Device.h"

namespace dlc {

// Bytes of a tensor including padding to the alignment that copies and
// libraries of devices prefer.
constexpr uint64_t alignedBytes(uint64_t bytes) {
  return (bytes + 255) / 256 * 256;
}

// `regions`: the address of each region of the plan.
inline Operand operandOf(const plan::Program &program, uint32_t buffer,
                         std::span<std::byte *const> regions) {
  const plan::Buffer &found = program.buffers(static_cast<int>(buffer));
  return {regions[found.region()] + found.offset(), &found.type()};
}

inline CommandSpec specOf(const plan::Program &program,
                          const plan::Command &command,
                          std::span<std::byte *const> regions) {
  CommandSpec spec{command, {}, {}};
  for (uint32_t id : command.inputs())
    spec.inputs.push_back(operandOf(program, id, regions));
  for (uint32_t id : command.outputs())
    spec.outputs.push_back(operandOf(program, id, regions));
  return spec;
}

} // namespace dlc
