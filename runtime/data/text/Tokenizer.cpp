// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/text/Tokenizer.h"

#include "runtime/base/files/Files.h"
#include "runtime/base/process/Memory.h"
#include "runtime/base/process/Parallel.h"
#include "runtime/data/text/json/TokenizerFields.h"
#include "runtime/data/text/unicode/Unicode.h"

#include <algorithm>
#include <atomic>

namespace dlc {
namespace {

constexpr size_t kTextPart = 1 << 20;   // bytes that a thread takes at once
constexpr size_t kPiecesKept = 1 << 16; // whose tokens a thread remembers
constexpr size_t kLongestKept = 64;     // bytes

int64_t lineOf(std::string_view text, size_t at) {
  return 1 + std::count(text.begin(), text.begin() + ptrdiff_t(at), '\n');
}

} // namespace

Result<std::shared_ptr<const Tokenizer>>
Tokenizer::open(const std::string &path) {
  DLC_ASSIGN(const std::string text, readFile(path, kMaxTokenizerBytes));
  auto json = parseTokenizerJson(text);
  if (!json) // nobody says of it that it is ours, so that it is not corrupt
    return failed("'{}': {}", path, json.status().message());
  auto tokenizer = std::make_shared<Tokenizer>();
  tokenizer->json_ = *std::move(json);
  tokenizer->readAdded();
  tokenizer->mayCut_ &=
      tokenizer->json_.normalizer.mayCut() && tokenizer->mayCutPieces();
  // Of others a line's end is no blank.
  const PieceKind pieces = tokenizer->json_.pieces;
  tokenizer->mayCutLines_ =
      (pieces == PieceKind::Matches || pieces == PieceKind::Words) &&
      tokenizer->json_.normalizer.isEmpty();
  return tokenizer;
}

// A token that is looked for in normalized text is normalized itself.
void Tokenizer::readAdded() {
  for (AddedToken token : json_.added) {
    mayCut_ &=
        token.text.find_first_of(" \n") == token.text.npos && !token.takesRight;
    if (token.isNormalized) {
      TextStretch whole;
      token.text = json_.normalizer.apply(token.text, whole);
    }
    if (!token.text.empty())
      added_[token.isNormalized][uint8_t(token.text[0])].push_back(token);
  }
  for (AddedByByte &list : added_)
    for (auto &tokens : list)
      std::stable_sort(tokens.begin(), tokens.end(), [](auto &a, auto &b) {
        return a.text.size() > b.text.size();
      });
}

// Whether no token has a letter of ASCII and a blank behind it.
bool Tokenizer::mayCutPieces() const {
  const MetaspaceRules &rules = json_.metaspace;
  if (json_.pieces == PieceKind::Matches || json_.pieces == PieceKind::Words ||
      (json_.pieces == PieceKind::Metaspace && rules.splits))
    return true;
  const auto *pairs = std::get_if<BytePairs>(&json_.model);
  if (!pairs || pairs->wholeFirst())
    return false;
  TextStretch inside{.begins = false, .ends = false, .isFirst = false};
  std::string blank = json_.normalizer.apply(" ", inside);
  if (json_.pieces == PieceKind::Metaspace && blank == " ")
    blank = rules.mark;
  for (char c = 'A'; c <= 'z'; ++c)
    if (isAsciiLetter(c)) {
      const std::string text =
          json_.normalizer.apply(std::string(1, c), inside) + blank;
      const std::string_view last =
          std::string_view(text).substr(text.size() - blank.size() - 1);
      if (pairs->firstUnjoined(last) != 1)
        return false;
    }
  return true;
}

// One thread's part of the work.
class Tokenizer::Encoder {
public:
  explicit Encoder(const Tokenizer &tokenizer) : tokenizer_(tokenizer) {}

  // Text without a part of an added token at its ends. `list`: which added
  // tokens are still looked for.
  void encode(std::string_view text, const TextStretch &stretch,
              std::vector<uint32_t> &tokens, size_t list = 0) {
    size_t begin = 0;
    for (size_t at = 0; at < text.size();) {
      const AddedToken *token = addedAt(text.substr(at), list);
      if (!token) {
        ++at;
        continue;
      }
      const size_t end = token->takesLeft ? whiteBefore(text, begin, at) : at;
      encodeBetween(text.substr(begin, end - begin), stretch, begin == 0, false,
                    tokens, list);
      tokens.push_back(token->id);
      begin = at += token->text.size();
      if (token->takesRight)
        begin = at = whiteEnd(text, at);
    }
    encodeBetween(text.substr(begin), stretch, begin == 0, true, tokens, list);
  }

  // Each as a document.
  void encodeLines(std::string_view text, std::vector<uint32_t> &tokens) {
    const SpecialTokens &special = tokenizer_.json_.special;
    while (!text.empty()) {
      const size_t end = std::min(text.find('\n'), text.size());
      std::string_view line = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      if (line.ends_with('\r'))
        line.remove_suffix(1);
      if (line.empty())
        continue;
      tokens.insert(tokens.end(), special.before.begin(), special.before.end());
      encode(line, TextStretch(), tokens);
      tokens.insert(tokens.end(), special.after.begin(), special.after.end());
    }
  }

private:
  // A stretch between the tokens of a list; with an end of the stretch that it
  // is of, or not.
  void encodeBetween(std::string_view text, TextStretch stretch, bool atBegin,
                     bool atEnd, std::vector<uint32_t> &tokens, size_t list) {
    stretch.begins |= !atBegin, stretch.ends |= !atEnd;
    stretch.isFirst &= atBegin;
    if (list == 1)
      return encodePieces(text, stretch, tokens);
    if (tokenizer_.json_.normalizer.isEmpty())
      return encode(text, stretch, tokens, 1);
    encode(tokenizer_.json_.normalizer.apply(text, stretch), stretch, tokens,
           1);
  }

  const AddedToken *addedAt(std::string_view text, size_t list) const {
    for (const AddedToken &token : tokenizer_.added_[list][uint8_t(text[0])])
      if (text.starts_with(token.text))
        return &token;
    return nullptr;
  }

  // Where the white space before `end` begins.
  static size_t whiteBefore(std::string_view text, size_t begin, size_t end) {
    while (end > begin) {
      size_t last = end - 1;
      while (last > begin && (uint8_t(text[last]) & 0xc0) == 0x80)
        --last;
      if (!isWhite(text.substr(last)))
        break;
      end = last;
    }
    return end;
  }

  static size_t whiteEnd(std::string_view text, size_t at) {
    while (at < text.size() && isWhite(text.substr(at)))
      at += firstChar(text.substr(at)).bytes;
    return at;
  }

  static bool isWhite(std::string_view text) {
    const Utf8Char c = firstChar(text);
    return c.bytes && charKind(c.character) == CharKind::Space;
  }

  void encodePieces(std::string_view text, const TextStretch &stretch,
                    std::vector<uint32_t> &tokens) {
    const TokenizerJson &json = tokenizer_.json_;
    switch (json.pieces) {
    case PieceKind::Words:
      return eachBertWord(text, json.bert, [&](std::string_view word) {
        encodePiece(word, tokens);
      });
    case PieceKind::Matches:
      while (!text.empty()) {
        const size_t size = firstPiece(text, json.pattern);
        encodePiece(text.substr(0, size), tokens);
        text.remove_prefix(size);
      }
      return;
    case PieceKind::Metaspace:
      return encodeMetaspace(text, stretch, tokens);
    case PieceKind::Whole:
      return encodeWhole(text, tokens);
    }
  }

  void encodeMetaspace(std::string_view text, const TextStretch &stretch,
                       std::vector<uint32_t> &tokens) {
    const MetaspaceRules &rules = tokenizer_.json_.metaspace;
    using Prepend = MetaspaceRules::Prepend;
    const bool prepends = rules.prepend == Prepend::Always ||
                          (rules.prepend == Prepend::First && stretch.isFirst);
    if (!rules.splitsWhite)
      return encodeMarked(text, prepends && stretch.begins, tokens);
    for (size_t at = whiteEnd(text, 0); at < text.size();) {
      size_t end = at;
      while (end < text.size() && !isWhite(text.substr(end)))
        end += std::max<size_t>(firstChar(text.substr(end)).bytes, 1);
      encodeMarked(text.substr(at, end - at), prepends, tokens);
      at = whiteEnd(text, end);
    }
  }

  // With marks for blanks.
  void encodeMarked(std::string_view text, bool prepends,
                    std::vector<uint32_t> &tokens) {
    const MetaspaceRules &rules = tokenizer_.json_.metaspace;
    if (text.empty())
      return;
    std::string marked;
    if (prepends && text[0] != ' ' && !text.starts_with(rules.mark))
      marked = rules.mark;
    for (const char c : text)
      if (c == ' ')
        marked += rules.mark;
      else
        marked += c;
    std::string_view left = marked;
    while (!left.empty()) {
      const size_t next =
          rules.splits ? left.find(rules.mark, rules.mark.size()) : left.npos;
      const size_t size = std::min(next, left.size());
      if (rules.splits)
        encodePiece(left.substr(0, size), tokens);
      else
        encodeWhole(left, tokens);
      left.remove_prefix(size);
    }
  }

  void encodeWhole(std::string_view text, std::vector<uint32_t> &tokens) {
    const auto *pairs = std::get_if<BytePairs>(&tokenizer_.json_.model);
    if (!pairs || pairs->wholeFirst())
      return encodePiece(text, tokens);
    while (!text.empty()) {
      const size_t size = pairs->firstUnjoined(text);
      encodePiece(text.substr(0, size), tokens);
      text.remove_prefix(size);
    }
  }

  void encodePiece(std::string_view piece, std::vector<uint32_t> &tokens) {
    if (piece.empty())
      return;
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
    std::visit([&](const auto &model) { model.encode(piece, tokens); },
               tokenizer_.json_.model);
  }

  const Tokenizer &tokenizer_;
  std::unordered_map<std::string, std::vector<uint32_t>> known_;
  std::string key_;
};

// Where a piece begins for sure, at `from` or behind it: white space behind a
// letter, which no match goes across.
size_t Tokenizer::nextCut(std::string_view text, size_t from) const {
  for (size_t at = from; mayCut_ && at < text.size(); ++at)
    if ((text[at] == ' ' || (text[at] == '\n' && mayCutLines_)) &&
        isAsciiLetter(text[at - 1]))
      return at;
  return text.size();
}

// What could not be encoded exactly.
Status Tokenizer::check(std::string_view text) const {
  if (const size_t wrong = findNoUtf8(text); wrong != text.npos)
    return failed("line {} is no UTF-8", lineOf(text, wrong));
  const bool strips =
      json_.pieces == PieceKind::Words && json_.bert.stripsAccents;
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

std::optional<Documents> documentsFrom(std::string_view name) {
  if (name == "none")
    return Documents::None;
  if (name == "file")
    return Documents::File;
  return name == "line" ? std::optional(Documents::Line) : std::nullopt;
}

struct Tokenizer::Part {
  std::string_view text;
  TextStretch stretch;
};

// What threads take; of lines, whole ones.
std::vector<Tokenizer::Part> Tokenizer::partsOf(std::string_view text,
                                                bool byLines) const {
  std::vector<Part> parts;
  for (size_t at = 0; at < text.size();) {
    size_t end = text.size();
    if (end - at > kTextPart && byLines)
      end = std::min(text.find('\n', at + kTextPart), end - 1) + 1;
    else if (end - at > kTextPart)
      end = nextCut(text, at + kTextPart);
    parts.push_back(
        {text.substr(at, end - at),
         {.begins = at == 0, .ends = end == text.size(), .isFirst = at == 0}});
    at = end;
  }
  return parts;
}

Result<std::vector<uint32_t>> Tokenizer::encode(std::string_view text,
                                                Documents documents) const {
  DLC_TRY(check(text));
  const SpecialTokens &special = json_.special;
  if (documents != Documents::None)
    DLC_TRY(special.status);
  const auto parts = partsOf(text, documents == Documents::Line);
  std::vector<std::vector<uint32_t>> tokens(parts.size());
  std::atomic<size_t> next = 0;
  const auto most = std::max<size_t>(parts.size(), 1);
  runTogether(std::clamp<size_t>(size_t(coresOfProcess()), 1, most), [&] {
    Encoder encoder(*this);
    for (size_t i; (i = next++) < parts.size();)
      if (documents == Documents::Line)
        encoder.encodeLines(parts[i].text, tokens[i]);
      else
        encoder.encode(parts[i].text, parts[i].stretch, tokens[i]);
  });
  if (documents == Documents::File) {
    tokens.insert(tokens.begin(), special.before);
    tokens.push_back(special.after);
  }
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
