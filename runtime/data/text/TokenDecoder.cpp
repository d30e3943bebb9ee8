// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/text/TokenDecoder.h"

#include "runtime/data/text/unicode/ByteAlphabet.h"
#include "runtime/data/text/unicode/Unicode.h"

#include <algorithm>
#include <utility>

namespace dlc {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd"; // U+FFFD

void replaceAll(std::string &text, std::string_view what, std::string_view by) {
  for (size_t at = 0; (at = text.find(what, at)) != text.npos; at += by.size())
    text.replace(at, what.size(), by);
}

// As the package's WordPiece decoder has it, in its order.
void removeBlanks(std::string &text) {
  constexpr std::pair<const char *, const char *> kRules[] = {
      {" .", "."},   {" ?", "?"},     {" !", "!"},    {" ,", ","},
      {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},  {" do not", " don't"},
      {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto &[what, by] : kRules)
    replaceAll(text, what, by);
}

std::optional<char> byteOf(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>')
    return std::nullopt;
  int value = 0;
  for (const char c : token.substr(3, 2)) {
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0)
      return std::nullopt;
    value = value * 16 + digit;
  }
  return char(value);
}

// How many bytes of a character are there, and whether it is whole.
struct CharacterPart {
  size_t bytes;
  bool isWhole, mayGoOn;
};
CharacterPart firstPart(std::string_view text) {
  if (const uint8_t bytes = firstChar(text).bytes)
    return {bytes, true, false};
  const auto lead = uint8_t(text[0]);
  if (lead < 0xc2 || lead > 0xf4)
    return {1, false, false};
  const size_t whole = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  size_t bytes = 1;
  for (; bytes < std::min(whole, text.size()); ++bytes) {
    const auto next = uint8_t(text[bytes]);
    const uint8_t least = bytes > 1      ? 0x80
                          : lead == 0xe0 ? 0xa0
                          : lead == 0xf0 ? 0x90
                                         : 0x80;
    const uint8_t most = bytes > 1      ? 0xbf
                         : lead == 0xed ? 0x9f
                         : lead == 0xf4 ? 0x8f
                                        : 0xbf;
    if (next < least || next > most)
      return {bytes, false, false};
  }
  return {bytes, false, bytes < whole};
}

} // namespace

std::string takeUtf8(std::string &bytes, bool isEnd) {
  std::string text;
  std::string_view left = bytes;
  while (!left.empty()) {
    const CharacterPart part = firstPart(left);
    if (part.mayGoOn && part.bytes == left.size() && !isEnd)
      break;
    text += part.isWhole ? left.substr(0, part.bytes) : kReplacement;
    left.remove_prefix(part.bytes);
  }
  bytes.erase(0, bytes.size() - left.size());
  return text;
}

const std::string *TokenDecoder::textOf(uint32_t token) const {
  const auto found = texts_.find(token);
  return found == texts_.end() ? nullptr : &found->second;
}

std::optional<uint32_t> TokenDecoder::tokenOf(std::string_view text) const {
  for (const auto &[token, name] : texts_)
    if (name == text)
      return token;
  return std::nullopt;
}

std::vector<uint32_t> TokenDecoder::special() const {
  std::vector<uint32_t> found;
  for (const auto &[token, text] : texts_)
    if (special_.count(text))
      found.push_back(token);
  return found;
}

// Bytes that are UTF-8 together are text; else each is U+FFFD.
std::string TokenDecoder::Stream::takeBytes() {
  std::string bytes = std::exchange(bytes_, {}), text;
  if (findNoUtf8(bytes) == bytes.npos)
    return bytes;
  for (size_t i = 0; i < bytes.size(); ++i)
    text += kReplacement;
  return text;
}

// `left`: so many of the character may still go from the begin.
std::string TokenDecoder::Stream::strip(std::string text,
                                        uint64_t &left) const {
  const std::string &what = decoder_->rules_.stripped;
  for (; left > 0 && text.starts_with(what); --left)
    text.erase(0, what.size());
  return text;
}

// Behind replacing and the joining of bytes.
std::string TokenDecoder::Stream::addText(std::string text) {
  const DecoderRules &rules = decoder_->rules_;
  if (rules.stripped.empty() || text.empty())
    return text;
  if (!rules.fuses) {
    uint64_t left = rules.atBegin;
    text = strip(std::move(text), left);
    for (uint64_t i = 0; i < rules.atEnd && text.ends_with(rules.stripped); ++i)
      text.resize(text.size() - rules.stripped.size());
    return text;
  }
  if (hasText_)
    return text;
  uint64_t left = rules.atBegin - stripped_;
  text = strip(std::move(text), left);
  stripped_ = rules.atBegin - left;
  hasText_ = left == 0 || !text.empty();
  return text;
}

std::string TokenDecoder::Stream::add(uint32_t token) {
  const DecoderRules &rules = decoder_->rules_;
  const std::string *found = decoder_->textOf(token);
  if (!found || (skipsSpecial_ && decoder_->special_.count(*found)))
    return {};
  std::string text = *found;
  const bool isFirst = std::exchange(isFirst_, false);
  switch (rules.kind) {
  case DecoderRules::Kind::Blanks:
    return isFirst ? text : " " + text;
  case DecoderRules::Kind::Bytes:
    bytes_ += bytesOfAlphabet(text).value_or(text);
    return takeUtf8(bytes_, false);
  case DecoderRules::Kind::Marks:
    replaceAll(text, rules.mark, isFirst && rules.dropsFirst ? "" : " ");
    return text;
  case DecoderRules::Kind::WordPiece:
    if (!isFirst && text.starts_with(rules.prefix))
      text.erase(0, rules.prefix.size());
    else if (!isFirst)
      text = " " + text;
    if (rules.cleans)
      removeBlanks(text);
    return text;
  case DecoderRules::Kind::Steps:
    break;
  }
  for (const DecoderRules::Replace &replace : rules.replaces)
    replaceAll(text, replace.what, replace.by);
  if (const auto byte = rules.joinsBytes ? byteOf(text) : std::nullopt) {
    bytes_ += *byte;
    return {};
  }
  std::string before = addText(takeBytes());
  return before + addText(std::move(text));
}

std::string TokenDecoder::Stream::finish() {
  return decoder_->rules_.kind == DecoderRules::Kind::Bytes
             ? takeUtf8(bytes_, true)
             : addText(takeBytes());
}

} // namespace dlc
