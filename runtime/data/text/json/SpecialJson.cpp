// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/text/json/TokenizerFields.h"

#include "runtime/base/Text.h"

namespace dlc {
namespace {

Result<uint32_t> idIn(const Json &value) {
  if (!value.is_number_unsigned() || value.get<uint64_t>() > UINT32_MAX)
    return failed("its post-processor has the id {}", dumpJson(value));
  return value.get<uint32_t>();
}

// The texts and ids of {"id": [TEXT], "ids": [...]} by their name.
Status appendIds(const Json &tokens, const std::string &name,
                 std::vector<uint32_t> &to) {
  const Json &ids = fieldOf(fieldOf(tokens, name.c_str()), "ids");
  if (!ids.is_array())
    return failed("its post-processor lacks the token '{}'",
                  printable(name, 60));
  for (const Json &value : ids) {
    DLC_ASSIGN(to.emplace_back(), idIn(value));
  }
  return {};
}

// A list of tokens with the text, "A", among them.
Status readTemplate(const Json &post, SpecialTokens &to) {
  bool hasText = false;
  for (const Json &piece : fieldOf(post, "single")) {
    if (const Json &text = fieldOf(piece, "Sequence"); !text.is_null()) {
      if (fieldOf(text, "id") != "A" || hasText)
        return refusedName("its post-processor's template", dumpJson(piece));
      hasText = true;
      continue;
    }
    DLC_ASSIGN(const std::string name,
               jsonString(fieldOf(piece, "SpecialToken"), "id"));
    DLC_TRY(appendIds(fieldOf(post, "special_tokens"), name,
                      hasText ? to.after : to.before));
  }
  return hasText ? Status()
                 : refusedName("its post-processor's template",
                               dumpJson(fieldOf(post, "single")));
}

// BertProcessing and RobertaProcessing: ["[CLS]", 101].
Status readEnds(const Json &post, SpecialTokens &to) {
  for (const auto &[name, list] :
       {std::pair("cls", &to.before), std::pair("sep", &to.after)}) {
    const Json &token = fieldOf(post, name);
    if (!token.is_array() || token.size() != 2)
      return failed("its post-processor's '{}' is {}", name, dumpJson(token));
    DLC_ASSIGN(list->emplace_back(), idIn(token[1]));
  }
  return {};
}

Status readPost(const Json &post, SpecialTokens &to) {
  const std::string type = typeOfField(post);
  if (post.is_null() || type == "ByteLevel") // of positions only
    return {};
  if (type == "Sequence") {
    for (const Json &part : fieldOf(post, "processors"))
      DLC_TRY(readPost(part, to));
    return {};
  }
  if (!to.before.empty() || !to.after.empty())
    return refusedName("its post-processor, behind another,", type);
  if (type == "TemplateProcessing")
    return readTemplate(post, to);
  if (type == "BertProcessing" || type == "RobertaProcessing")
    return readEnds(post, to);
  return refusedField("its post-processor", post);
}

} // namespace

Result<SpecialTokens> readSpecial(const Json &tokenizer) {
  SpecialTokens special;
  DLC_TRY(readPost(fieldOf(tokenizer, "post_processor"), special));
  if (special.before.empty() && special.after.empty())
    return failed("its post-processor adds no special tokens: leave out "
                  "--special-tokens");
  return special;
}

} // namespace dlc
