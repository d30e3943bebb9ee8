// SPDX-License-Identifier: Apache-2.0
// For messages: how torch exports a trainable model (docs/guide/export.md).
#pragma once

namespace dlc::import {

constexpr const char *kExportGuide = "docs/guide/export.md";
/// Disables folding, leaves the batch symbolic, and keeps Dropout and batch
/// norm in training mode.
constexpr const char *kExportLine =
    "torch.onnx.export(model.train(), (x,), \"model.onnx\", dynamo=True, "
    "optimize=False, dynamic_shapes=({0: \"batch\"},))";

} // namespace dlc::import
