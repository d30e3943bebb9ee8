// SPDX-License-Identifier: Apache-2.0
// Rows of embedding tables that get no gradient (torch's padding_idx).
#pragma once
#include "compiler/import/file/OnnxFile.h"

namespace dlc::import {

/// Fills `file.paddings` with the rows that torch's notes name and those of
/// `options`: "PARAM:ROW" applies to all Gathers along axis 0 that read the
/// initializer PARAM. ONNX cannot express padding_idx, so there is a warning
/// for a trained table (`roles`) without notes that has one row of zeros, as
/// torch initializes padding rows. Each row is a Decision. Code::Usage for
/// options that match no Gather. Linear in the file.
Status findPaddings(OnnxFile &file, const std::map<std::string, Role> &roles,
                    const std::vector<std::string> &options);

/// Code::Usage unless `option` is "PARAM:ROW" with a row of 0 or more.
Status checkPadding(const std::string &option);

} // namespace dlc::import
