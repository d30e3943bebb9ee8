// SPDX-License-Identifier: Apache-2.0
// What mends arrays that do not fit a model: lines of numpy, flags of dlc.
#pragma once

#include "runtime/data/Dataset.h"

namespace dlc {

// All begin with "; " or "\n", or are empty where nothing is known to help.

// Of arrays that are called `keys`, where `missing` is asked for: --columns.
std::string adviceOnNames(const std::vector<std::string> &keys,
                          const std::string &missing);
// Of samples of shape `found`: axes in another order, or one too few.
std::string adviceOnShape(const std::string &key,
                          const std::vector<int64_t> &found,
                          const std::vector<int64_t> &expected);
// Of an array where `entries` whole numbers a sample are expected.
std::string adviceOnLabels(const std::string &key, const Array &array,
                           uint64_t entries);

// Whether an input of pictures, of no bytes, holds numbers of bytes.
bool looksLikeBytes(const Column &column, int64_t samples);

// "'x' in rows 5, 40 (2 of 64)": numbers of the data that are not finite; ""
// where there are none, or nobody knows before a step reads them.
std::string notFinite(const Dataset &data);

} // namespace dlc
