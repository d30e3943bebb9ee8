// SPDX-License-Identifier: Apache-2.0
// The cases of test/device on the third device.
#include "test/device/OnDevice.h"
#include "test/pretend/third_device/device/FakeDevice.h"

namespace dlc::test {

const double kSlack = 1;

std::optional<std::vector<Tensor>> runJudged(const Case &c, plan::DType type,
                                             int threads) {
  FakeDevice device(threads);
  auto inputs = makeInputs(c, type), outputs = makeOutputs(c, type);
  const Status status = runOn(device, c, inputs, outputs);
  EXPECT_TRUE(status.ok()) << status.message();
  return outputs;
}

} // namespace dlc::test
