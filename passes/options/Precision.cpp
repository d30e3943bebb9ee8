// SPDX-License-Identifier: Apache-2.0
#include "passes/Options.h"

#include <fmt/ranges.h>

namespace dlc {

namespace {

using ParseWord = Result<std::string> (*)(const std::string &word);

/// A row whose field is one word, as returned by `parse`.
Option &addWord(OptionTable &table, std::string key, std::string &field,
                ParseWord parse, std::string help, std::string type) {
  Option &row = table.add(std::move(key), std::move(help), std::move(type));
  row.set = [&field, parse](auto &words) -> Status {
    DLC_ASSIGN(field, parse(fmt::format("{}", fmt::join(words, ","))));
    return {};
  };
  row.get = [&field] { return Words{field}; };
  return row;
}

/// Maps true to O1 and false to O0, so that the bare flag works.
Result<std::string> parseLevel(const std::string &word) {
  const std::string level = word == "true"    ? "O1"
                            : word == "false" ? "O0"
                                              : word;
  for (const char *known : {"O0", "O1", "O2", "O3"})
    if (level == known)
      return level;
  return usageError("expected O0, O1, O2 or O3, found '{}'", word);
}

Result<std::string> parseScale(const std::string &word) {
  if (word == "auto" || word == "none" || word == "dynamic" ||
      parseNumber(word, 1e-30, 1e38))
    return word;
  return usageError("expected auto, none, dynamic or a number above 0, "
                    "found '{}'",
                    word);
}

void addFloat8(OptionTable &table, AmpOptions &o) {
  table
      .choice("amp.fp8-scaling", o.float8Scaling, {"current", "delayed"},
              "scale of an 8-bit tensor; current: by its largest magnitude; "
              "delayed: by the largest of the last steps")
      .only("amp.dtype", {"fp8"});
  auto delayed = [](Option &row, const char *argument) {
    row.only("amp.fp8-scaling", {"delayed"})
        .in("amp.fp8-scaling", argument, {"delayed"});
  };
  delayed(table.count("amp.fp8-scaling-history", o.float8History, 1,
                      "steps whose largest magnitude scales a tensor", 1024),
          "history");
  delayed(table.number("amp.fp8-scaling-margin", o.float8Margin, 0, 64,
                       "scales are divided by 2^margin"),
          "margin");
}

} // namespace

void AmpOptions::addTo(OptionTable &table) {
  Option &row = addWord(table, "amp.level", level, parseLevel,
                        "mixed precision level; without a value: O1. O0: f32; "
                        "O1: 16-bit ops by lists; O2: all ops but losses in 16 "
                        "bits, with f32 parameters; O3: 16-bit parameters, too",
                        "{O0,O1,O2,O3}");
  row.named("--amp").optionalWord = true;
  row.off = "O0";
  table
      .choice("amp.dtype", dtype, {"bf16", "fp16", "fp8"},
              "type of mixed precision; fp8: bf16, and the training step's "
              "products of layers and their gradients in 8-bit floats")
      .named("--amp-dtype")
      .only("amp.level", {"O1", "O2", "O3"});
  addFloat8(table, *this);
  table
      .choice(
          "amp.preset", preset, {"dlc", "torch", "tf", "oneflow"},
          "lists and rules of autocast: dlc's, or those of another framework")
      .named("--amp-preset")
      .only("amp.level", {"O1"});
  auto ops = [&](const char *key, Words &field, const char *help) {
    Option &row = table.list(key, field, "OP,...", help);
    row.named("--amp-" + row.name()).commas = true;
    row.only("amp.level", {"O1", "O2", "O3"});
  };
  ops("amp.allow", allow, "ops added to the allow list: 16-bit");
  ops("amp.deny", deny,
      "ops added to the deny list: f32, like the infer and clear ops after "
      "them");
  ops("amp.infer", infer,
      "ops added to the infer list: 16-bit between allowed ops");
  ops("amp.clear", clear,
      "ops added to the clear list: the type of their neighbours");
  table
      .list("amp.node", nodes, "REGEX:f32|half",
            "type of the ONNX nodes whose names match; the first matching rule "
            "applies")
      .named("--amp-node")
      .only("amp.level", {"O1", "O2", "O3"});
  table
      .toggle("amp.explain", explain,
              "prints each node's type and the reason for it")
      .named("--explain-amp")
      .only("amp.level", {"O1", "O2", "O3"});
}

void ScalerOptions::addTo(OptionTable &table) {
  addWord(table, "amp.loss-scale", scale, parseScale,
          "factor of the loss against underflow of gradients; auto: dynamic "
          "for fp16, else none",
          "{auto,none,dynamic}|NUMBER")
      .off = "none";
  auto dynamic = [](Option &row) {
    const Words kinds{"auto", "dynamic"};
    const size_t prefix = std::string_view("loss-scale-").size();
    row.only("amp.loss-scale", kinds)
        .in("amp.loss-scale", row.name().substr(prefix), kinds);
  };
  dynamic(table.number("amp.loss-scale-init", init, kAboveZero, kNoLimit,
                       "initial dynamic loss scale"));
  dynamic(table.count("amp.loss-scale-interval", interval, 1,
                      "consecutive finite steps before the loss scale grows"));
  dynamic(table.number("amp.loss-scale-growth", growthFactor, 1, kNoLimit,
                       "growth factor of the loss scale"));
  dynamic(table.number("amp.loss-scale-backoff", backoffFactor, kAboveZero, 1,
                       "factor of the loss scale after an overflow"));
  dynamic(table.number("amp.loss-scale-min", minScale, 0, kNoLimit,
                       "lower bound of the loss scale; 0: none"));
  dynamic(table.number("amp.loss-scale-max", maxScale, 0, kNoLimit,
                       "upper bound of the loss scale; 0: none"));
  dynamic(table.count("amp.loss-scale-hysteresis", hysteresis, 1,
                      "overflows before the loss scale is reduced; the count "
                      "restarts when the scale grows"));
}

} // namespace dlc
