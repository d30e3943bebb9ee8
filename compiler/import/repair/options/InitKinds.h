// SPDX-License-Identifier: Apache-2.0
// The distributions of initial weights: torch.nn.init's formulas, on numbers
// from Philox.
#pragma once
#include "runtime/base/Status.h"
#include "runtime/base/numbers/DType.h"
#include <string>
#include <vector>

namespace dlc::import {

/// Inputs and outputs that a weight connects, as
/// torch.nn.init._calculate_fan_in_and_fan_out counts them.
struct Fans {
  int64_t in = 0, out = 0;
};

/// One of
///   xavier_uniform(gain = 1)  U(-b, b), b = gain sqrt(6 / (in + out))
///   xavier_normal(gain = 1)   N(0, s^2), s = gain sqrt(2 / (in + out))
///   kaiming_uniform(a = 0)    U(-b, b), b = sqrt(6 / ((1 + a^2) in))
///   kaiming_normal(a = 0)     N(0, s^2), s = sqrt(2 / ((1 + a^2) in))
///   trunc_normal(std = 1)     N(0, std^2) within [-2, 2]
///   orthogonal(gain = 1)      gain Q, orthonormal rows or columns
///   zeros, ones, keep
struct InitKind {
  std::string name;
  double argument = 0;

  /// Whether it is meant for matrices: all that are random.
  bool isRandom() const {
    return name != "zeros" && name != "ones" && name != "keep";
  }
};

/// "kaiming_uniform" or "kaiming_uniform(2.236)"; Code::Usage with a suggestion
/// otherwise.
Result<InitKind> parseInitKind(const std::string &text);

/// A tensor to fill. Its numbers depend on seed, name and element index alone.
struct InitTensor {
  std::string name;
  DType dtype = DType::F32; // a float type
  std::vector<int64_t> shape;
  Fans fans; // where the kind needs them
};

/// The fans of a tensor of torch's layout [out, in, receptive field...]; of two
/// or more dimensions.
Fans fansOf(const std::vector<int64_t> &shape);

/// Row-major bytes; `kind` is not keep.
std::string initialize(const InitKind &kind, const InitTensor &tensor,
                       uint64_t seed);

} // namespace dlc::import
