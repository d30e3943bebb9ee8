// SPDX-License-Identifier: Apache-2.0
// Fresh values for a model's weights, before anything reads them.
#pragma once
#include "compiler/import/repair/options/InitKinds.h"
#include "compiler/import/roles/Roles.h"

namespace dlc::import {

struct InitOptions {
  /// --init=REGEX:KIND or KIND (InitKinds.h) for all; the first that matches a
  /// name counts, no match keeps the file's value.
  std::vector<std::string> rules;
  /// --seed=N
  int64_t seed = 0;
};

/// One rule, compiled by the reader of options.
struct InitRule {
  std::string pattern; // of names, searched; empty: all
  InitKind kind;

  /// Code::Usage says what of "REGEX:KIND" is wrong.
  static Result<InitRule> parse(const std::string &text);
};

/// Replaces the values of trained weights and running statistics by those that
/// the rules give. A random kind fills what has two or more dimensions, with
/// fans by how the graph uses it (Conv and Gemm with transB: [out, in], MatMul:
/// [in, out]); where it matches a vector, that becomes what an untrained layer
/// has there: ones for a norm's scale and variance, zeros for biases and means,
/// and what is neither stays. Returns how many; a summary ("xavier_uniform
/// 5, zeros 5") is a remark of the file. Code::Usage: a pattern that matches
/// nothing. The tensors of a new head (`head`, its weight first) start as
/// torch's Linear does, with a bias of zeros, unless a rule matches.
Result<int> initializeWeights(OnnxFile &file,
                              const std::map<std::string, Role> &roles,
                              const std::vector<std::string> &head,
                              const InitOptions &options);

} // namespace dlc::import
