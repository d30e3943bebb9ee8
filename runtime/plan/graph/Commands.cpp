// SPDX-License-Identifier: Apache-2.0
#include "runtime/plan/graph/Commands.h"

#include "runtime/plan/Attributes.h"
#include "runtime/plan/Types.h"

#include <algorithm>
#include <cstdint>

namespace dlc::plan {

std::string operationOf(const Command &command) {
  const std::string symbol = stringAttribute(command, "symbol", "");
  const size_t split = symbol.find('_');
  if (command.kind() != "kernel" || split == std::string::npos)
    return command.kind();
  std::string name = symbol.substr(split + 1);
  return name.substr(0, name.find("_flat"));
}

namespace {

bool isSamePlace(const Program &program, uint32_t a, uint32_t b) {
  const Buffer &x = program.buffers(static_cast<int>(a));
  const Buffer &y = program.buffers(static_cast<int>(b));
  return x.region() == y.region() && x.offset() == y.offset();
}

/// The last command before `end` that writes the memory of `buffer`; -1 if
/// there is none. Scratch is reused.
int findWriter(const Program &program, uint32_t buffer, int end) {
  while (end-- > 0)
    for (uint32_t id : program.commands(end).outputs())
      if (isSamePlace(program, id, buffer))
        return end;
  return -1;
}

uint64_t mostElements(const Program &program, const auto &ids) {
  uint64_t most = 0;
  for (uint32_t id : ids) {
    const TensorType &type = program.buffers(static_cast<int>(id)).type();
    most = std::max(most, checkedElements(type.shape()).value_or(0));
  }
  return most;
}

} // namespace

int findLossCommand(const Program &program) {
  int loss = -1;
  for (const Port &port : program.outputs())
    if (port.name() == "loss")
      loss = findWriter(program, port.buffer(), program.commands_size());
  if (loss < 0)
    return INT32_MAX;
  int rows = -1;
  for (uint32_t id : program.commands(loss).inputs())
    rows = std::max(rows, findWriter(program, id, loss));
  if (rows < 0)
    return loss;
  // The kernel of a gradient, as large as the logits, may compute the rows.
  const Command &maker = program.commands(rows);
  const bool isBackward =
      maker.kind() == "kernel" && mostElements(program, maker.outputs()) ==
                                      mostElements(program, maker.inputs());
  return isBackward ? rows - 1 : loss;
}

bool isFloating(const TensorType &type) {
  const auto dtype = dtypeOf(type.dtype());
  return dtype && isFloat(*dtype);
}

} // namespace dlc::plan
