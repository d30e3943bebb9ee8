// SPDX-License-Identifier: Apache-2.0
// Rows of embedding tables that get no gradient (torch's padding_idx).
#pragma once
#include "compiler/import/file/OnnxFile.h"

namespace dlc::import {

/// Fills `file.paddings`: the rows that torch's notes name, then those of
/// `options`, each "PARAM:ROW" for all Gathers along axis 0 that read the
/// initializer PARAM. ONNX itself cannot say it, so a trained table (`roles`)
/// without notes that has one row of zeros, as torch makes padding rows, is a
/// warning. Each is a Decision. Code::Usage for options that fit no Gather.
/// Linear in the file.
Status findPaddings(OnnxFile &file, const std::map<std::string, Role> &roles,
                    const std::vector<std::string> &options);

/// Code::Usage unless `option` is "PARAM:ROW" with a row of 0 or more.
Status checkPadding(const std::string &option);

} // namespace dlc::import
