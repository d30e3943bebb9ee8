// SPDX-License-Identifier: Apache-2.0
// --teacher: adds a second model to the one that is trained.
#pragma once

#include "compiler/import/Importer.h"

namespace dlc {

/// Imports the model at `path` and adds it to `model`: its @predict as
/// @teacher, its tensors as constants "teacher/NAME" whose data stays in its
/// file, its nodes as "teacher/NODE". Errors as in importOnnx.
Status addTeacher(mlir::MLIRContext &context, import::ImportedModel &model,
                  const std::string &path,
                  const import::ImportOptions &options);

} // namespace dlc
