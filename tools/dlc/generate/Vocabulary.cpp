// SPDX-License-Identifier: Apache-2.0
#include "tools/dlc/generate/Vocabulary.h"

#include "runtime/base/Text.h"
#include "runtime/base/options/OptionTable.h"

#include <algorithm>

namespace dlc::tool {
namespace {

constexpr std::string_view kWhite = " \t\r\n,";

Result<std::vector<int64_t>> numbersIn(std::string_view text) {
  std::vector<int64_t> numbers;
  for (size_t at = 0; (at = text.find_first_not_of(kWhite, at)) != text.npos;) {
    const size_t end = std::min(text.find_first_of(kWhite, at), text.size());
    const std::string word(text.substr(at, end - at));
    const auto number = parseCount(word, 0, INT32_MAX);
    if (!number)
      return usageError("'{}' in the prompt is not a token id: without "
                        "--tokenizer the prompt consists of token ids",
                        printable(word, 60));
    numbers.push_back(*number);
    at = end;
  }
  return numbers;
}

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

// The number of available bytes of a character, and whether it is complete.
struct CharacterPart {
  size_t bytes;
  bool isWhole, mayGoOn;
};

CharacterPart firstPart(std::string_view text) {
  const auto lead = uint8_t(text[0]);
  if (lead < 0x80)
    return {1, true, false};
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
  return {bytes, bytes == whole, bytes < whole};
}

// Removes complete characters from the start of `bytes` and returns them as
// UTF-8, with one U+FFFD per maximal invalid subpart (Unicode 16, section 3.9).
// An incomplete character at the end remains unless `isEnd`.
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

bool isNumber(const std::string &word) {
  return !word.empty() &&
         std::ranges::all_of(word, [](char c) { return c >= '0' && c <= '9'; });
}

Result<std::string> textIn(const Result<Json> &answer) {
  if (!answer)
    return answer.status();
  return answer->is_string() ? answer->get<std::string>() : "";
}

} // namespace

Result<Vocabulary> Vocabulary::open(const std::string &tokenizer) {
  Vocabulary vocabulary;
  vocabulary.isBytes_ = tokenizer == "bytes";
  if (tokenizer.empty() || vocabulary.isBytes_)
    return vocabulary;
  DLC_ASSIGN(vocabulary.program_, TextProgram::start(tokenizer));
  return vocabulary;
}

// -1 for tokens without a number.
Result<std::vector<int64_t>> Vocabulary::idsOf(const Json &question) const {
  DLC_ASSIGN(const Json answer, program_->ask(question, "ids"));
  std::vector<int64_t> ids;
  for (const Json &id : answer)
    ids.push_back(id.is_number_unsigned() ? id.get<int64_t>() : -1);
  return ids;
}

Result<std::vector<int64_t>> Vocabulary::encode(std::string_view prompt,
                                                bool begins) const {
  if (begins && !program_)
    return usageError("--special-tokens needs --tokenizer=tokenizer.json");
  if (program_) {
    if (!isUtf8(prompt))
      return failed("the prompt is no UTF-8");
    return idsOf({{"encode", prompt}, {"begins", begins}});
  }
  if (!isBytes_)
    return numbersIn(prompt);
  std::vector<int64_t> tokens;
  for (const char c : prompt)
    tokens.push_back(uint8_t(c));
  return tokens;
}

Result<std::set<int64_t>>
Vocabulary::endsOf(const std::vector<std::string> &words) const {
  std::set<int64_t> ends;
  if (words.empty() && program_) {
    DLC_ASSIGN(const auto special, idsOf({{"ends", true}}));
    ends.insert(special.begin(), special.end());
  }
  for (const std::string &word : words) {
    if (word == "none") {
      if (words.size() > 1)
        return usageError("--stop=none, and tokens that end the text");
      continue;
    }
    std::vector<int64_t> token = {-1};
    if (program_ && isUtf8(word)) {
      DLC_ASSIGN(token, idsOf({{"names", Json::array({word})}}));
    }
    if (!token.empty() && token[0] >= 0)
      ends.insert(token[0]);
    else if (isNumber(word)) {
      DLC_ASSIGN(const int64_t number, parseCount(word, 0, INT32_MAX));
      ends.insert(number);
    } else
      return usageError("--stop: '{}' is no token{}", printable(word, 60),
                        program_ ? " of the tokenizer"
                                 : "'s number, and there is no tokenizer");
  }
  return ends;
}

Result<std::string> Vocabulary::nameOf(int64_t token) const {
  if (!program_)
    return std::to_string(token);
  DLC_ASSIGN(const Json name, program_->ask({{"name", token}}, "name"));
  return name.is_string()
             ? fmt::format("'{}' ({})", printable(name.get<std::string>(), 60),
                           token)
             : std::to_string(token);
}

Vocabulary::Stream::Stream(const Vocabulary &vocabulary, bool asNumbers)
    : asNumbers_(asNumbers || (!vocabulary.program_ && !vocabulary.isBytes_)),
      isBytes_(vocabulary.isBytes_), program_(vocabulary.program_) {}

Status Vocabulary::Stream::skip(const std::vector<int64_t> &tokens) {
  return asNumbers_ || isBytes_
             ? Status()
             : program_->ask({{"skip", tokens}}, "skipped").status();
}

Result<std::string> Vocabulary::Stream::add(int64_t token) {
  if (asNumbers_)
    return std::exchange(isFirst_, false) ? std::to_string(token)
                                          : fmt::format(" {}", token);
  if (!isBytes_)
    return textIn(program_->ask({{"push", token}}, "text"));
  bytes_ += char(token); // the command rejects values above 255
  return takeUtf8(bytes_, false);
}

Result<std::string> Vocabulary::Stream::finish() {
  if (asNumbers_)
    return std::string();
  return isBytes_ ? Result<std::string>(takeUtf8(bytes_, true))
                  : textIn(program_->ask({{"finish", true}}, "text"));
}

} // namespace dlc::tool
