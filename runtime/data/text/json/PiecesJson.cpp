// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/text/json/TokenizerFields.h"

#include "runtime/base/Text.h"

#include <optional>

namespace dlc {
namespace {

constexpr const char *kWhat = "its pre-tokenizer";

// The parts of a sequence, or the one there is.
std::vector<const Json *> preTokenizersOf(const Json &pre) {
  if (typeOfField(pre) != "Sequence")
    return {&pre};
  std::vector<const Json *> parts;
  for (const Json &part : fieldOf(pre, "pretokenizers"))
    parts.push_back(&part);
  return parts;
}

Status readSplit(const Json &split, TokenizerJson &to) {
  const Json &regex = fieldOf(fieldOf(split, "pattern"), "Regex");
  const auto pattern = regex.is_string()
                           ? piecePatternOf(regex.get<std::string>())
                           : std::nullopt;
  if (typeOfField(split) != "Split" || !pattern ||
      fieldOf(split, "behavior") != "Isolated" || isFieldSet(split, "invert"))
    return refusedName(kWhat, dumpJson(split));
  to.pattern = *pattern;
  return {};
}

// Its own regular expression, or the one before it.
Status readByteLevel(const std::vector<const Json *> &parts,
                     TokenizerJson &to) {
  to.pieces = PieceKind::Matches;
  const Json &byteLevel = *parts.back();
  const bool splits = parts.size() > 1;
  if (splits)
    DLC_TRY(readSplit(*parts[0], to));
  if (isFieldSet(byteLevel, "add_prefix_space"))
    return refusedName("its pre-tokenizer's", "add_prefix_space");
  if (isFieldSet(byteLevel, "use_regex", true) == splits)
    return refusedName(kWhat, dumpJson(byteLevel));
  return {};
}

Status readMetaspace(const std::vector<const Json *> &parts,
                     TokenizerJson &to) {
  to.pieces = PieceKind::Metaspace;
  MetaspaceRules &rules = to.metaspace;
  rules.splitsWhite = parts.size() > 1;
  if (rules.splitsWhite && typeOfField(*parts[0]) != "WhitespaceSplit")
    return refusedField(kWhat, *parts[0]);
  const Json &pre = *parts.back();
  DLC_ASSIGN(rules.mark, jsonString(pre, "replacement"));
  if (rules.mark.empty())
    return failed("its pre-tokenizer's replacement is empty");
  using Prepend = MetaspaceRules::Prepend;
  const bool adds = isFieldSet(pre, "add_prefix_space", true);
  rules.prepend = adds ? Prepend::Always : Prepend::Never;
  if (const Json &scheme = fieldOf(pre, "prepend_scheme"); !scheme.is_null()) {
    if (scheme != "always" && scheme != "first" && scheme != "never")
      return refusedName("its pre-tokenizer's prepend_scheme",
                         dumpJson(scheme));
    rules.prepend = scheme == "always"  ? Prepend::Always
                    : scheme == "first" ? Prepend::First
                                        : Prepend::Never;
  }
  rules.splits = isFieldSet(pre, "split", true);
  // Where a word begins in the text then depends on what was before it.
  if (rules.prepend == Prepend::First &&
      (rules.splitsWhite || to.normalizer.prepends()))
    return refusedName("its pre-tokenizer's prepend_scheme", "first");
  return {};
}

// A split at blanks, of which the normalizer leaves none.
bool splitsNothing(const Json &split, const TokenizerJson &to) {
  const Json &pattern = fieldOf(fieldOf(split, "pattern"), "String");
  return typeOfField(split) == "Split" && pattern == " " &&
         to.normalizer.endsWithout(" ") && !isFieldSet(split, "invert");
}

} // namespace

Status readPreTokenizer(const Json &tokenizer, TokenizerJson &to) {
  const Json &pre = fieldOf(tokenizer, "pre_tokenizer");
  const auto parts = preTokenizersOf(pre);
  const std::string last = parts.empty() ? "" : typeOfField(*parts.back());
  if (typeOfField(fieldOf(tokenizer, "model")) == "WordPiece") {
    to.pieces = PieceKind::Words;
    return typeOfField(pre) == "BertPreTokenizer" ? Status()
                                                  : refusedField(kWhat, pre);
  }
  if (parts.empty() || parts.size() > 2)
    return refusedName(kWhat, dumpJson(pre));
  if (last == "ByteLevel")
    return readByteLevel(parts, to);
  if (last == "Metaspace")
    return readMetaspace(parts, to);
  to.pieces = PieceKind::Whole;
  if (pre.is_null() || (parts.size() == 1 && splitsNothing(pre, to)))
    return {};
  return refusedField(kWhat, *parts.back());
}

} // namespace dlc
