// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/record/StrokeLetters.h"

#include <algorithm>
#include <array>

namespace dlc {
namespace {

// From ' ' to '~': two digits a point, of which "a" and "b" are 1 and 2 below
// the line; a blank between strokes.
constexpr std::string_view kStrokes[] = {
    "",                                 // blank
    "0602 00",                          // !
    "0604 2624",                        // "
    "1016 3036 0242 0444",              // #
    "44351504133342311102 2620",        // $
    "0046 0506161505 3031414030",       // %
    "4004051625240201102042",           // &
    "0604",                             // '
    "16050110",                         // (
    "06151100",                         // )
    "2521 0442 0244",                   // *
    "2521 0343",                        // +
    "100a",                             // ,
    "0333",                             // -
    "00",                               // .
    "0036",                             // /
    "100105162635312010",               // 0
    "051610 0020",                      // 1
    "05162635340030",                   // 2
    "05162635342313 233231201001",      // 3
    "20260232",                         // 4
    "360604243331201001",               // 5
    "3526160501102031322303",           // 6
    "063610",                           // 7
    "13040516263534231302011020313223", // 8
    "0110203135261605041333",           // 9
    "04 01",                            // :
    "14 100a",                          // ;
    "350331",                           // <
    "0434 0232",                        // =
    "053301",                           // >
    "051626353412 10",                  // ?
    "322112142534324245361605011030",   // @
    "002640 1232",                      // A
    "00063645443303 3342413000",        // B
    "4536160501103041",                 // C
    "00062644422000",                   // D
    "46060040 0333",                    // E
    "460600 0333",                      // F
    "45361605011030414323",             // G
    "0600 4640 0343",                   // H
    "0626 1610 0020",                   // I
    "3631201001",                       // J
    "0600 4602 1340",                   // K
    "060040",                           // L
    "0006234640",                       // M
    "00064046",                         // N
    "100105163645413010",               // O
    "00063645443303",                   // P
    "100105163645413010 2240",          // Q
    "00063645443303 2340",              // R
    "453616050413334241301001",         // S
    "0646 2620",                        // T
    "060110304146",                     // U
    "062046",                           // V
    "0610233046",                       // W
    "0640 0046",                        // X
    "062346 2320",                      // Y
    "06460040",                         // Z
    "16060010",                         // [
    "0630",                             // backslash
    "06161000",                         // ]
    "042644",                           // ^
    "0a4a",                             // _
    "0615",                             // `
    "0424333010011232",                 // a
    "06002031332404",                   // b
    "341403011030",                     // c
    "36301001031434",                   // d
    "023233241403011030",               // e
    "36261510 0424",                    // f
    "341403011030 343a2b0b",            // g
    "0600 04243330",                    // h
    "0400 06",                          // i
    "141a0b 16",                        // j
    "0600 3401 1230",                   // k
    "060110",                           // l
    "0004 03142320 23344340",           // m
    "0004 0314243330",                  // n
    "100103142433312010",               // o
    "040b 042433312000",                // p
    "343b 341403011030",                // q
    "0400 031424",                      // r
    "3414031222312000",                 // s
    "16112030 0434",                    // t
    "04011030 3430",                    // u
    "042044",                           // v
    "0410223044",                       // w
    "0430 3400",                        // x
    "0420 441b0b",                      // y
    "04340030",                         // z
    "26151403121120",                   // {
    "060a",                             // |
    "06151423121100",                   // }
    "03143243",                         // ~
};
constexpr std::string_view kBox = "0006363000";

StrokeLetter letterOf(std::string_view text) {
  StrokeLetter letter;
  int most = 1;
  letter.strokes.emplace_back();
  for (size_t at = 0; at + 1 < text.size();) {
    if (text[at] == ' ') {
      letter.strokes.emplace_back();
      ++at;
      continue;
    }
    const char y = text[at + 1];
    const int x = text[at] - '0';
    letter.strokes.back().push_back({x, y >= 'a' ? 'a' - 1 - y : y - '0'});
    most = std::max(most, x);
    at += 2;
  }
  letter.width = most + 2;
  return letter;
}

} // namespace

const StrokeLetter &strokeLetter(char character) {
  static const auto letters = [] {
    std::array<StrokeLetter, std::size(kStrokes) + 1> all;
    std::transform(std::begin(kStrokes), std::end(kStrokes), all.begin(),
                   letterOf);
    all.back() = letterOf(kBox);
    return all;
  }();
  const auto index = size_t(static_cast<unsigned char>(character)) - ' ';
  return letters[std::min(index, letters.size() - 1)];
}

} // namespace dlc
