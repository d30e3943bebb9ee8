// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/options/Pattern.h"

#include "runtime/base/options/Nearest.h"

#include <re2/re2.h>

#include <algorithm>

namespace dlc {
namespace {

constexpr size_t kMaxPattern = 4096; // bytes
constexpr size_t kNamed = 3;         // names given as examples
constexpr size_t kCompared = 1000;   // names looked at for a near one
constexpr size_t kMaxCompared = 100; // bytes of such a name

// The literal text of an expression, without special characters.
std::string plainText(const std::string &pattern) {
  std::string plain;
  for (char c : pattern)
    if (std::string_view("^$\\*+?()[]{}").find(c) == std::string_view::npos)
      plain += c;
  return plain;
}

} // namespace

Pattern::Pattern(std::shared_ptr<const re2::RE2> regex)
    : regex_(std::move(regex)) {}

Result<Pattern> Pattern::parse(const std::string &text) {
  if (text.size() > kMaxPattern)
    return usageError("a regular expression of {} bytes is too long, expected "
                      "at most {}",
                      text.size(), kMaxPattern);
  RE2::Options options(RE2::Quiet);
  auto regex = std::make_shared<const RE2>(text, options);
  if (regex->ok())
    return Pattern(std::move(regex));
  bool perl = regex->error_code() == RE2::ErrorBadPerlOp ||
              regex->error_code() == RE2::ErrorBadEscape;
  return usageError("'{}' is not a regular expression: {}{}", text,
                    regex->error(),
                    perl ? " (the syntax is RE2's, which has no look-around "
                           "and no references to groups)"
                         : "");
}

bool Pattern::search(std::string_view name) const {
  return RE2::PartialMatch({name.data(), name.size()}, *regex_);
}

std::optional<std::vector<std::string>>
Pattern::groups(std::string_view line) const {
  int count = 1 + regex_->NumberOfCapturingGroups();
  std::vector<re2::StringPiece> found(static_cast<size_t>(count));
  re2::StringPiece text(line.data(), line.size());
  if (!regex_->Match(text, 0, text.size(), RE2::UNANCHORED, found.data(),
                     count))
    return std::nullopt;
  std::vector<std::string> texts;
  for (size_t i = 1; i < found.size(); ++i)
    texts.push_back(found[i].as_string());
  return texts;
}

const std::string &Pattern::text() const { return regex_->pattern(); }

Result<std::vector<Pattern>>
parsePatterns(const std::vector<std::string> &texts) {
  std::vector<Pattern> patterns;
  for (const std::string &text : texts) {
    DLC_ASSIGN(Pattern pattern, Pattern::parse(text));
    patterns.push_back(std::move(pattern));
  }
  return patterns;
}

bool searchAny(const std::vector<Pattern> &patterns, std::string_view name) {
  return std::ranges::any_of(patterns,
                             [&](const Pattern &p) { return p.search(name); });
}

std::string exactPattern(std::string_view name) {
  return "^" + RE2::QuoteMeta({name.data(), name.size()}) + "$";
}

std::string nearbyNames(const std::string &pattern,
                        const std::vector<std::string> &names) {
  if (names.empty())
    return "; there are none";
  std::vector<std::string> compared;
  for (const std::string &name : names)
    if (name.size() <= kMaxCompared && compared.size() < kCompared)
      compared.push_back(name);
  std::string plain = plainText(pattern).substr(0, kMaxCompared);
  if (std::string near = suggestion(plain, compared); !near.empty())
    return near;
  std::string text = "; there ";
  text += names.size() == 1 ? "is" : "are";
  for (size_t i = 0; i < std::min(names.size(), kNamed); ++i)
    text += fmt::format("{} '{}'", i ? "," : "", names[i]);
  if (names.size() > kNamed)
    text += fmt::format(" and {} more", names.size() - kNamed);
  return text;
}

} // namespace dlc
