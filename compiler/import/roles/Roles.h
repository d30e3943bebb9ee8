// SPDX-License-Identifier: Apache-2.0
// Which initializers are trained.
#pragma once
#include "compiler/import/file/OnnxFile.h"
#include <map>

namespace dlc::import {

/// Regular expressions (Pattern.h, searched) over initializer names that
/// override the rules. `freeze` wins over `train`.
struct RoleOverrides {
  std::vector<std::string> train, freeze;
};

/// What may be otherwise in the source, and is said in a warning.
enum class RoleDoubt {
  None,
  Values, // not trained for its values (Formula), in spite of name or use
  Number, // a number that is not trained, but may be learned
  Use,    // not trained, as name and use are a buffer's, and may be learned
  Name,   // trained, but only its name is a buffer's
  Role,   // trained, as an operand, which a buffer may be as well
};

/// What an initializer is to training.
struct Found {
  Role role;
  std::string reason; // "the weight of Conv '/c1/Conv'"
  RoleDoubt doubt = RoleDoubt::None;
  /// Stays a tensor of the program: frozen by an option, or a weight's codes.
  bool isFrozen = false;
};

std::map<std::string, Role> rolesOf(const std::map<std::string, Found> &found);

/// The role of every initializer. Trained: floating point and either an operand
/// of a Conv, Gemm, MatMul, norm or Gather (also through a Transpose, Reshape,
/// Cast ..., or joined with other weights), the bias added to such a product,
/// scale or shift of a norm that was written as several nodes, or named
/// *.weight or *.bias, or named like module state in a torch export
/// (class_token), also as buffers often are where nothing but the name says so
/// (NamedBuffers.h). One of one element is a number of the source's text but
/// for torch's files (LearnedNumbers.h). Where the exporter recorded parameters
/// and buffers (torch's fx_node metadata), that decides; other files of torch's
/// do not tell a parameter that a product or a sum reads from a buffer, nor do
/// Constant nodes beside initializers (RoleDoubt::Role). In a file of torch's,
/// numbers that are a formula's are not trained whatever the file says, as
/// requires_grad is not in it; but equal steps that it calls a parameter are.
Result<std::map<std::string, Found>> findRoles(const OnnxFile &file,
                                               const RoleOverrides &overrides);

} // namespace dlc::import
