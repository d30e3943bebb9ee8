// SPDX-License-Identifier: Apache-2.0
// A call of an operator of a user's library, on any device.
#pragma once

#include "runtime/device/Device.h"
#include "runtime/plan/ops/OpLibrary.h"

namespace dlc {

class CustomCall {
public:
  // Finds the function for `device` ("cpu") and the command's attributes
  // `library` (a file of the artifact), `domain`, `op` and `backward`: Corrupt
  // if the library has no such operator, Incompatible if it has no code for the
  // device. The library belongs to `libraries`.
  static Result<CustomCall> make(const CommandSpec &spec,
                                 std::string_view device,
                                 OpLibraries &libraries);

  Status run(void *stream) { return call_.run(function_, name_, stream); }

private:
  std::string name_;
  OpCall call_;
  dlc_op_function function_ = nullptr;
};

} // namespace dlc
