// SPDX-License-Identifier: Apache-2.0
// Comma-separated lists in one word of a command line.
#pragma once

#include <string>
#include <vector>

namespace dlc {

// "a,b" gives a and b; "" and the text after a last comma give nothing. Commas
// inside of (...) and [...] do not separate.
std::vector<std::string> splitAtCommas(const std::string &text);

} // namespace dlc
