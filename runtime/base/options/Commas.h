// SPDX-License-Identifier: Apache-2.0
// Lists in one word of a command line.
#pragma once

#include <string>
#include <vector>

namespace dlc {

// "a,b": a and b. Of "" and behind a last comma there is nothing. Commas inside
// of (...) and [...] part nothing.
std::vector<std::string> splitAtCommas(const std::string &text);

} // namespace dlc
