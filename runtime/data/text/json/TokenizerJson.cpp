// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/text/json/TokenizerJson.h"

#include "runtime/base/Text.h"
#include "runtime/data/text/json/TokenizerFields.h"

namespace dlc {
namespace {

Status readAdded(const Json &tokenizer, TokenizerJson &to) {
  for (const Json &entry : fieldOf(tokenizer, "added_tokens")) {
    AddedToken token;
    DLC_ASSIGN(token.text, jsonString(entry, "content"));
    DLC_ASSIGN(const uint64_t id, jsonUnsigned(entry, "id"));
    if (token.text.empty() || id > UINT32_MAX)
      return failed("its added token '{}' has the id {}",
                    printable(token.text, 60), id);
    if (isFieldSet(entry, "single_word"))
      return refusedName(
          fmt::format("its added token '{}':", printable(token.text, 60)),
          "single_word");
    token.id = uint32_t(id);
    token.isNormalized = isFieldSet(entry, "normalized");
    token.takesLeft = isFieldSet(entry, "lstrip");
    token.takesRight = isFieldSet(entry, "rstrip");
    to.added.push_back(std::move(token));
  }
  return {};
}

} // namespace

Result<TokenizerJson> parseTokenizerJson(std::string_view text) {
  auto json = parseJson(text);
  if (!json)
    return failed("is no JSON: {}", json.status().message());
  if (!fieldOf(*json, "model").is_object())
    return failed("is no tokenizer: it has no 'model'");
  TokenizerJson found;
  DLC_TRY(readNormalizer(*json, found));
  DLC_TRY(readPreTokenizer(*json, found));
  DLC_TRY(readAdded(*json, found));
  DLC_TRY(readModel(*json, found));
  if (auto special = readSpecial(*json))
    found.special = *std::move(special);
  else // an error only for who asks for them
    found.special.status = special.status();
  return found;
}

} // namespace dlc
