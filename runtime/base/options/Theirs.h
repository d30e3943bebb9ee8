// SPDX-License-Identifier: Apache-2.0
// What other tools call options and their values (docs/guide/from-pytorch.md).
#pragma once

#include <string>
#include <vector>

namespace dlc {

// Small letters, without dashes before and with '-' between words.
std::string plainWord(const std::string &word);

// What dlc calls it, each with the arguments that make it so: "--amp
// --amp-dtype=fp16" for "fp16", "cuda" for "gpu", or a command, "dlc-data map"
// for "mAP50". A word may be several things.
std::vector<std::string> oursFor(const std::string &word);

} // namespace dlc
