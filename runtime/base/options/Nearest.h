// SPDX-License-Identifier: Apache-2.0
// "did you mean ...?"
#pragma once

#include <string>
#include <vector>

namespace dlc {

// What the user most likely meant by `word`; "" if nothing is near.
std::string nearest(const std::string &word,
                    const std::vector<std::string> &candidates);

// "; did you mean 'x'?", or nothing.
std::string suggestion(const std::string &word,
                       const std::vector<std::string> &candidates);

} // namespace dlc
