// SPDX-License-Identifier: Apache-2.0
// Checks the values of a program's inputs.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/plan/plan.pb.h"

namespace dlc {

// Code::Usage, naming value and position, if an integer is outside the port's
// limit. `data` has `bytes` bytes of elements of `type`.
Status checkValues(const plan::Port &port, plan::DType type, const void *data,
                   uint64_t bytes);

} // namespace dlc
