// SPDX-License-Identifier: Apache-2.0
// A tensor in memory that the host can access.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/plan/plan.pb.h"

#include <cstddef>
#include <cstdint>

namespace dlc {

// Row-major. Both pointers belong to the executor.
struct TensorView {
  const plan::TensorType *type = nullptr;
  std::byte *data = nullptr;
  uint64_t bytes = 0;
};

// Failed if it is not a float scalar.
Result<double> scalarOf(const TensorView &view);

} // namespace dlc
