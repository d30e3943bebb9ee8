// SPDX-License-Identifier: Apache-2.0
#include "passes/loss/LossTerms.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>

using llvm::StringRef;

namespace dlc {

bool isLossList(StringRef text) { return text.contains(':'); }

namespace {

/// Removes an optional field from the end of `word`; false if there is none, or
/// it is a duplicate.
bool takeField(StringRef &word, LossTerm &term, bool &weighs) {
  auto [head, tail] = word.rsplit(':');
  if (!head.contains(':'))
    return false;
  double number;
  if (!weighs && !tail.getAsDouble(number)) {
    term.weight = number;
    weighs = true;
  } else if (StringRef text = tail; !term.label &&
                                    text.consume_front("label=") &&
                                    !text.getAsDouble(number)) {
    term.label = number;
  } else if (StringRef name = tail;
             term.name.empty() && name.consume_front("as=") && !name.empty()) {
    term.name = name.str();
  } else {
    return false;
  }
  word = head;
  return true;
}

} // namespace

std::optional<std::vector<LossTerm>> parseLossTerms(StringRef text,
                                                    std::string &wrong) {
  llvm::SmallVector<StringRef> words;
  text.split(words, ',');
  std::vector<LossTerm> terms;
  for (StringRef word : words) {
    LossTerm term;
    bool weighs = false;
    StringRef rest = word;
    while (takeField(rest, term, weighs))
      ;
    auto [head, tail] = rest.rsplit(':');
    term.output = head.str();
    term.kind = tail.str();
    if (term.name.empty())
      term.name = term.output;
    if (head.empty() || tail.empty() || !std::isfinite(term.weight) ||
        !std::isfinite(term.label.value_or(0))) {
      wrong = "expected OUTPUT:KIND[:WEIGHT][:label=NUMBER][:as=NAME],..., "
              "found '" +
              word.str() + "'";
      return std::nullopt;
    }
    if (llvm::any_of(terms, [&](const LossTerm &other) {
          return other.name == term.name;
        })) {
      wrong = "two losses are called '" + term.name +
              "'; give one another name, as in '" + word.str() + ":as=NAME'";
      return std::nullopt;
    }
    terms.push_back(std::move(term));
  }
  return terms;
}

Result<LossParams> parseLossParams(const std::string &text,
                                   llvm::ArrayRef<std::string> losses) {
  size_t found = losses.size(); // the longest name that matches
  for (size_t i = 0; i < losses.size(); ++i)
    if (text.size() > losses[i].size() + 1 &&
        StringRef(text).ends_with(":" + losses[i]) &&
        (found == losses.size() || losses[i].size() > losses[found].size()))
      found = i;
  if (found == losses.size())
    return usageError("expected REGEX:LOSS with one of the losses {}, found "
                      "'{}'",
                      llvm::join(losses, ", "), text);
  DLC_ASSIGN(auto pattern, Pattern::parse(text.substr(
                               0, text.size() - losses[found].size() - 1)));
  return LossParams{std::move(pattern), found};
}

} // namespace dlc
