// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/text/unicode/Graphemes.h"

#include <algorithm>

namespace dlc {
namespace {

struct GraphemeChar {
  GraphemeKind kind = GraphemeKind::Other;
  uint8_t flags = 0;
};

GraphemeChar lookUp(char32_t c) {
  if (c < 0x7f)
    return {c < ' ' ? GraphemeKind::Control : GraphemeKind::Other, 0};
  if (c >= 0xac00 && c < 0xd7a4)
    return {(c - 0xac00) % 28 ? GraphemeKind::HangulLVT
                              : GraphemeKind::HangulLV,
            0};
  const UnicodeRange *range = findRange(kGraphemes, kGraphemesCount, c);
  if (!range)
    return {};
  return {GraphemeKind(range->value & 0xf), uint8_t(range->value & 0xf0)};
}

// The rules between two characters, with what they ask of those before.
class GraphemeRules {
public:
  // Whether `next` goes on with the cluster.
  bool joins(GraphemeChar next) const {
    using enum GraphemeKind;
    const GraphemeKind a = last_.kind, b = next.kind;
    if (a == Control || b == Control)
      return false;
    if (b == Extend || b == Joiner || b == SpacingMark || a == Prepend)
      return true;
    if (a == HangulL &&
        (b == HangulL || b == HangulV || b == HangulLV || b == HangulLVT))
      return true;
    if ((a == HangulLV || a == HangulV) && (b == HangulV || b == HangulT))
      return true;
    if ((a == HangulLVT || a == HangulT) && b == HangulT)
      return true;
    if (next.flags & kConsonant && isLinked_)
      return true;
    if (next.flags & kPictographic && a == Joiner && isPicture_)
      return true;
    return a == Regional && b == Regional && regionals_ % 2 == 1;
  }

  void add(GraphemeChar c, char32_t character) {
    using enum GraphemeKind;
    constexpr char32_t kNonJoiner = 0x200c;
    // A consonant, then linkers and marks.
    if (c.flags & kConsonant) {
      isConsonant_ = true, isLinked_ = false;
    } else if (c.flags & kLinker) {
      isLinked_ = isConsonant_;
    } else if ((c.kind != Extend && c.kind != Joiner) ||
               character == kNonJoiner) {
      isConsonant_ = isLinked_ = false;
    }
    // A picture, then marks, then a joiner.
    if (c.flags & kPictographic)
      isPicture_ = true;
    else if (c.kind != Joiner && (c.kind != Extend || last_.kind == Joiner))
      isPicture_ = false;
    else if (c.kind == Joiner && last_.kind == Joiner)
      isPicture_ = false;
    regionals_ = c.kind == Regional ? regionals_ + 1 : 0;
    last_ = c;
  }

private:
  GraphemeChar last_;
  bool isConsonant_ = false, isLinked_ = false, isPicture_ = false;
  int regionals_ = 0;
};

} // namespace

size_t firstGrapheme(std::string_view text) {
  const auto isPlain = [&](size_t at) {
    return at >= text.size() || (text[at] >= ' ' && uint8_t(text[at]) < 0x7f);
  };
  if (isPlain(0) && isPlain(1)) // most of them
    return 1;
  if (text.starts_with("\r\n"))
    return 2;
  GraphemeRules rules;
  size_t at = 0;
  while (at < text.size()) {
    const Utf8Char c = firstChar(text.substr(at));
    const GraphemeChar kind = lookUp(c.character);
    if (at && !rules.joins(kind))
      break;
    rules.add(kind, c.character);
    at += std::max<size_t>(c.bytes, 1);
  }
  return at;
}

} // namespace dlc
