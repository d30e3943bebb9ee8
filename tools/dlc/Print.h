// JSON on stdout.
#pragma once

#include "runtime/base/Json.h"
#include "runtime/base/files/Output.h"

namespace dlc::tool {

// One value and a newline, in ASCII, as dumpJson writes it.
template <class AnyJson> void printJson(const AnyJson &value, int indent = -1) {
  printText(dumpJson(value, indent, true) + "\n");
}

} // namespace dlc::tool
