// SPDX-License-Identifier: Apache-2.0
// --teacher: a second model beside the one that trains.
#pragma once

#include "compiler/import/Importer.h"

namespace dlc {

/// Imports the model at `path` and adds it to `model`: its @predict as
/// @teacher, its tensors as constants "teacher/NAME" that stay in its file, its
/// nodes as "teacher/NODE". Failures as importOnnx has them.
Status addTeacher(mlir::MLIRContext &context, import::ImportedModel &model,
                  const std::string &path,
                  const import::ImportOptions &options);

} // namespace dlc
