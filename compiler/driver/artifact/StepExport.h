// SPDX-License-Identifier: Apache-2.0
// An artifact's training step as an ONNX model: dlc export --step.
#pragma once

#include "compiler/export/Export.h"
#include "runtime/plan/Artifact.h"

namespace dlc {

/// Writes the step of the artifact's model.mlir with these states to `path`.
/// Code::Usage if the artifact's options cannot be expressed as one graph;
/// Code::BadModel, with the op and its line in model.mlir, for ops that ONNX
/// cannot express; Code::Corrupt if a state is missing.
Status exportStep(const Artifact &artifact, exporter::Tensors states,
                  const std::string &path,
                  const exporter::ExportOptions &options);

} // namespace dlc
