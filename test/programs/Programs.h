// SPDX-License-Identifier: Apache-2.0
// Ops without a kernel of their own, decomposed and fused as for a GPU, run by
// generated kernels and compared with the reference interpreter.
#pragma once

#include "test/codegen/Kernels.h"

namespace dlc::test {

/// Runs the one function of `text`, whose arguments are `inputs`, both ways.
/// Every result must be within `relative` of the interpreter's value, or of
/// the result's largest value times `ofLargest`. Returns what the kernels gave.
std::vector<Array> expectSameProgram(const std::string &text,
                                     const std::vector<Array> &inputs,
                                     double relative, double ofLargest);

} // namespace dlc::test
