#include "runtime/data/text/TokenizerJson.h"

#include "runtime/base/Json.h"
#include "runtime/base/Text.h"
#include "runtime/data/text/Unicode.h"

#include <optional>

namespace dlc {
namespace {

// A member, or null where there is none.
const Json &memberOf(const Json &object, const char *name) {
  static const Json none;
  if (!object.is_object())
    return none;
  const auto found = object.find(name);
  return found == object.end() ? none : *found;
}

std::string typeOf(const Json &object) {
  const Json &type = memberOf(object, "type");
  return type.is_string() ? type.get<std::string>() : "";
}

bool isSet(const Json &object, const char *flag) {
  const Json &value = memberOf(object, flag);
  return value.is_boolean() && value.get<bool>();
}

// The bytes that a text of the byte-level alphabet stands for: printable ones
// as they are, the others as characters from 256 on, in order.
class ByteAlphabet {
public:
  ByteAlphabet() {
    char32_t next = 256;
    for (int byte = 0; byte < 256; ++byte) {
      const bool isPlain = (byte >= '!' && byte <= '~') ||
                           (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
      bytes_[isPlain ? char32_t(byte) : next++] = char(byte);
    }
  }

  std::optional<std::string> bytesOf(std::string_view text) const {
    std::string bytes;
    while (!text.empty()) {
      const Utf8Char c = firstChar(text);
      const auto found = bytes_.find(c.character);
      if (c.bytes == 0 || found == bytes_.end())
        return std::nullopt;
      bytes += found->second;
      text.remove_prefix(c.bytes);
    }
    return bytes;
  }

private:
  std::unordered_map<char32_t, char> bytes_;
};

class TokenizerReader {
public:
  explicit TokenizerReader(const Json &json) : json_(json) {}

  Result<TokenizerJson> read() {
    if (!memberOf(json_, "model").is_object())
      return failed("is no tokenizer: it has no 'model'");
    if (typeOf(memberOf(json_, "model")) == "WordPiece") {
      DLC_TRY(readBert());
      DLC_TRY(readAdded());
      DLC_TRY(readWordPiece());
      return std::move(found_);
    }
    DLC_TRY(readNormalizer());
    DLC_TRY(readPreTokenizer());
    DLC_TRY(readAdded());
    DLC_TRY(readModel());
    return std::move(found_);
  }

private:
  static Status refused(std::string_view what, const std::string &found) {
    return failed("{} '{}' is not supported: byte-level BPE is, as of GPT-2, "
                  "Llama 3 and Qwen 2, and WordPiece, as of BERT; write tokens "
                  "with its own tokenizer as a .bin instead",
                  what, printable(found));
  }

  Status readNormalizer() {
    const Json &normalizer = memberOf(json_, "normalizer");
    if (normalizer.is_null())
      return {};
    found_.isNfc = typeOf(normalizer) == "NFC";
    return found_.isNfc ? Status()
                        : refused("its normalizer", typeOf(normalizer));
  }

  Status readPreTokenizer() {
    const Json &pre = memberOf(json_, "pre_tokenizer");
    const Json *byteLevel = &pre;
    if (typeOf(pre) == "Sequence") {
      const Json &parts = memberOf(pre, "pretokenizers");
      if (!parts.is_array() || parts.size() != 2)
        return refused("its pre-tokenizer", dumpJson(pre));
      DLC_TRY(readSplit(parts[0]));
      byteLevel = &parts[1];
    }
    const bool splits = byteLevel != &pre;
    if (typeOf(*byteLevel) != "ByteLevel")
      return refused("its pre-tokenizer",
                     pre.is_null() ? "none" : typeOf(*byteLevel));
    if (isSet(*byteLevel, "add_prefix_space"))
      return refused("its pre-tokenizer's", "add_prefix_space");
    const bool usesRegex = memberOf(*byteLevel, "use_regex").is_null() ||
                           isSet(*byteLevel, "use_regex");
    if (usesRegex == splits)
      return refused("its pre-tokenizer", dumpJson(pre));
    return {};
  }

  // BertNormalizer and BertPreTokenizer.
  Status readBert() {
    const Json &normalizer = memberOf(json_, "normalizer");
    if (typeOf(normalizer) != "BertNormalizer")
      return refused("its normalizer",
                     normalizer.is_null() ? "none" : typeOf(normalizer));
    BertRules &bert = found_.bert;
    const auto read = [&](const char *name, bool otherwise) {
      return memberOf(normalizer, name).is_null() ? otherwise
                                                  : isSet(normalizer, name);
    };
    bert.cleans = read("clean_text", true);
    bert.spacesChinese = read("handle_chinese_chars", true);
    bert.lowers = read("lowercase", true);
    bert.stripsAccents = read("strip_accents", bert.lowers);
    const Json &pre = memberOf(json_, "pre_tokenizer");
    if (typeOf(pre) != "BertPreTokenizer")
      return refused("its pre-tokenizer", pre.is_null() ? "none" : typeOf(pre));
    return {};
  }

  Status readWordPiece() {
    for (const AddedToken &token : found_.added)
      if (token.isNormalized)
        return refused(
            fmt::format("its added token '{}':", printable(token.text, 60)),
            "normalized");
    const Json &model = memberOf(json_, "model");
    DLC_ASSIGN(auto ids, readVocabulary(memberOf(model, "vocab")));
    DLC_ASSIGN(std::string prefix,
               jsonString(model, "continuing_subword_prefix"));
    DLC_ASSIGN(const std::string unknown, jsonString(model, "unk_token"));
    DLC_ASSIGN(const uint64_t most,
               jsonUnsigned(model, "max_input_chars_per_word"));
    DLC_ASSIGN(
        found_.words,
        WordPieces::create(std::move(ids), std::move(prefix), unknown, most));
    return {};
  }

  static Result<std::unordered_map<std::string, uint32_t>>
  readVocabulary(const Json &vocabulary) {
    if (!vocabulary.is_object())
      return failed("its model has no 'vocab'");
    std::unordered_map<std::string, uint32_t> ids;
    for (const auto &[text, id] : vocabulary.items()) {
      if (!id.is_number_unsigned() || id.get<uint64_t>() > UINT32_MAX)
        return failed("its vocabulary has '{}' with the id {}",
                      printable(text, 60), dumpJson(id));
      ids.emplace(text, id.get<uint32_t>());
    }
    return ids;
  }

  Status readSplit(const Json &split) {
    const Json &regex = memberOf(memberOf(split, "pattern"), "Regex");
    const auto pattern = regex.is_string()
                             ? piecePatternOf(regex.get<std::string>())
                             : std::nullopt;
    const Json &behavior = memberOf(split, "behavior");
    if (typeOf(split) != "Split" || !pattern || behavior != "Isolated" ||
        isSet(split, "invert"))
      return refused("its pre-tokenizer", dumpJson(split));
    found_.pattern = *pattern;
    return {};
  }

  Status readAdded() {
    for (const Json &entry : memberOf(json_, "added_tokens")) {
      AddedToken token;
      DLC_ASSIGN(token.text, jsonString(entry, "content"));
      DLC_ASSIGN(const uint64_t id, jsonUnsigned(entry, "id"));
      if (token.text.empty() || id > UINT32_MAX)
        return failed("its added token '{}' has the id {}",
                      printable(token.text, 60), id);
      for (const char *flag : {"single_word", "lstrip", "rstrip"})
        if (isSet(entry, flag))
          return refused(
              fmt::format("its added token '{}':", printable(token.text, 60)),
              flag);
      token.id = uint32_t(id);
      token.isNormalized = isSet(entry, "normalized");
      found_.added.push_back(std::move(token));
    }
    return {};
  }

  Status readModel() {
    const Json &model = memberOf(json_, "model");
    const std::string type = typeOf(model);
    if (type != "BPE" && !(type.empty() && model.contains("merges")))
      return refused("its model", type);
    for (const char *name :
         {"dropout", "continuing_subword_prefix", "end_of_word_suffix"})
      if (const Json &value = memberOf(model, name);
          !value.is_null() && value != "" && value != 0)
        return refused("its model's", name);
    if (isSet(model, "byte_fallback"))
      return refused("its model's", "byte_fallback");
    DLC_ASSIGN(const auto vocabulary, readVocabulary(memberOf(model, "vocab")));
    std::unordered_map<std::string, uint32_t> ids;
    // Others are never made of bytes: added tokens that are here, too.
    for (const auto &[text, id] : vocabulary)
      if (const auto bytes = alphabet_.bytesOf(text))
        ids.emplace(*bytes, id);
    DLC_ASSIGN(const auto merges, readMerges(memberOf(model, "merges")));
    DLC_ASSIGN(found_.pairs, BytePairs::create(std::move(ids), merges,
                                               isSet(model, "ignore_merges")));
    return {};
  }

  // "a b", or ["a", "b"].
  Result<std::vector<std::pair<std::string, std::string>>>
  readMerges(const Json &list) const {
    std::vector<std::pair<std::string, std::string>> merges;
    for (const Json &entry : list) {
      std::string left, right;
      if (entry.is_string()) {
        const std::string both = entry.get<std::string>();
        const size_t blank = both.find(' ');
        left = both.substr(0, blank);
        right = blank == both.npos ? "" : both.substr(blank + 1);
      } else if (entry.is_array() && entry.size() == 2 &&
                 entry[0].is_string() && entry[1].is_string()) {
        left = entry[0].get<std::string>(), right = entry[1].get<std::string>();
      }
      const auto first = alphabet_.bytesOf(left),
                 second = alphabet_.bytesOf(right);
      if (left.empty() || right.empty() || !first || !second)
        return failed("its merge {} is not of two texts in the byte-level "
                      "alphabet",
                      dumpJson(entry));
      merges.emplace_back(*first, *second);
    }
    return merges;
  }

  const Json &json_;
  ByteAlphabet alphabet_;
  TokenizerJson found_;
};

} // namespace

Result<TokenizerJson> parseTokenizerJson(std::string_view text) {
  auto json = parseJson(text);
  if (!json)
    return failed("is no JSON: {}", json.status().message());
  return TokenizerReader(*json).read();
}

} // namespace dlc
