#include "passes/Options.h"

#include <algorithm>
#include <fmt/ranges.h>

namespace dlc {

/// true is O1 and false is O0, so that the bare flag works.
static void addLevel(OptionTable &table, std::string &level) {
  Option &row =
      table.add("amp.level",
                "mixed precision; alone: O1, by lists. O2: all but losses, "
                "with f32 parameters; O3: those in half, too",
                "{O0,O1,O2,O3}");
  row.named("--amp").optionalWord = true;
  row.set = [&level](auto &words) -> Status {
    const Words levels{"O0", "O1", "O2", "O3"};
    std::string word = words.size() == 1 ? words[0] : "";
    word = word == "true" ? "O1" : word == "false" ? "O0" : word;
    if (std::find(levels.begin(), levels.end(), word) == levels.end())
      return usageError("expected O0, O1, O2 or O3, found '{}'",
                        fmt::join(words, ","));
    level = word;
    return {};
  };
  row.get = [&level] { return Words{level}; };
}

void AmpOptions::addTo(OptionTable &table) {
  addLevel(table, level);
  table.choice("amp.dtype", dtype, {"bf16", "fp16"}, "the half type")
      .named("--amp-dtype")
      .only("amp.level", {"O1", "O2", "O3"});
  table
      .choice("amp.preset", preset, {"dlc", "torch", "tf", "oneflow"},
              "whose lists and rules decide")
      .named("--amp-preset")
      .only("amp.level", {"O1"});
  auto ops = [&](const char *key, Words &field, const char *help) {
    Option &row = table.list(key, field, "OP,...", help);
    row.named("--amp-" + row.name()).commas = true;
    row.only("amp.level", {"O1", "O2", "O3"});
  };
  ops("amp.allow", allow, "ops that run in half");
  ops("amp.deny", deny, "ops that stay f32, and what follows them");
  ops("amp.infer", infer, "ops that run in half between allowed ones");
  ops("amp.clear", clear, "ops that follow their neighbours");
  table
      .list("amp.node", nodes, "REGEX:f32|half",
            "type of the ONNX nodes that match; the first counts")
      .named("--amp-node")
      .only("amp.level", {"O1", "O2", "O3"});
  table.toggle("amp.explain", explain, "prints why each node has its type")
      .named("--explain-amp")
      .only("amp.level", {"O1", "O2", "O3"});
}

static void addScale(OptionTable &table, std::string &scale) {
  Option &row =
      table.add("amp.loss-scale", "auto is dynamic under fp16, else none",
                "{auto,none,dynamic}|NUMBER");
  row.set = [&scale](auto &words) -> Status {
    const std::string word = words.size() == 1 ? words[0] : "";
    if (word != "auto" && word != "none" && word != "dynamic" &&
        !parseNumber(word, 1e-30, 1e38))
      return usageError("expected auto, none, dynamic or a number above 0, "
                        "found '{}'",
                        fmt::join(words, ","));
    scale = word;
    return {};
  };
  row.get = [&scale] { return Words{scale}; };
}

void ScalerOptions::addTo(OptionTable &table) {
  addScale(table, scale);
  auto dynamic = [](Option &row) {
    row.only("amp.loss-scale", {"auto", "dynamic"});
  };
  dynamic(table.number("amp.loss-scale-init", init, kAboveZero, kNoLimit,
                       "the first dynamic scale"));
  dynamic(table.count("amp.loss-scale-interval", interval, 1,
                      "good steps in a row before the scale grows"));
  dynamic(table.number("amp.loss-scale-growth", growthFactor, 1, kNoLimit,
                       "factor by which it grows"));
  dynamic(table.number("amp.loss-scale-backoff", backoffFactor, kAboveZero, 1,
                       "factor of the scale after an overflow"));
  dynamic(table.number("amp.loss-scale-min", minScale, 0, kNoLimit,
                       "floor of the scale; 0: none"));
  dynamic(table.number("amp.loss-scale-max", maxScale, 0, kNoLimit,
                       "ceiling of the scale; 0: none"));
  dynamic(table.count("amp.loss-scale-hysteresis", hysteresis, 1,
                      "overflows before the first backoff, anew when it "
                      "grows"));
  table.toggle("amp.loss-scale-per-loss", perLoss,
               "each of several losses has a scale, and a backward graph, of "
               "its own");
}

} // namespace dlc
