// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/Text.h"
#include "runtime/base/files/Files.h"
#include "runtime/data/text/TokenDecoder.h"
#include "runtime/data/text/json/TokenizerFields.h"
#include "runtime/data/text/unicode/Unicode.h"

namespace dlc {
namespace {

// What would give another text.
Status refusedDecoder(std::string_view what, const Json &found) {
  return failed("its decoder{} {} is not supported: ByteLevel, Metaspace and "
                "WordPiece are, and Replace of a text, ByteFallback, Fuse and "
                "Strip in this order; take ids, and decode them with its own "
                "tokenizer",
                what, printable(dumpJson(found)));
}

Status readReplace(const Json &step, DecoderRules &to) {
  const Json &what = fieldOf(fieldOf(step, "pattern"), "String");
  if (!what.is_string() || what == "")
    return refusedDecoder("'s Replace", fieldOf(step, "pattern"));
  DLC_ASSIGN(std::string by, jsonString(step, "content"));
  to.replaces.push_back({what.get<std::string>(), std::move(by)});
  return {};
}

Status readStrip(const Json &step, DecoderRules &to) {
  DLC_ASSIGN(to.stripped, jsonString(step, "content"));
  DLC_ASSIGN(to.atBegin, jsonUnsigned(step, "start"));
  DLC_ASSIGN(to.atEnd, jsonUnsigned(step, "stop"));
  const Utf8Char first = firstChar(to.stripped);
  if (first.bytes == 0 || first.bytes != to.stripped.size())
    return refusedDecoder("'s Strip", step);
  // What a text ends in is known at its end only.
  if (to.fuses && to.atEnd > 0)
    return refusedDecoder("'s Strip behind Fuse, at the end:", step);
  return {};
}

// Each kind of step once, but for Replace, in the order of Llama 2's.
Status readSteps(const std::vector<const Json *> &steps, DecoderRules &to) {
  constexpr std::string_view kOrder[] = {"Replace", "ByteFallback", "Fuse",
                                         "Strip"};
  to.kind = DecoderRules::Kind::Steps;
  size_t next = 0;
  for (const Json *step : steps) {
    const std::string type = typeOfField(*step);
    size_t at = next;
    while (at < std::size(kOrder) && kOrder[at] != type)
      ++at;
    if (at == std::size(kOrder))
      return refusedDecoder("", *step);
    next = at == 0 ? 0 : at + 1;
    to.joinsBytes |= at == 1;
    to.fuses |= at == 2;
    if (at == 0)
      DLC_TRY(readReplace(*step, to));
    if (at == 3)
      DLC_TRY(readStrip(*step, to));
  }
  return {};
}

Status readDecoder(const Json &decoder, DecoderRules &to) {
  if (decoder.is_null())
    return {};
  std::vector<const Json *> steps = {&decoder};
  if (typeOfField(decoder) == "Sequence") {
    steps.clear();
    for (const Json &step : fieldOf(decoder, "decoders"))
      steps.push_back(&step);
  }
  const std::string type = steps.size() == 1 ? typeOfField(*steps[0]) : "";
  if (type == "ByteLevel") {
    to.kind = DecoderRules::Kind::Bytes;
    return {};
  }
  if (type == "Metaspace") {
    const Json &scheme = fieldOf(*steps[0], "prepend_scheme");
    to.kind = DecoderRules::Kind::Marks;
    to.dropsFirst = scheme.is_null()
                        ? isFieldSet(*steps[0], "add_prefix_space", true)
                        : scheme != "never";
    DLC_ASSIGN(to.mark, jsonString(*steps[0], "replacement"));
    return to.mark.empty() ? refusedDecoder("", *steps[0]) : Status();
  }
  if (type == "WordPiece") {
    to.kind = DecoderRules::Kind::WordPiece;
    to.cleans = isFieldSet(*steps[0], "cleanup", true);
    DLC_ASSIGN(to.prefix, jsonString(*steps[0], "prefix"));
    return {};
  }
  return readSteps(steps, to);
}

} // namespace

class DecoderReader {
public:
  static Result<std::shared_ptr<const TokenDecoder>>
  read(const Json &tokenizer) {
    auto to = std::make_shared<TokenDecoder>();
    DLC_TRY(readDecoder(fieldOf(tokenizer, "decoder"), to->rules_));
    DLC_TRY(readVocabulary(fieldOf(tokenizer, "model"), *to));
    for (const Json &entry : fieldOf(tokenizer, "added_tokens")) {
      DLC_ASSIGN(std::string text, jsonString(entry, "content"));
      DLC_ASSIGN(const uint64_t id, jsonUnsigned(entry, "id"));
      DLC_TRY(add(id, text, *to));
      if (isFieldSet(entry, "special"))
        to->special_.insert(std::move(text));
    }
    return std::shared_ptr<const TokenDecoder>(std::move(to));
  }

private:
  static Status add(uint64_t id, const std::string &text, TokenDecoder &to) {
    if (id > UINT32_MAX)
      return failed("its token '{}' has the id {}", printable(text, 60), id);
    to.texts_.insert_or_assign(uint32_t(id), text);
    return {};
  }

  static Status readVocabulary(const Json &model, TokenDecoder &to) {
    const Json &vocabulary = fieldOf(model, "vocab");
    if (vocabulary.is_array()) { // of Unigram: [text, score], in order
      for (size_t id = 0; id < vocabulary.size(); ++id) {
        const Json &entry = vocabulary[id];
        if (!entry.is_array() || entry.empty() || !entry[0].is_string())
          return failed("its vocabulary has {}, expected a text and its score",
                        dumpJson(entry));
        DLC_TRY(add(id, entry[0].get<std::string>(), to));
      }
      if (fieldOf(model, "unk_id").is_number_unsigned())
        to.unknown_ = uint32_t(fieldOf(model, "unk_id").get<uint64_t>());
      return {};
    }
    if (!vocabulary.is_object())
      return failed("its model has no 'vocab'");
    for (const auto &[text, id] : vocabulary.items()) {
      if (!id.is_number_unsigned())
        return failed("its vocabulary has '{}' with the id {}",
                      printable(text, 60), dumpJson(id));
      DLC_TRY(add(id.get<uint64_t>(), text, to));
      if (fieldOf(model, "unk_token") == text)
        to.unknown_ = uint32_t(id.get<uint64_t>());
    }
    return {};
  }
};

Result<std::shared_ptr<const TokenDecoder>>
TokenDecoder::open(const std::string &path) {
  DLC_ASSIGN(const std::string text, readFile(path, kMaxTokenizerBytes));
  const auto json = parseJson(text);
  if (!json)
    return failed("'{}': is no JSON: {}", path, json.status().message());
  auto decoder = DecoderReader::read(*json);
  if (!decoder) // nobody says of it that it is ours, so that it is not corrupt
    return failed("'{}': {}", path, decoder.status().message());
  return decoder;
}

} // namespace dlc
