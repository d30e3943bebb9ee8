// SPDX-License-Identifier: Apache-2.0
// runtime/base/Text.h: what a terminal, a reader and a shell get of any text.
#include "runtime/base/Text.h"

#include <gtest/gtest.h>

using namespace dlc;
using namespace std::string_literals;

namespace {

TEST(Printable, LeavesReadableTextAlone) {
  for (std::string text : {"", "layer.0/conv", "größe 模型 🙂", "a\\d+$"})
    EXPECT_EQ(printable(text), text);
}

TEST(Printable, EscapesWhatATerminalObeys) {
  EXPECT_EQ(printable("\x1b[31mred\x1b[0m"), "\\x1b[31mred\\x1b[0m");
  EXPECT_EQ(printable("a\nb\rc\td\0e\x7f"s), "a\\nb\\rc\\td\\x00e\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"), "\\u009b"); // CSI in one character
}

TEST(Printable, EscapesWhatCannotBeSeen) {
  EXPECT_EQ(printable("a\u202eb\u200bc\u2066d\ufeff"),
            "a\\u202eb\\u200bc\\u2066d\\ufeff");
  EXPECT_EQ(printable("\U000e0041\u00ad\u3164"), "\\U000e0041\\u00ad\\u3164");
}

TEST(Printable, EscapesBytesThatAreNotUtf8) {
  EXPECT_EQ(printable("caf\xe9"), "caf\\xe9");
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");          // longer than needed
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80"); // a surrogate
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
  EXPECT_EQ(printable("\xe6\xa8"), "\\xe6\\xa8"); // ends too early
}

TEST(Printable, DoublesABackslashOnlyWhereItCouldMislead) {
  EXPECT_EQ(printable("\\x1b"), "\\\\x1b");
  EXPECT_EQ(printable("\\\x1b"), "\\\\\\x1b");
  EXPECT_EQ(printable("\\w \\"), "\\w \\");
}

TEST(Printable, CutsBetweenCharacters) {
  EXPECT_EQ(printable("abcdefgh", 8), "abcdefgh");
  EXPECT_EQ(printable("abcdefghi", 8), "abcde...");
  EXPECT_EQ(printable("äöüßäöüßä", 8), "äöüßä...");
  EXPECT_EQ(printable("abc\x1b\x1b", 8), "abc...");
  EXPECT_EQ(printable("abc\x1b\x1b", 11), "abc\\x1b\\x1b");
  EXPECT_EQ(printable(std::string(1 << 20, 'x')).size(), 200u);
}

TEST(WithoutControls, KeepsLinesAndLength) {
  EXPECT_EQ(withoutControls("a\n\tb\x1b[2J\xff\\n"), "a\n\tb\\x1b[2J\\xff\\n");
  EXPECT_EQ(withoutControls(std::string(1000, 'x')), std::string(1000, 'x'));
}

TEST(MessageText, CutsWhatIsInQuotes) {
  const std::string name(500, 'b'), cut = std::string(197, 'b') + "...";
  EXPECT_EQ(messageText("node '" + name + "' (Relu): bad\n '" + name + "'"),
            "node '" + cut + "' (Relu): bad\n '" + cut + "'");
  EXPECT_EQ(messageText("open '" + name), "open '" + cut);
  EXPECT_EQ(messageText("numpy's " + name + " and dlc's"),
            "numpy's " + name + " and dlc's");
  EXPECT_EQ(messageText("'a'" + name + "', '" + name + "'"),
            "'a'" + std::string(195, 'b') + "...', '" + cut + "'");
  EXPECT_EQ(messageText("''x'' '\\d\x1b' \x1b[0m"),
            "''x'' '\\d\\x1b' \\x1b[0m");
  EXPECT_EQ(messageText(""), "");
  EXPECT_EQ(messageText(std::string(100'000, 'x')).size(), 2000u);
}

TEST(ShellQuoted, IsOneWord) {
  EXPECT_EQ(shellQuoted("runs/net-1.dlc"), "runs/net-1.dlc");
  EXPECT_EQ(shellQuoted(""), "''");
  EXPECT_EQ(shellQuoted("a b; rm -r $HOME"), "'a b; rm -r $HOME'");
  EXPECT_EQ(shellQuoted("it's"), "'it'\\''s'");
  EXPECT_EQ(shellQuoted("a\x1b[0m'\\\xff"), "$'a\\033[0m\\'\\\\\\377'");
}

TEST(IsUtf8, TakesNoneOfTheOthers) {
  EXPECT_TRUE(isUtf8("größe\x1b"));
  EXPECT_FALSE(isUtf8("\xe9"));
  EXPECT_FALSE(isUtf8("a\xf0\x9f\x99"));
}

TEST(Joined, LeavesOutEmptyTexts) {
  const std::vector<int> numbers = {1, 2, 3, 4};
  EXPECT_EQ(joined(std::vector<std::string>{"a", "", "b"}, ", "), "a, b");
  EXPECT_EQ(joined(numbers, "; ",
                   [](int n) { return n == 1 ? "" : std::to_string(n); }),
            "2; 3; 4");
  EXPECT_EQ(joined(std::vector<std::string>(), ", "), "");
}

TEST(SplitAt, KeepsEmptyPartsButTheLast) {
  using Parts = std::vector<std::string_view>;
  EXPECT_EQ(splitAt("a,,b", ','), (Parts{"a", "", "b"}));
  EXPECT_EQ(splitAt("a,", ','), Parts{"a"});
  EXPECT_EQ(splitAt("", ','), Parts());
}

} // namespace
