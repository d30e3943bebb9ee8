// The scalars that a program puts out, for a host that is ahead of the device.
#pragma once

#include "runtime/exec/Program.h"

namespace dlc {

class Reports {
public:
  // Of all outputs, which must be float scalars; else Failed.
  static Result<std::unique_ptr<Reports>> create(Device &device,
                                                 const Program &program);

  // Behind the run that was enqueued last.
  Status post() { return readback_->post(); }
  // The values of the oldest post() that was not collected, by output; waits
  // for its run. Usage if there is none.
  Status collect(std::span<double> values);

private:
  explicit Reports(std::vector<Operand> outputs)
      : outputs_(std::move(outputs)) {}

  std::vector<Operand> outputs_;
  std::unique_ptr<Readback> readback_;
  std::vector<std::byte> copy_; // of one report
};

// A float scalar.
Result<double> scalarOf(const plan::TensorType &type, const std::byte *data);

} // namespace dlc
