// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cpu/Reference.h"

namespace dlc {

bool wantsReference(const CommandSpec &spec) {
  const auto wants = [](const Operand &operand) {
    return typeOf(operand) == plan::F64 || elements(operand) == 0;
  };
  for (const Operand &operand : spec.inputs)
    if (wants(operand))
      return true;
  for (const Operand &operand : spec.outputs)
    if (wants(operand))
      return true;
  return false;
}

} // namespace dlc
