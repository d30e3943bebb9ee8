// SPDX-License-Identifier: Apache-2.0
// --init: replaces the initial values of a model's weights.
#pragma once
#include "compiler/import/repair/options/InitKinds.h"
#include "compiler/import/roles/Roles.h"

namespace dlc::import {

struct InitOptions {
  /// --init=REGEX:KIND, or KIND (InitKinds.h) for all weights. The first rule
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
