// JSON on stdout.
#pragma once

#include "runtime/base/files/Output.h"

namespace dlc::tool {

// One value and a newline, in ASCII: bytes that are not UTF-8 are replaced,
// other characters written \u202e. `indent` < 0: on one line.
template <class JsonValue>
void printJson(const JsonValue &value, int indent = -1) {
  printText(value.dump(indent, ' ', true, JsonValue::error_handler_t::replace) +
            "\n");
}

} // namespace dlc::tool
