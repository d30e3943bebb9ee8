// SPDX-License-Identifier: Apache-2.0
// Suggestions: "did you mean ...?"
#pragma once

#include <string>
#include <vector>

namespace dlc {

// The candidate most similar to `word`; "" if none is similar.
std::string nearest(const std::string &word,
                    const std::vector<std::string> &candidates);

// "; did you mean 'x'?", or "".
std::string suggestion(const std::string &word,
                       const std::vector<std::string> &candidates);

// Names of options and values in other tools (docs/guide/from-pytorch.md):
// in lower case, without leading dashes and with '-' between words.
std::string plainWord(const std::string &word);

// dlc's equivalents, each with the arguments that it needs: "--amp
// --amp-dtype=fp16" for "fp16", "cuda" for "gpu", or a command, "dlc-data map"
// for "mAP50". A word may have several equivalents.
std::vector<std::string> oursFor(const std::string &word);

} // namespace dlc
