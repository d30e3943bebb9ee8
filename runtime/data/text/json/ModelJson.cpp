// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/text/json/TokenizerFields.h"

#include "runtime/base/Text.h"
#include "runtime/data/text/unicode/ByteAlphabet.h"

#include <optional>

namespace dlc {
namespace {

Result<BytePairs::Ids> readVocabulary(const Json &vocabulary) {
  if (!vocabulary.is_object())
    return failed("its model has no 'vocab'");
  BytePairs::Ids ids;
  for (const auto &[text, id] : vocabulary.items()) {
    if (!id.is_number_unsigned() || id.get<uint64_t>() > UINT32_MAX)
      return failed("its vocabulary has '{}' with the id {}",
                    printable(text, 60), dumpJson(id));
    ids.emplace(text, id.get<uint32_t>());
  }
  return ids;
}

// "a b", or ["a", "b"].
Result<BytePairs::Merges> readMerges(const Json &list) {
  BytePairs::Merges merges;
  for (const Json &entry : list) {
    std::string left, right;
    if (entry.is_string()) {
      const std::string both = entry.get<std::string>();
      const size_t blank = both.find(' ');
      left = both.substr(0, blank);
      right = blank == both.npos ? "" : both.substr(blank + 1);
    } else if (entry.is_array() && entry.size() == 2 && entry[0].is_string() &&
               entry[1].is_string()) {
      left = entry[0].get<std::string>(), right = entry[1].get<std::string>();
    }
    if (left.empty() || right.empty())
      return failed("its merge {} is not of two texts", dumpJson(entry));
    merges.emplace_back(std::move(left), std::move(right));
  }
  return merges;
}

Status readWordPiece(const Json &model, TokenizerJson &to) {
  for (const AddedToken &token : to.added)
    if (token.isNormalized)
      return refusedName(
          fmt::format("its added token '{}':", printable(token.text, 60)),
          "normalized");
  DLC_ASSIGN(auto ids, readVocabulary(fieldOf(model, "vocab")));
  DLC_ASSIGN(std::string prefix,
             jsonString(model, "continuing_subword_prefix"));
  DLC_ASSIGN(const std::string unknown, jsonString(model, "unk_token"));
  DLC_ASSIGN(const uint64_t most,
             jsonUnsigned(model, "max_input_chars_per_word"));
  DLC_ASSIGN(to.model, WordPieces::create(std::move(ids), std::move(prefix),
                                          unknown, most));
  return {};
}

Status readUnigram(const Json &model, TokenizerJson &to) {
  std::vector<Unigram::Token> vocabulary;
  for (const Json &entry : fieldOf(model, "vocab")) {
    if (!entry.is_array() || entry.size() != 2 || !entry[0].is_string() ||
        !entry[1].is_number())
      return failed("its vocabulary has {}, expected a text and its score",
                    dumpJson(entry));
    vocabulary.push_back({entry[0].get<std::string>(), entry[1].get<double>()});
  }
  std::optional<uint32_t> unknown;
  if (!fieldOf(model, "unk_id").is_null()) {
    DLC_ASSIGN(const uint64_t id, jsonUnsigned(model, "unk_id"));
    unknown = uint32_t(std::min<uint64_t>(id, UINT32_MAX));
  }
  DLC_ASSIGN(to.model, Unigram::create(std::move(vocabulary), unknown,
                                       isFieldSet(model, "byte_fallback")));
  return {};
}

// Of bytes: others are never made of them, such as added tokens that are in the
// vocabulary, too.
Status readByteBpe(const Json &model, BytePairs::Ids vocabulary,
                   BytePairs::Merges merges, TokenizerJson &to) {
  if (isFieldSet(model, "byte_fallback"))
    return refusedName("its model's", "byte_fallback");
  BytePairs::Ids ids;
  for (const auto &[text, id] : vocabulary)
    if (const auto bytes = bytesOfAlphabet(text))
      ids.emplace(*bytes, id);
  for (auto &[left, right] : merges) {
    const auto first = bytesOfAlphabet(left), second = bytesOfAlphabet(right);
    if (!first || !second)
      return failed("its merge '{}' is not of two texts in the byte-level "
                    "alphabet",
                    printable(left + " " + right, 60));
    left = *first, right = *second;
  }
  DLC_ASSIGN(to.model, BytePairs::create(std::move(ids), merges,
                                         isFieldSet(model, "ignore_merges")));
  return {};
}

Status readBpe(const Json &model, TokenizerJson &to) {
  for (const char *name :
       {"dropout", "continuing_subword_prefix", "end_of_word_suffix"})
    if (const Json &value = fieldOf(model, name);
        !value.is_null() && value != "" && value != 0)
      return refusedName("its model's", name);
  DLC_ASSIGN(auto ids, readVocabulary(fieldOf(model, "vocab")));
  DLC_ASSIGN(auto merges, readMerges(fieldOf(model, "merges")));
  if (to.pieces == PieceKind::Matches)
    return readByteBpe(model, std::move(ids), std::move(merges), to);
  BytePairs::Unknown unknown;
  if (!fieldOf(model, "unk_token").is_null()) {
    DLC_ASSIGN(unknown.token, jsonString(model, "unk_token"));
  }
  unknown.fused = isFieldSet(model, "fuse_unk");
  unknown.byBytes = isFieldSet(model, "byte_fallback");
  DLC_ASSIGN(to.model, BytePairs::ofCharacters(
                           std::move(ids), merges,
                           isFieldSet(model, "ignore_merges"), unknown));
  return {};
}

} // namespace

Status readModel(const Json &tokenizer, TokenizerJson &to) {
  const Json &model = fieldOf(tokenizer, "model");
  const std::string type = typeOfField(model);
  if (type == "WordPiece")
    return readWordPiece(model, to);
  if (type == "BPE" || (type.empty() && model.contains("merges")))
    return readBpe(model, to);
  if (type != "Unigram")
    return refusedName("its model", type);
  if (to.pieces == PieceKind::Matches)
    return refusedField("its pre-tokenizer",
                        fieldOf(tokenizer, "pre_tokenizer"));
  return readUnigram(model, to);
}

} // namespace dlc
