// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/text/json/TokenizerFields.h"

#include "runtime/base/Text.h"

namespace dlc {

const Json &fieldOf(const Json &object, const char *name) {
  static const Json none;
  if (!object.is_object())
    return none;
  const auto found = object.find(name);
  return found == object.end() ? none : *found;
}

std::string typeOfField(const Json &object) {
  const Json &type = fieldOf(object, "type");
  return type.is_string() ? type.get<std::string>() : "";
}

bool isFieldSet(const Json &object, const char *flag, bool otherwise) {
  const Json &value = fieldOf(object, flag);
  return value.is_boolean() ? value.get<bool>() : otherwise;
}

Status refusedName(std::string_view what, std::string_view found) {
  return failed(
      "{} '{}' is not supported: byte-level BPE is, as of GPT-2, "
      "Llama 3 and Qwen 2, BPE of characters, as of Llama 2 and "
      "Gemma, Unigram, as of T5, XLM-R and ALBERT, and WordPiece, as of "
      "BERT; write tokens with its own tokenizer as a .bin instead",
      what, printable(found));
}

Status refusedField(std::string_view what, const Json &found) {
  return refusedName(what, found.is_null() ? "none" : typeOfField(found));
}

} // namespace dlc
