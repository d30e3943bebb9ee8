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
  to.normalizer.add(std::move(map));
  return {};
}

Status readReplace(const Json &step, TokenizerJson &to) {
  ReplaceStep replace;
  DLC_ASSIGN(replace.by, jsonString(step, "content"));
  const Json &pattern = fieldOf(step, "pattern");
  if (fieldOf(pattern, "String").is_string()) {
    replace.what = fieldOf(pattern, "String").get<std::string>();
  } else if (fieldOf(pattern, "Regex") == " {2,}") {
    replace.what = " ";
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
  return refusedField("its normalizer", step);
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
  for (const Json &step : fieldOf(normalizer, "normalizers"))
    DLC_TRY(readStep(step, to));
  return {};
}

} // namespace dlc
