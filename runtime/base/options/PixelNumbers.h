// SPDX-License-Identifier: Apache-2.0
// Numbers for the channels of pixels, as options take them: 0.5, 1/255, or the
// name of a data set's statistics. Errors: Code::Usage.
#pragma once

#include "runtime/base/options/OptionTable.h"

namespace dlc {

// Parses "0.5" or "3/4".
Result<double> parseFraction(const std::string &word, double low, double high);
Result<std::vector<double>> parseFractions(const Words &words, double low,
                                           double high);

// Means and standard deviations of channels; or imagenet, inception, clip.
Result<std::vector<double>> parseMeans(const Words &words);
Result<std::vector<double>> parseDeviations(const Words &words);

} // namespace dlc
