// SPDX-License-Identifier: Apache-2.0
// The loss and what is said of it.
#include "passes/Options.h"
#include "passes/loss/LossKinds.h"
#include "passes/loss/LossParams.h"
#include "passes/loss/LossTerms.h"
#include "runtime/base/options/Nearest.h"

#include <algorithm>
#include <fmt/ranges.h>

namespace dlc {
namespace {

/// What --loss may be, but for a list.
const Words &lossNames() {
  static const Words names = [] {
    Words all = lossKindNames();
    all.insert(all.begin(), "auto");
    std::erase(all, "graph"); // which one: in a list alone
    return all;
  }();
  return names;
}

Status setLoss(std::string &kind, const Words &words) {
  const Words &names = lossNames();
  Words kinds(names.begin() + 1, names.end());
  kinds.push_back("graph");
  const std::string text = fmt::format("{}", fmt::join(words, ","));
  std::string wrong;
  if (!isLossList(text)) {
    if (!isGiven(names, text))
      return usageError("'{}' is not one of {} or OUTPUT:KIND[:WEIGHT],...{}",
                        text, fmt::join(names, ", "), suggestion(text, names));
  } else {
    auto terms = parseLossTerms(text, wrong);
    if (!terms)
      return usageError("{}", wrong);
    for (const LossTerm &term : *terms)
      if (!isGiven(kinds, term.kind))
        return usageError("'{}' for output '{}' is not one of {}{}", term.kind,
                          term.output, fmt::join(kinds, ", "),
                          suggestion(term.kind, kinds));
  }
  kind = text;
  return {};
}

constexpr int64_t kMostAxes = 16;

/// Numbers of 0 or more.
Option &addWeights(OptionTable &table, const char *key,
                   std::vector<double> &field, const char *help) {
  Option &option = table.add(key, help, "W,...");
  option.commas = true;
  option.set = [&field](auto &words) -> Status {
    std::vector<double> numbers;
    for (const std::string &word : words) {
      DLC_ASSIGN(double number, parseNumber(word, 0, kNoLimit));
      numbers.push_back(number);
    }
    field = std::move(numbers);
    return {};
  };
  option.get = [&field]() -> std::optional<Words> {
    Words words;
    for (double number : field)
      words.push_back(numberText(number));
    return words.empty() ? std::nullopt : std::optional(words);
  };
  return option;
}

/// The kinds that a loss has; auto may be cross_entropy.
std::vector<std::string> kindsIn(const std::string &text) {
  std::string wrong;
  auto terms = isLossList(text) ? parseLossTerms(text, wrong) : std::nullopt;
  if (!terms)
    return {text == "auto" ? "cross_entropy" : text};
  std::vector<std::string> kinds;
  for (const LossTerm &term : *terms)
    kinds.push_back(term.kind);
  return kinds;
}

/// Options that some kinds of loss alone read.
struct Reader {
  const char *key;
  Words kinds;
};
const std::vector<Reader> &lossReaders() {
  static const Words classes = {"cross_entropy", "nll", "dice", "focal"};
  static const Words ctc = {"ctc"}, triplet = {"triplet_margin"};
  static const std::vector<Reader> all = {
      {"train.class-axis", classes},
      {"train.ignore-index", classes},
      {"train.class-weights", classes},
      {"train.label-smoothing", {"cross_entropy"}},
      {"train.soft-labels", {"cross_entropy", "dice"}},
      {"train.pos-weight", {"bce"}},
      {"train.loss-delta", {"huber", "smooth_l1"}},
      {"train.loss-margin", {"cosine_embedding", "triplet_margin"}},
      {"train.triplet-norm", triplet},
      {"train.triplet-swap", triplet},
      {"train.focal-gamma", {"focal", "binary_focal"}},
      {"train.focal-alpha", {"binary_focal"}},
      {"train.dice-smooth", {"dice"}},
      {"train.ctc-labels", ctc},
      {"train.ctc-blank", ctc},
      {"train.ctc-layout", ctc},
      {"train.ctc-padded", ctc},
      {"train.ctc-zero-infinity", ctc}};
  return all;
}

/// What names losses needs some, and each loss is one of these.
Status checkParams(const LossOptions &o) {
  if (o.params.empty())
    return {};
  const auto losses = namesOfLosses(o);
  if (losses.empty())
    return usageError("--loss-params needs losses with names: "
                      "--loss=OUTPUT:KIND,...");
  for (const std::string &text : o.params)
    DLC_TRY(
        parseLossParams(text, losses).status().withContext("--loss-params"));
  return {};
}

Status checkLoss(const LossOptions &o, const OptionTable::Given &given) {
  const auto kinds = kindsIn(o.kind);
  for (const Reader &reader : lossReaders())
    if (isGiven(given, reader.key) &&
        std::none_of(kinds.begin(), kinds.end(), [&](const auto &kind) {
          return isGiven(reader.kinds, kind);
        }))
      return usageError("--{} applies only to --loss={}, found --loss={}",
                        std::string(reader.key).substr(6),
                        fmt::join(reader.kinds, " and "), o.kind);
  if (isGiven(kinds, "ctc") && !o.ctcLabels)
    return usageError("--loss=ctc needs --ctc-labels=N, the largest number of "
                      "labels of a sample");
  if (o.softLabels && o.ignoreIndex)
    return usageError(
        "--ignore-index is a class index, which --soft-labels do not have");
  return checkParams(o);
}

} // namespace

void LossOptions::addTo(OptionTable &table) {
  Option &loss = table.add(
      "train.loss",
      "loss that training minimises; auto: the graph's own loss, else "
      "cross_entropy; a list: the weighted sum of losses of several outputs, "
      "where KIND graph is a scalar that the graph computes",
      fmt::format("{{{}}}|OUTPUT[+OUTPUT]:KIND[:WEIGHT][:label=NUMBER][:as="
                  "NAME],...",
                  fmt::join(lossNames(), ",")));
  loss.set = [this](auto &words) { return setLoss(kind, words); };
  loss.get = [this] { return Words{kind}; };
  table.list(
      "train.loss-params", params, "REGEX:LOSS",
      "parameters that LOSS, one of several losses, trains; default: all");
  table.count("train.class-axis", classAxis, -kMostAxes,
              "axis of the output's classes; default: 1 for four or more "
              "dimensions, else the last",
              kMostAxes);
  table.count("train.ignore-index", ignoreIndex, INT64_MIN,
              "label of rows that the loss and metrics ignore; default: none");
  addWeights(
      table, "train.class-weights", classWeights,
      "weight of each class in the loss's weighted mean; default: 1 each");
  table.number("train.label-smoothing", labelSmoothing, 0, 1,
               "label smoothing s: target (1 - s) onehot + s / classes");
  table.toggle("train.soft-labels", softLabels,
               "labels are class probabilities in the output's shape, not "
               "class indices");
  addWeights(table, "train.pos-weight", posWeight,
             "weight of positive labels in bce: one number, or one per column; "
             "default: 1");
  table.number("train.loss-delta", delta, kAboveZero, kNoLimit,
               "error above which huber and smooth_l1 are linear");
  table.number(
      "train.loss-margin", margin, kNoLimit * -1, kNoLimit,
      "margin of cosine_embedding (default 0) and triplet_margin (default 1)");
  table.number("train.triplet-norm", tripletNorm, kAboveZero, kNoLimit,
               "exponent p of triplet_margin's p-norm distances");
  table.toggle("train.triplet-swap", tripletSwap,
               "triplet_margin uses the smaller of the distances "
               "anchor-negative and positive-negative");
  table.number(
      "train.focal-gamma", focalGamma, 0, kNoLimit,
      "focusing exponent gamma of (1 - p)^gamma in focal and binary_focal");
  table.number("train.focal-alpha", focalAlpha, 0, 1,
               "alpha of binary_focal: weight of label 1, and 1 - alpha of "
               "label 0; default: no weights");
  table.number("train.dice-smooth", diceSmooth, 0, kNoLimit,
               "number added to dice's numerator and denominator for numerical "
               "stability");
  table.count("train.ctc-labels", ctcLabels, 1,
              "largest number of labels of a sample in ctc: the length of a "
              "row of labels");
  table.count("train.ctc-blank", ctcBlank, 0, "index of ctc's blank class");
  table.choice("train.ctc-layout", ctcLayout, {"rows_first", "steps_first"},
               "layout of ctc's logits: [rows, steps, classes] or [steps, "
               "rows, classes]");
  table.toggle("train.ctc-padded", ctcPadded,
               "ctc without input_lengths and target_lengths in the data file: "
               "all steps count, and labels below 0 are padding");
  table.toggle(
      "train.ctc-zero-infinity", ctcZeroInfinity,
      "ctc loss 0, not infinity, for samples with more labels than steps");
  table.either("train.last-batch", padsLast, "drop", "pad",
               "samples that do not fill a batch at the end of an epoch: "
               "dropped, or padded to a batch with samples of weight 0");
  table.either(
      "train.bn-variance", bnVariancePopulation, "unbiased", "population",
      "running variance of batch norm: unbiased (N - 1), as frameworks store "
      "it, or population (N), as the ONNX standard says");
  table.require([this](auto &given) { return checkLoss(*this, given); });
}

} // namespace dlc
