// SPDX-License-Identifier: Apache-2.0
#include "compiler/placement/Wishes.h"
#include "compiler/target/Target.h"
#include "runtime/base/options/Nearest.h"

#include <algorithm>
#include <fmt/ranges.h>

namespace dlc {
namespace {

/// The name of a kind of op in --place, and the option for all such ops.
struct Row {
  const char *op;
  const char *option = nullptr; // without dashes
  std::string Wishes::*word = nullptr;
  /// Values of the option other than "auto", and the `by` they mean.
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
       "attention as one op: by the library, by generated kernels, or off; "
       "auto: by the library, on GPUs with --amp, on CPUs where it is causal "
       "or has 192 keys (512 in 16 bits)",
       Wish::Error,
       "; use --attention=auto to leave it as products and softmax"},
      {"matmul",
       "matmul",
       &Wishes::matmul,
       {{"library", "library"}, {"generated", "generated"}},
       "16-bit matrix products by the library or by generated kernels; auto: "
       "the predicted faster one",
       Wish::Silent},
      {"matmul-epilogue",
       "matmul-epilogues",
       &Wishes::epilogues,
       {{"all", "any"}, {"off", "decomposed"}},
       "epilogues of the library's matrix products; auto: GELU (tanh), and "
       "bias gradients where that is predicted to be faster; all: ReLU, too, "
       "which maps NaN to 0, so the loss may hide divergence; off: for GPUs "
       "that lack one",
       Wish::Silent},
      {"norm",
       "norm",
       &Wishes::norm,
       {{"library", "library"}, {"generated", "decomposed"}},
       "batch and layer norm by the library where possible, or by generated "
       "kernels; auto: generated on GPUs, as nothing is measured yet; on CPUs "
       "batch norm by the library",
       Wish::Remark},
      {"conv"},
      {"grouped_matmul"},
      {"scaled_matmul"},
      {"pool"},
      {"gather"},
      {"scatter_add"},
      {"unique_rows"},
      {"put_rows"},
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
  if (auto by = ir::symbolizeBy(rule.by); !by || *by == By::Open)
    return usageError("expected library, generated, decomposed, winograd2 or "
                      "winograd4 after '{}=', found '{}'",
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
      "library, generated or decomposed (into simpler ops) for the ops "
      "attention, matmul, matmul-epilogue, norm, conv, of all nodes or those "
      "whose names match; for conv also winograd2 and winograd4, Winograd's "
      "products on tiles of 2x2 or 4x4 outputs; overrides the options above; "
      "the first matching rule applies");
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
              "print how each op is computed, its predicted time, and why no "
              "other way")
      .notKept();
}

} // namespace dlc
