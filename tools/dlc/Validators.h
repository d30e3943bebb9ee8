// What the values of flags must be. A refusal says what was expected and what
// was found; --help shows the flag's type name alone.
#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace dlc::tool {

// A number that is neither NaN nor infinite, of [low, high].
CLI::Validator number(double low = std::numeric_limits<double>::lowest(),
                      double high = std::numeric_limits<double>::max());

// A whole number of [low, high].
CLI::Validator wholeNumber(int64_t low = std::numeric_limits<int64_t>::min(),
                           int64_t high = std::numeric_limits<int64_t>::max());

// One of the words.
CLI::Validator oneOf(std::vector<std::string> words);

} // namespace dlc::tool
