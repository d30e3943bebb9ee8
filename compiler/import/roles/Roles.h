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
  Operand // not trained: an operand in a file that is not torch's
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

/// Finds the role of every initializer. Floating-point tensors are trained if
/// - Conv, Gemm, MatMul, a norm or Gather reads them, maybe through Transpose,
///   Reshape, Cast, ... or joined with other weights,
/// - they are the bias added to such a product, or scale or shift of a
///   decomposed norm, or
/// - they are named *.weight or *.bias or, in a torch export, like module state
///   (class_token), unless name and use are those of a buffer (Evidence.h).
/// What the exporter recorded (torch's fx_node metadata) takes precedence,
/// except that in torch's files values of a formula are not trained, since
/// requires_grad is not recorded; recorded arithmetic progressions are.
///   Scalars, other than a layer's own tensors [1], are constants, except in
/// torch's files (Evidence.h). Without a record, a trained operand of a product
/// or sum may be a buffer (RoleDoubt::Role), in torch's files and in Constant
/// nodes; elsewhere what no layer reads is not trained (RoleDoubt::Operand).
Result<std::map<std::string, Found>> findRoles(const OnnxFile &file,
                                               const RoleOverrides &overrides);

/// Calls findRoles and findPaddings, and sets the tensors of a new head
/// (`head`) to trained. Uncertain roles become decisions of the file; a report
/// of all decisions becomes its remarks.
Result<std::map<std::string, Found>>
decideRoles(OnnxFile &file, const RoleOverrides &overrides,
            const std::vector<std::string> &paddings,
            const std::vector<std::string> &head);

} // namespace dlc::import
