// SPDX-License-Identifier: Apache-2.0
// Fields of a tokenizer.json, and what is said of those that are not known.
#pragma once

#include "runtime/base/Json.h"
#include "runtime/data/text/json/TokenizerJson.h"

namespace dlc {

constexpr uint64_t kMaxTokenizerBytes = 256 << 20; // of a file

// A member, or null where there is none.
const Json &fieldOf(const Json &object, const char *name);

// Its "type"; empty: none.
std::string typeOfField(const Json &object);

bool isFieldSet(const Json &object, const char *flag, bool otherwise = false);

// "its normalizer 'X' is not supported", and what is. `found`: null is "none".
Status refusedField(std::string_view what, const Json &found);
Status refusedName(std::string_view what, std::string_view found);

// Parts of `to`, in this order.
Status readNormalizer(const Json &tokenizer, TokenizerJson &to);
Status readPreTokenizer(const Json &tokenizer, TokenizerJson &to);
Status readModel(const Json &tokenizer, TokenizerJson &to);
Result<SpecialTokens> readSpecial(const Json &tokenizer);

} // namespace dlc
