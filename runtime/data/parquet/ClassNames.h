// SPDX-License-Identifier: Apache-2.0
// Names of classes that the library datasets notes in a Parquet file
// (huggingface.co/docs/datasets, ClassLabel).
#pragma once

#include "runtime/data/parquet/ParquetFile.h"

#include <span>
#include <string>
#include <vector>

namespace dlc {

// In the order of their numbers, of a column of whole numbers; none where no
// file has them. Files that have other ones are an error, which names both.
Result<std::vector<std::string>>
classNamesOf(std::span<const ParquetFile> files, const std::string &column);

} // namespace dlc
