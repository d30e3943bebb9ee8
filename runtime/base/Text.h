// SPDX-License-Identifier: Apache-2.0
// Text that came from a file, a peer or a command line, made safe to print:
// nothing in it moves a terminal's cursor, hides or turns what follows.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dlc {

// For names, paths and other text inside a message. Control characters (C0,
// C1, DEL) and format characters that cannot be seen or that turn the direction
// are written \n, \t, \r, \x1b, \u202e or \U000e0001; bytes that are not UTF-8
// \xNN. A backslash is doubled only where it could be taken for one of these.
// At most `limit` (>= 4) characters: what is longer ends in "...", and neither
// a character nor an escape is cut in two.
std::string printable(std::string_view text, size_t limit = 200);

// For tables and other long text: the same escapes, but newlines, tabs and
// backslashes stay, and nothing is cut.
std::string withoutControls(std::string_view text);

// What is printed of a message: control characters escaped, but for newlines
// and tabs, and what stands in quotes cut at 200 characters, a line at 2000.
// Log.h does so with all that it prints.
std::string messageText(std::string_view text);

// One word of a suggested command line: as it is, or quoted for a POSIX shell;
// as $'...' when it has characters that cannot be printed. Never cut.
std::string shellQuoted(std::string_view word);

bool isUtf8(std::string_view text);

// With small letters for ASCII's capitals.
std::string lowerCase(std::string text);

} // namespace dlc
