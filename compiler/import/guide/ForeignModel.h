// SPDX-License-Identifier: Apache-2.0
// Files of models that are not ONNX: what they are, and what converts them.
#pragma once
#include <string>
#include <string_view>

namespace dlc::import {

/// Of a file that is no ONNX model, known by its first bytes or its name, or a
/// folder: "a file of torch.save, not an ONNX model: COMMAND; see GUIDE". Empty
/// for what is not known.
std::string foreignModel(const std::string &path, std::string_view bytes);

/// Why `path` does not name the ONNX file to be written, with what makes such a
/// file of one; empty if it may.
std::string foreignOutput(const std::string &path);

} // namespace dlc::import
