// SPDX-License-Identifier: Apache-2.0
// Distinguishes learned scalars (temperatures, gains, gates) from given
// constants.
#pragma once
#include "compiler/import/roles/Branches.h"

namespace dlc::import {

/// How readers use a tensor of one element.
enum class NumberUse {
  Setting, // a limit, a ratio, a fill value of a mask ...
  Choice,  // an alternative to values: max, min, where
  Operand, // in arithmetic with values of the inputs
  Learned  // used as only learned scalars are
};

/// Learned: it is the only operand of functions that make a scale or share of
/// any number (exp of a logit scale, softplus, sigmoid of a gate), is added to
/// a product with such a scale (SigLIP's bias), or scales one side of the Add
/// that joins a branch with layers and the branch's input (ReZero, GIN).
/// Functions of it and of other constants are followed to their readers. Takes
/// constant time.
NumberUse numberUseOf(const std::string &value, const OnnxFile &file,
                      const ValueFlow &flow);

} // namespace dlc::import
