// SPDX-License-Identifier: Apache-2.0
// For messages: recognises model files of other formats and says how to convert
// them; how torch exports a trainable model (docs/guide/export.md).
#pragma once
#include <string>
#include <string_view>

namespace dlc::import {

constexpr const char *kExportGuide = "docs/guide/export.md";
/// Disables folding, leaves the batch symbolic, and keeps Dropout and batch
/// norm in training mode.
constexpr const char *kExportLine =
    "torch.onnx.export(model.train(), (x,), \"model.onnx\", dynamo=True, "
    "optimize=False, dynamic_shapes=({0: \"batch\"},))";

/// Describes a file, known by its first bytes or its name, or a folder that is
/// not an ONNX model: "a file of torch.save, not an ONNX model: COMMAND; see
/// GUIDE". Empty if it is not recognised.
std::string foreignModel(const std::string &path, std::string_view bytes);

/// Why `path` cannot be the ONNX file to write, and how to convert one to this
/// format; empty if it can.
std::string foreignOutput(const std::string &path);

} // namespace dlc::import
