// SPDX-License-Identifier: Apache-2.0
// JSON and CSV on stdout.
#pragma once

#include "runtime/base/Json.h"
#include "runtime/base/files/Output.h"

namespace dlc::tool {

// Prints a value and a newline, in ASCII like dumpJson.
template <class AnyJson> void printJson(const AnyJson &value, int indent = -1) {
  printText(dumpJson(value, indent, true) + "\n");
}

// A field according to RFC 4180.
inline std::string csvField(const std::string &text) {
  if (text.find_first_of(",\"\r\n") == text.npos)
    return text;
  std::string quoted = "\"";
  for (const char c : text)
    quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

} // namespace dlc::tool
