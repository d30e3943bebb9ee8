#include "runtime/data/text/Tokenizer.h"

#include "runtime/base/files/Files.h"
#include "runtime/base/process/Memory.h"
#include "runtime/base/process/Parallel.h"
#include "runtime/data/text/Unicode.h"

#include <algorithm>
#include <atomic>

namespace dlc {
namespace {

constexpr size_t kTextPart = 1 << 20;   // bytes that a thread takes at once
constexpr size_t kPiecesKept = 1 << 16; // whose tokens a thread remembers
constexpr size_t kLongestKept = 64;     // bytes
constexpr uint64_t kMaxTokenizer = 256 << 20;

bool isAsciiLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

int64_t lineOf(std::string_view text, size_t at) {
  return 1 + std::count(text.begin(), text.begin() + ptrdiff_t(at), '\n');
}

} // namespace

Result<std::shared_ptr<const Tokenizer>>
Tokenizer::open(const std::string &path) {
  DLC_ASSIGN(const std::string text, readFile(path, kMaxTokenizer));
  auto json = parseTokenizerJson(text);
  if (!json) // nobody says of it that it is ours, so that it is not corrupt
    return failed("'{}': {}", path, json.status().message());
  auto tokenizer = std::make_shared<Tokenizer>();
  tokenizer->json_ = *std::move(json);
  for (const AddedToken &token : tokenizer->json_.added) {
    tokenizer->added_[token.isNormalized][uint8_t(token.text[0])].push_back(
        token);
    tokenizer->mayCut_ &= token.text.find_first_of(" \n") == token.text.npos;
  }
  for (AddedByByte &list : tokenizer->added_)
    for (auto &tokens : list)
      std::stable_sort(tokens.begin(), tokens.end(), [](auto &a, auto &b) {
        return a.text.size() > b.text.size();
      });
  return tokenizer;
}

// One thread's part of the work.
class Tokenizer::Encoder {
public:
  explicit Encoder(const Tokenizer &tokenizer) : tokenizer_(tokenizer) {}

  // Text without a part of an added token at its ends. `list`: which added
  // tokens are still looked for.
  void encode(std::string_view text, std::vector<uint32_t> &tokens,
              size_t list = 0) {
    if (list == tokenizer_.added_.size())
      return encodePieces(text, tokens);
    size_t begin = 0;
    for (size_t at = 0; at < text.size();) {
      const AddedToken *token = addedAt(text.substr(at), list);
      if (!token) {
        ++at;
        continue;
      }
      encode(text.substr(begin, at - begin), tokens, list + 1);
      tokens.push_back(token->id);
      begin = at += token->text.size();
    }
    encode(text.substr(begin), tokens, list + 1);
  }

private:
  const AddedToken *addedAt(std::string_view text, size_t list) const {
    for (const AddedToken &token : tokenizer_.added_[list][uint8_t(text[0])])
      if (text.starts_with(token.text))
        return &token;
    return nullptr;
  }

  void encodePieces(std::string_view text, std::vector<uint32_t> &tokens) {
    if (tokenizer_.json_.words)
      return eachBertWord(
          text, tokenizer_.json_.bert,
          [&](std::string_view word) { encodePiece(word, tokens); });
    while (!text.empty()) {
      const size_t size = firstPiece(text, tokenizer_.json_.pattern);
      encodePiece(text.substr(0, size), tokens);
      text.remove_prefix(size);
    }
  }

  void encodePiece(std::string_view piece, std::vector<uint32_t> &tokens) {
    if (piece.size() > kLongestKept)
      return encodeNew(piece, tokens);
    key_.assign(piece);
    auto found = known_.find(key_);
    if (found == known_.end()) {
      if (known_.size() >= kPiecesKept)
        known_.clear();
      found = known_.emplace(key_, std::vector<uint32_t>()).first;
      encodeNew(piece, found->second);
    }
    tokens.insert(tokens.end(), found->second.begin(), found->second.end());
  }

  void encodeNew(std::string_view piece, std::vector<uint32_t> &tokens) const {
    if (tokenizer_.json_.words)
      tokenizer_.json_.words->encode(piece, tokens);
    else
      tokenizer_.json_.pairs.encode(piece, tokens);
  }

  const Tokenizer &tokenizer_;
  std::unordered_map<std::string, std::vector<uint32_t>> known_;
  std::string key_;
};

// Where a piece begins for sure, at `from` or behind it: white space behind a
// letter, which no match goes across.
size_t Tokenizer::nextCut(std::string_view text, size_t from) const {
  for (size_t at = from; mayCut_ && at < text.size(); ++at)
    if ((text[at] == ' ' || text[at] == '\n') && isAsciiLetter(text[at - 1]))
      return at;
  return text.size();
}

// What could not be encoded exactly.
Status Tokenizer::check(std::string_view text) const {
  if (const size_t wrong = findNoUtf8(text); wrong != text.npos)
    return failed("line {} is no UTF-8", lineOf(text, wrong));
  const bool strips = json_.words && json_.bert.stripsAccents;
  const size_t wrong = json_.isNfc ? findNotNfc(text)
                       : strips    ? findMisplacedMark(text)
                                   : text.npos;
  if (wrong == text.npos)
    return {};
  return failed(
      "line {} has U+{:04X}, which the tokenizer's normalizer {}: "
      "write tokens with its own tokenizer as a .bin instead",
      lineOf(text, wrong), uint32_t(firstChar(text.substr(wrong)).character),
      json_.isNfc ? "NFC may change" : "puts before the mark that it follows");
}

Result<std::vector<uint32_t>> Tokenizer::encode(std::string_view text) const {
  DLC_TRY(check(text));
  std::vector<std::string_view> parts;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.size() - at <= kTextPart
                           ? text.size()
                           : nextCut(text, at + kTextPart);
    parts.push_back(text.substr(at, end - at));
    at = end;
  }
  std::vector<std::vector<uint32_t>> tokens(parts.size());
  std::atomic<size_t> next = 0;
  const auto most = std::max<size_t>(parts.size(), 1);
  runTogether(std::clamp<size_t>(size_t(coresOfProcess()), 1, most), [&] {
    Encoder encoder(*this);
    for (size_t i; (i = next++) < parts.size();)
      encoder.encode(parts[i], tokens[i]);
  });
  size_t count = 0;
  for (const auto &some : tokens)
    count += some.size();
  DLC_TRY(checkMemory(count * sizeof(uint32_t), "the tokens of a text"));
  std::vector<uint32_t> all;
  all.reserve(count);
  for (auto &some : tokens) {
    all.insert(all.end(), some.begin(), some.end());
    some = {};
  }
  return all;
}

} // namespace dlc
