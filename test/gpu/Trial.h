// SPDX-License-Identifier: Apache-2.0
// A command on fresh memory of the GPU.
#pragma once

#include "test/gpu/Facts.h"
#include "test/gpu/Gpu.h"

namespace dlc::test {

class Trial {
public:
  explicit Trial(const std::string &kind);

  // Inputs hold random numbers in [-1, 1).
  void in(plan::DType type, const std::vector<int64_t> &shape);
  void out(plan::DType type, const std::vector<int64_t> &shape);
  plan::Attribute &attribute(const char *name);
  void ints(const char *name, std::initializer_list<int64_t> values);

  const Operand &input(size_t i) const { return inputs_[i]; }
  const Operand &output(size_t i) const { return outputs_[i]; }

  Result<std::unique_ptr<Command>> bind();
  // Adds "us", "same_bytes" of five runs, "recorded_same_bytes" of three
  // launches of a recording ("not_recorded": why), or "missing", to `about`.
  Ordered measured(Ordered about);

private:
  Operand allocate(plan::DType type, const std::vector<int64_t> &shape);
  Result<std::string> bytesAfterARun(Command &command);
  Status measure(Ordered &about);
  Result<bool> recordedGives(Command &command, const std::string &bytes);

  plan::Command command_;
  std::vector<std::unique_ptr<plan::TensorType>> types_;
  std::vector<Operand> inputs_, outputs_;
};

} // namespace dlc::test
