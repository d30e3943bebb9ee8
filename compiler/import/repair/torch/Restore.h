// SPDX-License-Identifier: Apache-2.0
// Gives back the parameters of a model whose exporter folded and merged them.
#pragma once
#include "compiler/import/file/OnnxFile.h"

namespace dlc::import {

/// What a user says of a file's tensors.
struct RestoreOptions {
  /// --names: a .safetensors file that knows the names of the values
  /// (NamesByValue.h), or "".
  std::string names;
  /// --untie: weights that several modules read, each of which gets its own
  /// tensor, of the same values: "lm_head.weight". Given the name of the weight
  /// itself all are parted, given that of one reader's that one.
  std::vector<std::string> untied;
};

/// A file that has been loaded, restored.
Result<OnnxFile> restored(OnnxFile file, const RestoreOptions &options = {});

/// loadOnnx, restored.
Result<OnnxFile> loadRestored(const std::string &path, Budget budget,
                              const RestoreOptions &options = {});

/// Makes the trained tensors of a file those of its source model again, by
/// torch's notes where the file has them and by structure and value elsewhere:
/// initializers that were merged because their values are equal are parted,
/// zero biases that were dropped come back, and copies and folded expressions
/// of a parameter become the parameter and the expression. Each change is a
/// Decision of `file`; roles that follow are set there, too. Linear in the size
/// of the file. `file` must have been checked (sortedNodes); its nodes are
/// sorted anew.
/// Code::Usage for an --untie that names no weight of several modules.
Status restoreParameters(OnnxFile &file, const RestoreOptions &options = {});

} // namespace dlc::import
