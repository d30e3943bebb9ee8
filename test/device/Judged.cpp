// SPDX-License-Identifier: Apache-2.0
// The device that this program judges: the CPU.
#include "Fixture.h"

namespace dlc::test {

const double kSlack = 1;
const bool kAttendsInF32 = true;

std::optional<std::vector<Tensor>> runJudged(const Case &c, plan::DType type,
                                             int threads) {
  return run(c, type, threads);
}

} // namespace dlc::test
