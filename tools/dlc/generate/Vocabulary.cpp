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
      return usageError("'{}' in the prompt is no token's number: without "
                        "--tokenizer tokens are numbers",
                        printable(word, 60));
    numbers.push_back(*number);
    at = end;
  }
  return numbers;
}

bool isNumber(const std::string &word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return c >= '0' && c <= '9';
  });
}

} // namespace

Result<Vocabulary> Vocabulary::open(const std::string &tokenizer) {
  Vocabulary vocabulary;
  vocabulary.isBytes_ = tokenizer == "bytes";
  if (tokenizer.empty() || vocabulary.isBytes_)
    return vocabulary;
  DLC_ASSIGN(vocabulary.tokenizer_, Tokenizer::open(tokenizer));
  DLC_ASSIGN(vocabulary.decoder_, TokenDecoder::open(tokenizer));
  return vocabulary;
}

Result<std::vector<int64_t>> Vocabulary::encode(std::string_view prompt,
                                                bool begins) const {
  std::vector<int64_t> tokens;
  if (begins && !tokenizer_)
    return usageError("--special-tokens needs --tokenizer=tokenizer.json");
  if (begins) {
    DLC_TRY(tokenizer_->special().status);
    const auto &before = tokenizer_->special().before;
    tokens.assign(before.begin(), before.end());
  }
  if (tokenizer_) {
    auto text = tokenizer_->encode(prompt);
    if (!text)
      return text.status().withContext("the prompt");
    tokens.insert(tokens.end(), text->begin(), text->end());
  } else if (isBytes_) {
    for (const char c : prompt)
      tokens.push_back(uint8_t(c));
  } else {
    return numbersIn(prompt);
  }
  return tokens;
}

Result<std::set<int64_t>>
Vocabulary::endsOf(const std::vector<std::string> &words) const {
  std::set<int64_t> ends;
  if (words.empty() && decoder_)
    for (const uint32_t token : decoder_->special())
      if (token != decoder_->unknown())
        ends.insert(token);
  for (const std::string &word : words) {
    if (word == "none") {
      if (words.size() > 1)
        return usageError("--stop=none, and tokens that end the text");
      continue;
    }
    const auto token = decoder_ ? decoder_->tokenOf(word) : std::nullopt;
    if (token)
      ends.insert(*token);
    else if (isNumber(word)) {
      DLC_ASSIGN(const int64_t number, parseCount(word, 0, INT32_MAX));
      ends.insert(number);
    } else
      return usageError("--stop: '{}' is no token{}", printable(word, 60),
                        decoder_ ? " of the tokenizer"
                                 : "'s number, and there is no tokenizer");
  }
  return ends;
}

std::string Vocabulary::nameOf(int64_t token) const {
  const std::string *text =
      decoder_ ? decoder_->textOf(uint32_t(token)) : nullptr;
  return text ? fmt::format("'{}' ({})", printable(*text, 60), token)
              : std::to_string(token);
}

Vocabulary::Stream::Stream(const Vocabulary &vocabulary, bool asNumbers)
    : asNumbers_(asNumbers || (!vocabulary.decoder_ && !vocabulary.isBytes_)),
      isBytes_(vocabulary.isBytes_) {
  if (vocabulary.decoder_)
    text_.emplace(*vocabulary.decoder_, true);
}

void Vocabulary::Stream::skip(const std::vector<int64_t> &tokens) {
  for (const int64_t token : tokens)
    if (text_)
      text_->add(uint32_t(token));
  if (text_)
    text_->finish();
}

std::string Vocabulary::Stream::add(int64_t token) {
  if (asNumbers_)
    return std::exchange(isFirst_, false) ? std::to_string(token)
                                          : fmt::format(" {}", token);
  if (!isBytes_)
    return text_->add(uint32_t(token));
  bytes_ += char(token); // what is above 255 is refused by the command
  return takeUtf8(bytes_, false);
}

std::string Vocabulary::Stream::finish() {
  if (asNumbers_)
    return {};
  return isBytes_ ? takeUtf8(bytes_, true) : text_->finish();
}

} // namespace dlc::tool
