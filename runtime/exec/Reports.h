// SPDX-License-Identifier: Apache-2.0
// What a program puts out, for a host that may be ahead of the device.
#pragma once

#include "runtime/exec/Program.h"
#include "runtime/exec/TensorView.h"

namespace dlc {

class Reports {
public:
  static Result<std::unique_ptr<Reports>> create(Device &device,
                                                 const Program &program);

  // Of the run that was enqueued last.
  Status post();
  // All outputs of the oldest post() that was not collected, in the program's
  // order; waits for its run. Usage if none is on its way.
  Result<std::span<const TensorView>> collect();

  // Whether they are where the program wrote them and last until it is written
  // again; else until the next post().
  bool areInPlace() const { return !readback_; }

private:
  std::vector<TensorView> views_;
  std::unique_ptr<Readback> readback_; // null: in place
};

} // namespace dlc
