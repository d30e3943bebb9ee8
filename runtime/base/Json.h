// SPDX-License-Identifier: Apache-2.0
// JSON from files that may be damaged or hostile.
#pragma once

#include "runtime/base/Status.h"

#include <nlohmann/json.hpp>

#include <string_view>

namespace dlc {

using Json = nlohmann::json;

// Code::Corrupt for invalid syntax, more than 32 levels, and duplicate keys in
// an object. Linear time.
Result<Json> parseJson(std::string_view text);

// Members by type: Code::Corrupt names a member missing or of another type.
Result<std::string> jsonString(const Json &object, const char *key);
Result<uint64_t> jsonUnsigned(const Json &object, const char *key);

// One line, or several lines indented by `indent`; invalid UTF-8 is replaced
// and never throws. Accepts any nlohmann::basic_json. `ascii`: other characters
// are escaped as \u202e, for terminals.
template <class AnyJson>
std::string dumpJson(const AnyJson &value, int indent = -1,
                     bool ascii = false) {
  return value.dump(indent, ' ', ascii, AnyJson::error_handler_t::replace);
}

} // namespace dlc
