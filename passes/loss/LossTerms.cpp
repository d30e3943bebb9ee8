#include "passes/loss/LossTerms.h"
#include "llvm/ADT/SmallVector.h"
#include <cmath>

using llvm::StringRef;

namespace dlc {

bool isLossList(StringRef text) { return text.contains(':'); }

std::optional<std::vector<LossTerm>> parseLossTerms(StringRef text,
                                                    std::string &wrong) {
  llvm::SmallVector<StringRef> words;
  text.split(words, ',');
  std::vector<LossTerm> terms;
  for (StringRef word : words) {
    LossTerm term;
    auto [head, tail] = word.rsplit(':');
    if (double weight; !tail.getAsDouble(weight) && head.contains(':')) {
      term.weight = weight;
      std::tie(head, tail) = head.rsplit(':');
    }
    term.output = head.str();
    term.kind = tail.str();
    bool known = llvm::any_of(terms, [&](const LossTerm &other) {
      return other.output == term.output;
    });
    if (head.empty() || tail.empty() || !std::isfinite(term.weight) || known) {
      wrong = "expected OUTPUT:KIND[:WEIGHT],... with each output once, found "
              "'" +
              word.str() + "'";
      return std::nullopt;
    }
    terms.push_back(std::move(term));
  }
  return terms;
}

} // namespace dlc
