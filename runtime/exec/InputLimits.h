// SPDX-License-Identifier: Apache-2.0
// What a program's inputs may hold.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/plan/plan.pb.h"

namespace dlc {

// Code::Usage, naming value and position, if an integer is not in the port's
// limit. Elements of `type` in `bytes` bytes.
Status checkValues(const plan::Port &port, plan::DType type, const void *data,
                   uint64_t bytes);

} // namespace dlc
