// SPDX-License-Identifier: Apache-2.0
// An artifact's training step as an ONNX model: dlc export --step.
#pragma once

#include "compiler/export/Export.h"
#include "runtime/plan/Artifact.h"

namespace dlc {

/// Writes the step of the artifact's model.mlir with these states to `path`.
/// Code::Usage for what the artifact was compiled with and one graph cannot be;
/// Code::BadModel, with the op and its line in model.mlir, for what ONNX cannot
/// express; Code::Corrupt if a state is missing.
Status exportStep(const Artifact &artifact, exporter::Tensors states,
                  const std::string &path,
                  const exporter::ExportOptions &options);

} // namespace dlc
