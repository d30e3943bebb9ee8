// SPDX-License-Identifier: Apache-2.0
// Bytes as whole characters.
#pragma once

#include <string>

namespace dlc::tool {

// UTF-8 with U+FFFD for what is none, each longest begin of a character once
// (Unicode 16, section 3.9: substitution of maximal subparts). Takes from
// `bytes` what it gives: an incomplete character at the end stays unless
// `isEnd`.
std::string takeUtf8(std::string &bytes, bool isEnd);

} // namespace dlc::tool
