// JSON from files that may be damaged or hostile.
#pragma once

#include "runtime/base/Status.h"

#include <nlohmann/json.hpp>

#include <string_view>

namespace dlc {

using Json = nlohmann::json;

// Refuses (Code::Corrupt) bad syntax, more than 32 levels and a key that is
// given twice in one object.
Result<Json> parseJson(std::string_view text);

// Members by type: Code::Corrupt names what is missing or of another type.
Result<std::string> jsonString(const Json &object, const char *key);
Result<uint64_t> jsonUnsigned(const Json &object, const char *key);

// One line; bytes that are no UTF-8 are replaced, never an exception.
std::string dumpJson(const Json &value, int indent = -1);

} // namespace dlc
