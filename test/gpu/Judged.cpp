// SPDX-License-Identifier: Apache-2.0
// The cases of test/device on the GPU.
#include "test/device/OnDevice.h"
#include "test/gpu/Gpu.h"

#include <set>

namespace dlc::test {

// Sums in other orders, and convolutions by transformed tiles.
const double kSlack = 5;
const bool kAttendsInF32 = false;

// Activations, types and gradients that a library lacks are never asked of it
// by the compiler; what a library's version cannot do, or has no norm for on
// this GPU, its user is told.
std::optional<std::vector<Tensor>> runJudged(const Case &c, plan::DType type,
                                             int) {
  auto inputs = makeInputs(c, type), outputs = makeOutputs(c, type);
  const Status status = runOn(gpu(), c, inputs, outputs);
  const auto says = [&](const char *words) {
    return status.message().find(words) != std::string::npos;
  };
  const bool lacks = status.code() == Code::Incompatible &&
                     (says("has no activation") || says("cuDNN makes no F32") ||
                      says("update cuDNN") || says("--norm=generated"));
  static std::set<std::string> told;
  if (lacks && told.insert(status.message()).second)
    fmt::print("not compared: {}\n", status.message());
  EXPECT_TRUE(lacks || status.ok()) << status.message();
  if (!status.ok())
    return std::nullopt;
  return outputs;
}

} // namespace dlc::test
