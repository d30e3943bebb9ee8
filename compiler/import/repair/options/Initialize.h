// SPDX-License-Identifier: Apache-2.0
// --init: replaces the initial values of a model's weights.
#pragma once
#include "compiler/import/roles/Roles.h"
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

struct InitOptions {
  /// --init=REGEX:KIND, or KIND (InitKind) for all weights. The first rule
  /// that matches a name is applied; without a match the file's value is kept.
  std::vector<std::string> rules;
  /// --seed=N
  int64_t seed = 0;
};

/// One parsed rule.
struct InitRule {
  std::string pattern; // regular expression, searched in names; empty: all
  InitKind kind;

  /// Code::Usage describes the error in "REGEX:KIND".
  static Result<InitRule> parse(const std::string &text);
};

/// Replaces trained weights and running statistics according to the rules.
/// Random kinds apply to tensors of two or more dimensions, with fans by their
/// use in the graph (Conv and Gemm with transB: [out, in], MatMul: [in, out]);
/// a vector that matches a random kind gets the value of an untrained layer:
/// ones for a norm's scale and variance, zeros for biases and means; other
/// vectors are kept. Returns the number of tensors; a summary ("xavier_uniform
/// 5, zeros 5") is a remark of the file. Code::Usage for a pattern without
/// matches. Unless a rule matches, the new head (`head`, weight first) is
/// initialized like torch's Linear, with a zero bias.
Result<int> initializeWeights(OnnxFile &file,
                              const std::map<std::string, Role> &roles,
                              const std::vector<std::string> &head,
                              const InitOptions &options);

} // namespace dlc::import
