// SPDX-License-Identifier: Apache-2.0
// Recognises model files of other formats and says how to convert them.
#pragma once
#include <string>
#include <string_view>

namespace dlc::import {

/// Describes a file, known by its first bytes or its name, or a folder that is
/// not an ONNX model: "a file of torch.save, not an ONNX model: COMMAND; see
/// GUIDE". Empty if it is not recognised.
std::string foreignModel(const std::string &path, std::string_view bytes);

/// Why `path` cannot be the ONNX file to write, and how to convert one to this
/// format; empty if it can.
std::string foreignOutput(const std::string &path);

} // namespace dlc::import
