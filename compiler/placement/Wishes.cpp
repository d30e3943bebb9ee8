#include "compiler/placement/Wishes.h"
#include "runtime/base/options/Nearest.h"

#include <algorithm>
#include <fmt/ranges.h>

namespace dlc {
namespace {

/// What --place calls a kind of op, and the option that is for all of it.
struct Row {
  const char *op;
  const char *flag = nullptr;
  std::string Wishes::*word = nullptr;
  Wish::Refusal ifRefused = Wish::Error;
  std::vector<std::pair<const char *, const char *>> words = {};
  const char *wayOut = "";
};

const std::vector<Row> &rows() {
  static const std::vector<Row> all{
      {"attention",
       "--attention",
       &Wishes::attention,
       Wish::Error,
       {{"library", "library"},
        {"generated", "generated"},
        {"off", "decomposed"}},
       "; use --attention=auto to leave it as products and softmax"},
      {"norm",
       "--norm",
       &Wishes::norm,
       Wish::Remark,
       {{"library", "library"}, {"generated", "decomposed"}}},
      {"matmul",
       "--matmul",
       &Wishes::matmul,
       Wish::Silent,
       {{"library", "library"}, {"generated", "generated"}}},
      {"matmul-epilogue",
       "--matmul-epilogues",
       &Wishes::epilogues,
       Wish::Silent,
       {{"all", "any"}, {"off", "decomposed"}}},
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
          return Wish{by, known.ifRefused, std::string(known.flag) + "=" + word,
                      known.wayOut};
  return std::nullopt;
}

} // namespace dlc
