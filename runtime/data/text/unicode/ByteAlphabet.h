// SPDX-License-Identifier: Apache-2.0
// The byte-level alphabet of tokenizers: a character for each byte, printable
// ones as they are, the others as characters from 256 on, in order (Radford et
// al. 2019).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dlc {

// The bytes that a text of it stands for; none: it has other characters.
std::optional<std::string> bytesOfAlphabet(std::string_view text);

} // namespace dlc
