// SPDX-License-Identifier: Apache-2.0
// Distributions of initial weights: torch.nn.init's, with Philox numbers.
#pragma once
#include "runtime/base/Status.h"
#include "runtime/base/numbers/DType.h"
#include <string>
#include <vector>

namespace dlc::import {

/// Numbers of inputs and outputs that a weight connects, as
/// torch.nn.init._calculate_fan_in_and_fan_out computes them.
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

  /// The kind draws random values, so it is meant for matrices.
  bool isRandom() const {
    return name != "zeros" && name != "ones" && name != "keep";
  }
};

/// Parses "kaiming_uniform" or "kaiming_uniform(2.236)". Code::Usage, with a
/// suggestion, for other text.
Result<InitKind> parseInitKind(const std::string &text);

/// A tensor to initialize. Values only depend on seed, name and element index.
struct InitTensor {
  std::string name;
  DType dtype = DType::F32; // a floating-point type
  std::vector<int64_t> shape;
  Fans fans; // for kinds that use them
};

/// Fans of a tensor of two or more dimensions in torch's layout [out, in,
/// receptive field...].
Fans fansOf(const std::vector<int64_t> &shape);

/// The tensor's elements, row-major. `kind` must not be keep.
std::string initialize(const InitKind &kind, const InitTensor &tensor,
                       uint64_t seed);

} // namespace dlc::import
