// SPDX-License-Identifier: Apache-2.0
// Numbers that a model learns (temperatures, gains, gates) beside those that
// it was given.
#pragma once
#include "compiler/import/roles/Branches.h"

namespace dlc::import {

/// What its readers say of a tensor of one element.
enum class NumberUse {
  Setting, // a reader takes it as a limit, a ratio, what a mask fills in ...
  Choice,  // it takes the place of others: max, min, where
  Operand, // of arithmetic with what the inputs give
  Learned  // used as nothing is but what is learned
};

/// Learned: it goes alone through what maps any number to a scale or a share
/// (exp of a logit scale, softplus, sigmoid of a gate), or is added to what
/// such a scale multiplies (SigLIP's bias), or it scales one side of the Add
/// that joins a branch with layers to what that was made from (ReZero, GIN). A
/// function of it and of other known numbers is used as it is. Takes constant
/// time.
NumberUse numberUseOf(const std::string &value, const OnnxFile &file,
                      const ValueFlow &flow);

} // namespace dlc::import
