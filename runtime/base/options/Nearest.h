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

} // namespace dlc
