// SPDX-License-Identifier: Apache-2.0
// Regular expressions from users, matched in time linear in the text.
#pragma once

#include "runtime/base/Status.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace re2 {
class RE2;
}

namespace dlc {

// An expression in RE2's syntax: Perl's without look-around and
// back-references. Copies share it; matching is thread-safe. Also searches text
// that is not UTF-8.
class Pattern {
public:
  // Code::Usage, with the error in the expression.
  static Result<Pattern> parse(const std::string &text);

  // Whether it matches anywhere in `name`.
  bool search(std::string_view name) const;
  // The groups of its first match.
  std::optional<std::vector<std::string>> groups(std::string_view line) const;
  const std::string &text() const;

private:
  explicit Pattern(std::shared_ptr<const re2::RE2> regex);
  std::shared_ptr<const re2::RE2> regex_;
};

Result<std::vector<Pattern>>
parsePatterns(const std::vector<std::string> &texts);

// Whether one of them matches in `name`.
bool searchAny(const std::vector<Pattern> &patterns, std::string_view name);

// An expression that matches only `name`.
std::string exactPattern(std::string_view name);

// A hint to append to "REGEX matches no ...": the nearest of `names`, or a few
// of them: "; did you mean 'a'?", "; there are 'a', 'b' and 7 more".
std::string nearbyNames(const std::string &pattern,
                        const std::vector<std::string> &names);

} // namespace dlc
