// SPDX-License-Identifier: Apache-2.0
// Letters as lines, for pictures that have no fonts.
#pragma once

#include <string_view>
#include <vector>

namespace dlc {

struct StrokePoint {
  int x, y; // 0 to 4 from the left; -2 to 6 from the line up
};

struct StrokeLetter {
  std::vector<std::vector<StrokePoint>> strokes; // of one point: a dot
  int width = 0;                                 // to the next letter's left
};

// Of printable ASCII; a box for anything else.
const StrokeLetter &strokeLetter(char character);

} // namespace dlc
