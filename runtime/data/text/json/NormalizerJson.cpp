// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/text/json/TokenizerFields.h"

#include "runtime/base/Text.h"

namespace dlc {
namespace {

Status readCharsmap(const Json &step, TokenizerJson &to) {
  const Json &field = fieldOf(step, "precompiled_charsmap");
  const auto bytes = field.is_string()
                         ? bytesOfBase64(field.get_ref<const std::string &>())
                         : std::nullopt;
  if (!bytes)
    return failed("its normalizer's precompiled_charsmap is no base64");
  DLC_ASSIGN(Charsmap map, Charsmap::create(*bytes));
  to.normalizer.add(std::make_shared<const Charsmap>(std::move(map)));
  return {};
}

Status readReplace(const Json &step, TokenizerJson &to) {
  ReplaceStep replace;
  DLC_ASSIGN(replace.by, jsonString(step, "content"));
  const Json &pattern = fieldOf(step, "pattern");
  if (fieldOf(pattern, "String").is_string()) {
    replace.what = fieldOf(pattern, "String").get<std::string>();
  } else if (fieldOf(pattern, "Regex") == " {2,}") {
    replace.what.assign(1, ' ');
    replace.isRun = true;
  }
  if (replace.what.empty())
    return refusedName("its normalizer's Replace", dumpJson(pattern));
  to.normalizer.add(std::move(replace));
  return {};
}

Status readStep(const Json &step, TokenizerJson &to) {
  const std::string type = typeOfField(step);
  if (type == "NFC" && to.normalizer.isEmpty()) {
    to.isNfc = true;
    return {};
  }
  if (type == "Precompiled")
    return readCharsmap(step, to);
  if (type == "Replace")
    return readReplace(step, to);
  if (type == "Prepend") {
    DLC_ASSIGN(std::string text, jsonString(step, "prepend"));
    to.normalizer.add(PrependStep{std::move(text)});
    return {};
  }
  if (type == "Strip") {
    to.normalizer.add(StripStep{isFieldSet(step, "strip_left"),
                                isFieldSet(step, "strip_right")});
    return {};
  }
  if (type == "Lowercase") {
    to.normalizer.add(LowerStep());
    return {};
  }
  return refusedField("its normalizer", step);
}

Status readSteps(const Json &steps, TokenizerJson &to) {
  for (size_t i = 0; i < steps.size(); ++i) {
    if (typeOfField(steps[i]) == "NFKD" && i + 1 < steps.size() &&
        typeOfField(steps[i + 1]) == "StripAccents") {
      to.normalizer.add(PlainStep());
      ++i;
      continue;
    }
    DLC_TRY(readStep(steps[i], to));
  }
  return {};
}

void readBert(const Json &normalizer, BertRules &bert) {
  bert.cleans = isFieldSet(normalizer, "clean_text", true);
  bert.spacesChinese = isFieldSet(normalizer, "handle_chinese_chars", true);
  bert.lowers = isFieldSet(normalizer, "lowercase", true);
  bert.stripsAccents = isFieldSet(normalizer, "strip_accents", bert.lowers);
}

} // namespace

Status readNormalizer(const Json &tokenizer, TokenizerJson &to) {
  const Json &normalizer = fieldOf(tokenizer, "normalizer");
  if (typeOfField(fieldOf(tokenizer, "model")) == "WordPiece") {
    if (typeOfField(normalizer) != "BertNormalizer")
      return refusedField("its normalizer", normalizer);
    readBert(normalizer, to.bert);
    return {};
  }
  if (normalizer.is_null())
    return {};
  if (typeOfField(normalizer) != "Sequence")
    return readStep(normalizer, to);
  const Json &steps = fieldOf(normalizer, "normalizers");
  return steps.is_array() ? readSteps(steps, to)
                          : refusedField("its normalizer", normalizer);
}

} // namespace dlc
