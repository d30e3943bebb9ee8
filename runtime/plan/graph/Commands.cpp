// SPDX-License-Identifier: Apache-2.0
#include "runtime/plan/graph/Commands.h"

#include "runtime/plan/Attributes.h"
#include "runtime/plan/Types.h"

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

int findLossCommand(const Program &program) {
  auto isSamePlace = [&](uint32_t a, uint32_t b) {
    const Buffer &x = program.buffers(static_cast<int>(a));
    const Buffer &y = program.buffers(static_cast<int>(b));
    return x.region() == y.region() && x.offset() == y.offset();
  };
  for (const Port &port : program.outputs())
    if (port.name() == "loss")
      for (int i = program.commands_size(); i-- > 0;) // scratch is used again
        for (uint32_t id : program.commands(i).outputs())
          if (isSamePlace(id, port.buffer()))
            return i;
  return INT32_MAX;
}

bool isFloating(const TensorType &type) {
  const auto dtype = dtypeOf(type.dtype());
  return dtype && isFloat(*dtype);
}

} // namespace dlc::plan
