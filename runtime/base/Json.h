// SPDX-License-Identifier: Apache-2.0
// JSON from files that may be damaged or hostile.
#pragma once

#include "runtime/base/Status.h"

#include <nlohmann/json.hpp>

#include <string_view>

namespace dlc {

using Json = nlohmann::json;

// Refuses (Code::Corrupt) bad syntax, more than 32 levels and a key that is
// given twice in one object. Takes time linear in the text.
Result<Json> parseJson(std::string_view text);

// Members by type: Code::Corrupt names what is missing or of another type.
Result<std::string> jsonString(const Json &object, const char *key);
Result<uint64_t> jsonUnsigned(const Json &object, const char *key);

// One line, or lines indented by `indent`; bytes that are no UTF-8 are
// replaced, never an exception. Any nlohmann::basic_json. `ascii`: other
// characters are written \u202e, for a terminal.
template <class AnyJson>
std::string dumpJson(const AnyJson &value, int indent = -1,
                     bool ascii = false) {
  return value.dump(indent, ' ', ascii, AnyJson::error_handler_t::replace);
}

} // namespace dlc
