// SPDX-License-Identifier: Apache-2.0
// How torch exports a model so that it trains: what docs/guide/export.md says,
// for messages.
#pragma once

namespace dlc::import {

constexpr const char *kExportGuide = "docs/guide/export.md";
/// Nothing is folded, the batch is open, Dropout and batch norms train.
constexpr const char *kExportLine =
    "torch.onnx.export(model.train(), (x,), \"model.onnx\", dynamo=True, "
    "optimize=False, dynamic_shapes=({0: \"batch\"},))";

} // namespace dlc::import
