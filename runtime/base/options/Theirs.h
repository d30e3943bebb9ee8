// SPDX-License-Identifier: Apache-2.0
// Names of options and values in other tools (docs/guide/from-pytorch.md).
#pragma once

#include <string>
#include <vector>

namespace dlc {

// In lower case, without leading dashes and with '-' between words.
std::string plainWord(const std::string &word);

// dlc's equivalents, each with the arguments that it needs: "--amp
// --amp-dtype=fp16" for "fp16", "cuda" for "gpu", or a command, "dlc-data map"
// for "mAP50". A word may have several equivalents.
std::vector<std::string> oursFor(const std::string &word);

} // namespace dlc
