// SPDX-License-Identifier: Apache-2.0
// Decides which initializers are trained.
#pragma once
#include "compiler/import/file/OnnxFile.h"
#include <map>

namespace dlc::import {

/// Regular expressions (Pattern.h, searched) over initializer names that
/// override the rules. `freeze` takes precedence over `train`.
struct RoleOverrides {
  std::vector<std::string> train, freeze;
};

/// Why the source may treat it differently, which becomes a warning.
enum class RoleDoubt {
  None,
  Values, // not trained because of its values (Formula)
  Number, // a scalar that is not trained, but may be learned
  Use,    // not trained: name and use are typical of buffers
  Name,   // trained, although its name is a buffer's
  Role,   // trained as an operand, which may be a buffer
};

/// An initializer's role in training.
struct Found {
  Role role;
  std::string reason; // "the weight of Conv '/c1/Conv'"
  RoleDoubt doubt = RoleDoubt::None;
  /// Remains a tensor of the program: frozen by an option, or a low-bit weight.
  bool isFrozen = false;
};

std::map<std::string, Role> rolesOf(const std::map<std::string, Found> &found);

/// Finds the role of every initializer. Trained are floating-point tensors that
/// are an operand of a Conv, Gemm, MatMul, norm or Gather (possibly through
/// Transpose, Reshape, Cast ... or joined with other weights), the bias added
/// to such a product, or scale or shift of a decomposed norm, or that are named
/// *.weight or *.bias or like module state in a torch export (class_token),
/// even if the name alone would suggest a buffer (NamedBuffers.h). A tensor of
/// one element is a constant of the source's text, except in torch's files
/// (LearnedNumbers.h). If the exporter recorded parameters and buffers (torch's
/// fx_node metadata), the record decides. In other files of torch, and among
/// Constant nodes next to initializers, a parameter that a product or a sum
/// reads may be a buffer (RoleDoubt::Role). In torch's files, values of a
/// formula are not trained even if recorded as parameters, since requires_grad
/// is not recorded, except for arithmetic progressions recorded as parameters.
Result<std::map<std::string, Found>> findRoles(const OnnxFile &file,
                                               const RoleOverrides &overrides);

} // namespace dlc::import
