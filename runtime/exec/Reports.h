// SPDX-License-Identifier: Apache-2.0
// Copies outputs of programs to the host, which may be ahead of the device.
#pragma once

#include "runtime/exec/Program.h"
#include "runtime/exec/TensorView.h"

namespace dlc {

class Reports {
public:
  static Result<std::unique_ptr<Reports>> create(Device &device,
                                                 const Program &program);

  // Copies the outputs of the run that was enqueued last.
  Status post();
  // All outputs of the oldest uncollected post(), in the program's order; waits
  // for its run. Usage if there is none.
  Result<std::span<const TensorView>> collect();

  // Whether outputs are read where the program wrote them, and are valid until
  // it writes them again; otherwise they are valid until the next post().
  bool areInPlace() const { return !readback_; }

private:
  std::vector<TensorView> views_;
  std::unique_ptr<Readback> readback_; // null: in place
};

} // namespace dlc
