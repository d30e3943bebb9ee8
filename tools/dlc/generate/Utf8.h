// SPDX-License-Identifier: Apache-2.0
// Converts a byte stream to complete UTF-8 characters.
#pragma once

#include <string>

namespace dlc::tool {

// Removes complete characters from the start of `bytes` and returns them as
// UTF-8, with one U+FFFD per maximal invalid subpart (Unicode 16, section 3.9).
// An incomplete character at the end remains unless `isEnd`.
std::string takeUtf8(std::string &bytes, bool isEnd);

} // namespace dlc::tool
