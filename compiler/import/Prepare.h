// SPDX-License-Identifier: Apache-2.0
// What the options make of a file before its nodes are built.
#pragma once
#include "compiler/import/Importer.h"
#include "compiler/import/file/OnnxFile.h"

namespace dlc::import {

/// The model at `path`, its parameters restored; `step` is what it says of its
/// own where the options ask for that.
Result<OnnxFile> load(const std::string &path, const ImportOptions &options,
                      std::optional<OwnStep> &step);

/// Another model in the same graph: a new head, weights of a file. Returns the
/// weights of the new head; says what was done as remarks at `at`.
Result<std::vector<std::string>>
adapt(OnnxFile &file, const ImportOptions &options, mlir::Location at);

/// What is trained, `head` in any case, and which rows get no gradient. Says
/// what was decided about the file's tensors as a remark and warnings at `at`.
Result<std::map<std::string, Found>>
decideRoles(OnnxFile &file, const ImportOptions &options,
            const std::vector<std::string> &head, mlir::Location at);

} // namespace dlc::import
