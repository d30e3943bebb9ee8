// SPDX-License-Identifier: Apache-2.0
// Regular expressions of users, matched in time linear in the text.
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

// An expression of RE2's syntax: Perl's without look-around and references to
// groups. Copies share it; matching is thread-safe. Text that is no UTF-8 is
// searched, too.
class Pattern {
public:
  // Code::Usage says what is wrong with it.
  static Result<Pattern> parse(const std::string &text);

  // Whether it is found anywhere in `name`.
  bool search(std::string_view name) const;
  // The texts of its groups where it is found first.
  std::optional<std::vector<std::string>> groups(std::string_view line) const;
  const std::string &text() const;

private:
  explicit Pattern(std::shared_ptr<const re2::RE2> regex);
  std::shared_ptr<const re2::RE2> regex_;
};

Result<std::vector<Pattern>>
parsePatterns(const std::vector<std::string> &texts);

// Whether one of them is found in `name`.
bool searchAny(const std::vector<Pattern> &patterns, std::string_view name);

// An expression that matches `name` and nothing else.
std::string exactPattern(std::string_view name);

// What to say behind "REGEX matches no ...": the nearest of `names`, or a few
// of them: "; did you mean 'a'?", "; there are 'a', 'b' and 7 more".
std::string nearbyNames(const std::string &pattern,
                        const std::vector<std::string> &names);

} // namespace dlc
