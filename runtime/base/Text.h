// SPDX-License-Identifier: Apache-2.0
// Text for output, and its parts. Text from a file, a peer or a command line is
// escaped: it cannot move a terminal's cursor, or hide or reverse the text
// after it.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace dlc {

// For names, paths and other text inside a message. Control characters (C0, C1,
// DEL), invisible format characters and those that change the text direction
// are written as \n, \t, \r, \x1b, \u202e or \U000e0001; invalid UTF-8 as \xNN.
// A backslash is doubled only where it would be ambiguous. Text of more than
// `limit` (>= 4) characters is cut and ends in "..."; characters and escapes
// are not split.
std::string printable(std::string_view text, size_t limit = 200);

// For tables and other long text: the same escapes, but newlines, tabs and
// backslashes are kept, and nothing is cut.
std::string withoutControls(std::string_view text);

// A message in printable form: control characters are escaped except newlines
// and tabs, quoted text is cut at 200 characters, and lines at 2000. Log.h
// applies this to everything that it prints.
std::string messageText(std::string_view text);

// A word of a suggested command line: quoted for a POSIX shell if necessary; as
// $'...' if it has unprintable characters. Never cut.
std::string shellQuoted(std::string_view word);

bool isUtf8(std::string_view text);

// Converts ASCII capitals to lower case.
std::string lowerCase(std::string text);

// The texts that `textOf` gives for the parts, without empty ones.
template <class Parts, class TextOf = std::identity>
std::string joined(Parts &&parts, std::string_view separator,
                   TextOf textOf = {}) {
  std::string all;
  for (auto &&part : parts) {
    const std::string_view between = all.empty() ? "" : separator;
    if (const std::string text{std::invoke(textOf, part)}; !text.empty())
      all.append(between).append(text);
  }
  return all;
}

// "a,,b" has three parts; "" and the text after a last separator are none.
std::vector<std::string_view> splitAt(std::string_view text, char separator);

// As splitAt, for one word of a command line: "a,b" gives a and b; "" and the
// text after a last comma give nothing. Commas inside of (...) and [...] do not
// separate.
std::vector<std::string> splitAtCommas(const std::string &text);

} // namespace dlc
