// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/text/TextNormalizer.h"

#include "runtime/data/text/BertText.h"
#include "runtime/data/text/unicode/Plain.h"

#include <algorithm>

namespace dlc {
namespace {

std::string replaced(std::string_view text, const ReplaceStep &step) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    const size_t found = text.find(step.what, at);
    result += text.substr(at, found - at);
    if (found == text.npos)
      break;
    size_t count = 1;
    at = found + step.what.size();
    if (step.isRun)
      for (; text.substr(at).starts_with(step.what); at += step.what.size())
        ++count;
    result += step.isRun && count == 1 ? step.what : step.by;
  }
  return result;
}

std::string_view stripped(std::string_view text, StripStep step) {
  size_t begin = 0, end = text.size();
  for (Utf8Char c; step.left && begin < end; begin += c.bytes) {
    c = firstChar(text.substr(begin));
    if (c.bytes == 0 || charKind(c.character) != CharKind::Space)
      break;
  }
  while (step.right && end > begin) {
    size_t last = end - 1;
    while (last > begin && (uint8_t(text[last]) & 0xc0) == 0x80)
      --last;
    if (charKind(firstChar(text.substr(last)).character) != CharKind::Space)
      break;
    end = last;
  }
  return text.substr(begin, end - begin);
}

} // namespace

void TextNormalizer::add(NormalizerStep step) {
  steps_.push_back(std::move(step));
}

std::string TextNormalizer::apply(std::string_view text,
                                  TextStretch &stretch) const {
  std::string now(text);
  for (const NormalizerStep &step : steps_) {
    if (const auto *map = std::get_if<std::shared_ptr<const Charsmap>>(&step)) {
      now = (*map)->apply(now);
    } else if (std::holds_alternative<PlainStep>(step)) {
      now = plainText(now);
    } else if (std::holds_alternative<LowerStep>(step)) {
      now = loweredText(now);
    } else if (const auto *replace = std::get_if<ReplaceStep>(&step)) {
      if (replace->by.empty() && now.starts_with(replace->what))
        stretch.isFirst = false;
      now = replaced(now, *replace);
    } else if (const auto *prepend = std::get_if<PrependStep>(&step)) {
      if (stretch.begins && !now.empty())
        now.insert(0, prepend->text);
    } else if (const auto *strip = std::get_if<StripStep>(&step)) {
      const std::string_view left = stripped(
          now, {strip->left && stretch.begins, strip->right && stretch.ends});
      if (!now.empty() && left.data() != now.data())
        stretch.isFirst = false;
      now = std::string(left);
    }
  }
  return now;
}

bool TextNormalizer::prepends() const {
  return std::any_of(steps_.begin(), steps_.end(), [](auto &step) {
    return std::holds_alternative<PrependStep>(step);
  });
}

bool TextNormalizer::endsWithout(std::string_view text) const {
  const auto *last =
      steps_.empty() ? nullptr : std::get_if<ReplaceStep>(&steps_.back());
  return last && !last->isRun && last->what == text &&
         last->by.find(text) == last->by.npos;
}

bool TextNormalizer::mayCut() const {
  for (const NormalizerStep &step : steps_)
    if (const auto *replace = std::get_if<ReplaceStep>(&step))
      for (size_t i = 1; i < replace->what.size(); ++i)
        if (isAsciiLetter(replace->what[i - 1]) &&
            !isAsciiLetter(replace->what[i]))
          return false;
  TextStretch inside{.begins = false, .ends = false, .isFirst = false};
  for (char c = 'A'; c <= 'z'; ++c) {
    const std::string letter = apply(std::string(1, c), inside);
    if (isAsciiLetter(c) && (letter.empty() || !isAsciiLetter(letter.back())))
      return false;
  }
  constexpr std::string_view kMeta = "\u2581";
  const std::string blank = apply(" ", inside);
  return blank == " " || blank == kMeta;
}

} // namespace dlc
