// SPDX-License-Identifier: Apache-2.0
// Advice on arrays that do not fit a model: numpy code or dlc flags.
#pragma once

#include "runtime/data/Dataset.h"

namespace dlc {

// All results begin with "; " or "\n"; empty if no remedy is known.

// Suggests --columns if the arrays `keys` do not include `missing`.
std::string adviceOnNames(const std::vector<std::string> &keys,
                          const std::string &missing);
// For samples of shape `found`: transposed axes, or a missing axis.
std::string adviceOnShape(const std::string &key,
                          const std::vector<int64_t> &found,
                          const std::vector<int64_t> &expected);
// For an array that should have `entries` integers per sample.
std::string adviceOnLabels(const std::string &key, const Array &array,
                           uint64_t entries);

// 255 or 65535 if a float input of pictures gets whole numbers of 8 or 16 bits,
// else 0.
int pixelRange(const Column &column, int64_t samples);

// "'x' in rows 5, 40 (2 of 64)": values that are not finite; "" if there are
// none, or if they are unknown before a step reads them.
std::string notFinite(const Dataset &data);

} // namespace dlc
