// SPDX-License-Identifier: Apache-2.0
// Reads outputs of programs.
#pragma once

#include "runtime/exec/Executor.h"

namespace dlc::test {

// An output of the last run of the program; waits for it.
inline Result<TensorView> outputOf(Executor &executor, std::string_view program,
                                   std::string_view port) {
  DLC_TRY(executor.report(program));
  DLC_ASSIGN(const auto outputs, executor.readReport(program));
  for (const plan::Program &found : executor.plan().programs())
    for (int i = 0; found.name() == program && i < found.outputs_size(); ++i)
      if (found.outputs(i).name() == port)
        return outputs[static_cast<size_t>(i)];
  return failed("{} has no output '{}'", program, port);
}

} // namespace dlc::test
