// SPDX-License-Identifier: Apache-2.0
#include "compiler/placement/Wishes.h"
#include "compiler/target/Target.h"
#include "runtime/base/options/Nearest.h"

#include <algorithm>
#include <fmt/ranges.h>

namespace dlc {
namespace {

/// What --place calls a kind of op, and the option that is for all of it.
struct Row {
  const char *op;
  const char *option = nullptr; // without dashes
  std::string Wishes::*word = nullptr;
  /// Its words beside "auto", and who computes the op then.
  std::vector<std::pair<const char *, const char *>> words = {};
  const char *help = "";
  Wish::Refusal ifRefused = Wish::Error;
  const char *wayOut = "";
};

const std::vector<Row> &rows() {
  static const std::vector<Row> all{
      {"attention",
       "attention",
       &Wishes::attention,
       {{"library", "library"},
        {"generated", "generated"},
        {"off", "decomposed"}},
       "who computes attention as one op: a library, kernels of our own, "
       "nobody; auto, with --amp: the library where it can",
       Wish::Error,
       "; use --attention=auto to leave it as products and softmax"},
      {"matmul",
       "matmul",
       &Wishes::matmul,
       {{"library", "library"}, {"generated", "generated"}},
       "who multiplies matrices of halves; auto: who is predicted to be faster",
       Wish::Silent},
      {"matmul-epilogue",
       "matmul-epilogues",
       &Wishes::epilogues,
       {{"all", "any"}, {"off", "decomposed"}},
       "what the library does in its products: auto: GELU (tanh), its gradient "
       "and bias gradients; all: ReLU, too, which makes NaN 0, so that the "
       "loss may not show that a run diverged; off, if a GPU lacks one",
       Wish::Silent},
      {"norm",
       "norm",
       &Wishes::norm,
       {{"library", "library"}, {"generated", "decomposed"}},
       "who computes batch and layer norm: the library where it can, kernels "
       "of our own; auto: generated, nothing is measured yet",
       Wish::Remark},
      {"conv"},
      {"pool"},
      {"gather"},
      {"scatter_add"},
      {"all_finite"},
      {"global_norm"},
  };
  return all;
}

} // namespace

std::vector<std::string> placeNames() {
  std::vector<std::string> names;
  for (const Row &row : rows())
    names.push_back(row.op);
  return names;
}

Result<PlaceRule> PlaceRule::parse(const std::string &text) {
  const size_t equals = text.rfind('=');
  if (equals == std::string::npos)
    return usageError("expected [REGEX:]OP=BY, found '{}'", text);
  PlaceRule rule{text, std::nullopt, text.substr(0, equals),
                 text.substr(equals + 1)};
  if (size_t colon = rule.op.rfind(':'); colon != std::string::npos) {
    DLC_ASSIGN(rule.nodes, Pattern::parse(rule.op.substr(0, colon)));
    rule.op.erase(0, colon + 1);
  }
  const auto names = placeNames();
  if (std::find(names.begin(), names.end(), rule.op) == names.end())
    return usageError("'{}' is not one of {}{}", rule.op,
                      fmt::join(names, ", "), suggestion(rule.op, names));
  if (rule.by != "library" && rule.by != "generated" && rule.by != "decomposed")
    return usageError(
        "expected library, generated or decomposed behind '{}=', found '{}'",
        rule.op, rule.by);
  return rule;
}

std::optional<Wish> Wishes::general(std::string_view row) const {
  for (const Row &known : rows())
    if (known.op == row && known.word)
      for (auto [word, by] : known.words)
        if (this->*known.word == word)
          return Wish{by, known.ifRefused,
                      fmt::format("--{}={}", known.option, word), known.wayOut};
  return std::nullopt;
}

void Wishes::addTo(OptionTable &table) {
  auto whereChosen = [](const char *op, Option &option) {
    option.only("model.target", targetsThat([=](const Target &target) {
                  return target.chooses(op);
                }));
  };
  for (const Row &row : rows()) {
    if (!row.word)
      continue;
    Words words = {"auto"};
    for (const auto &[word, by] : row.words)
      words.push_back(word);
    whereChosen(row.op,
                table.choice(fmt::format("model.{}", row.option),
                             this->*row.word, std::move(words), row.help));
  }
  Option &rules = table.list(
      "model.place", place, "[REGEX:]OP=BY,...",
      "who computes ops, or those of nodes that match, before all of these: "
      "attention, matmul, matmul-epilogue, norm, conv; library, generated, "
      "decomposed into simpler ops; the first that fits counts");
  rules.commas = true;
  rules.set = [this](auto &given) -> Status {
    for (const std::string &word : given)
      DLC_TRY(PlaceRule::parse(word).status());
    place = given;
    return {};
  };
  rules.only("model.target", targetsThat([](const Target &target) {
               return std::any_of(
                   rows().begin(), rows().end(),
                   [&](const Row &row) { return target.chooses(row.op); });
             }));
  table
      .toggle("model.explain-placement", explain,
              "prints who computes what, at which predicted cost, or why not")
      .notKept();
}

} // namespace dlc
