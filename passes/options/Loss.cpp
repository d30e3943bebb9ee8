// SPDX-License-Identifier: Apache-2.0
// Options of the loss.
#include "passes/Options.h"
#include "passes/loss/Distill.h"
#include "passes/loss/LossKinds.h"
#include "passes/loss/LossParams.h"
#include "passes/loss/LossTerms.h"
#include "runtime/base/options/Nearest.h"

#include <algorithm>
#include <fmt/ranges.h>

namespace dlc {
namespace {

/// The values of --loss other than lists.
const Words &lossNames() {
  static const Words names = [] {
    Words all = lossKindNames();
    all.insert(all.begin(), "auto");
    std::erase(all, "graph"); // only in a list
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

/// Non-negative numbers.
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

/// The kinds of a --loss value; auto may be cross_entropy.
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

/// The kinds of loss that read a row; empty: all.
Words lossReadersOf(const Option &row) {
  static const Words classes = {"cross_entropy", "nll", "dice", "focal"};
  static const std::map<std::string, Words> kindsOfFlags = {
      {"train.class-axis", classes},
      {"train.ignore-index", classes},
      {"train.class-weights", classes},
      {"train.label-smoothing", {"cross_entropy"}},
      {"train.soft-labels", {"cross_entropy", "dice"}}};
  if (row.argumentOf == "train.loss")
    return row.argumentKinds;
  const auto found = kindsOfFlags.find(row.key);
  return found == kindsOfFlags.end() ? Words() : found->second;
}

/// --loss-params requires named losses, and must refer to them.
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

Status checkLoss(const LossOptions &o, const OptionTable &table,
                 const OptionTable::Given &given) {
  const auto kinds = kindsIn(o.kind);
  for (const std::string &key : given) {
    const Option &row = *table.find(key);
    const Words readers = lossReadersOf(row);
    if (!readers.empty() &&
        std::none_of(kinds.begin(), kinds.end(),
                     [&](const auto &kind) { return isGiven(readers, kind); }))
      return usageError("{} applies only to --loss={}, found --loss={}",
                        row.flag, fmt::join(readers, " and "), o.kind);
  }
  if (isGiven(kinds, "ctc") && !o.ctcLabels)
    return usageError("--loss=ctc expects its argument labels, the most "
                      "labels of a sample: --loss='ctc(labels=N)'");
  if (o.softLabels && o.ignoreIndex)
    return usageError(
        "--ignore-index is a class index, which --soft-labels do not have");
  return checkParams(o);
}

void addLossArgument(Option &row, const char *name, Words kinds) {
  row.in("train.loss", name, std::move(kinds));
}

/// Adds arguments of kinds: --loss='focal(gamma=2)'.
void addLossArguments(OptionTable &table, LossOptions &o) {
  addLossArgument(
      addWeights(table, "train.pos-weight", o.posWeight,
                 "weight of positive labels: one number, or one per column; "
                 "default: 1"),
      "pos_weight", {"bce"});
  addLossArgument(table.number("train.loss-delta", o.delta, kAboveZero,
                               kNoLimit,
                               "error above which the loss is linear"),
                  "delta", {"huber", "smooth_l1"});
  addLossArgument(table.number("train.loss-margin", o.margin, kNoLimit * -1,
                               kNoLimit,
                               "margin; default: 0 of cosine_embedding, 1 of "
                               "triplet_margin"),
                  "margin", {"cosine_embedding", "triplet_margin"});
  addLossArgument(table.number("train.triplet-norm", o.tripletNorm, kAboveZero,
                               kNoLimit, "exponent p of the p-norm distances"),
                  "norm", {"triplet_margin"});
  addLossArgument(
      table.toggle("train.triplet-swap", o.tripletSwap,
                   "the smaller of the distances anchor-negative and "
                   "positive-negative"),
      "swap", {"triplet_margin"});
  addLossArgument(table.number("train.focal-gamma", o.focalGamma, 0, kNoLimit,
                               "focusing exponent gamma of (1 - p)^gamma"),
                  "gamma", {"focal", "binary_focal"});
  addLossArgument(
      table.number("train.focal-alpha", o.focalAlpha, 0, 1,
                   "weight of label 1, and 1 - alpha of label 0; default: no "
                   "weights"),
      "alpha", {"binary_focal"});
  addLossArgument(
      table.number("train.dice-smooth", o.diceSmooth, 0, kNoLimit,
                   "number added to numerator and denominator for numerical "
                   "stability"),
      "smooth", {"dice"});
}

void addCtcArguments(OptionTable &table, LossOptions &o) {
  const Words ctc{"ctc"};
  addLossArgument(
      table.count(
          "train.ctc-labels", o.ctcLabels, 1,
          "largest number of labels of a sample: the length of a row of "
          "labels"),
      "labels", ctc);
  addLossArgument(
      table.count("train.ctc-blank", o.ctcBlank, 0, "index of the blank class"),
      "blank", ctc);
  addLossArgument(
      table.choice(
          "train.ctc-layout", o.ctcLayout, {"rows_first", "steps_first"},
          "layout of the logits: [rows, steps, classes] or [steps, rows, "
          "classes]"),
      "layout", ctc);
  addLossArgument(
      table.toggle("train.ctc-padded", o.ctcPadded,
                   "without input_lengths and target_lengths in the data file: "
                   "all steps count, and labels below 0 are padding"),
      "padded", ctc);
  addLossArgument(
      table.toggle("train.ctc-zero-infinity", o.ctcZeroInfinity,
                   "loss 0, not infinity, for samples with more labels than "
                   "steps"),
      "zero_infinity", ctc);
}

} // namespace

void LossOptions::addTo(OptionTable &table) {
  Option &loss = table.add(
      "train.loss",
      "loss that training minimises; auto: the graph's own loss (an operator "
      "for losses, or the only number that it computes), else cross_entropy; a "
      "list: the weighted sum of losses of several outputs, "
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
              "dimensions and behind convolutions, else the last",
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
  addLossArguments(table, *this);
  addCtcArguments(table, *this);
  table.either("train.last-batch", padsLast, "drop", "pad",
               "samples that do not fill a batch at the end of an epoch: "
               "dropped, or padded to a batch with samples of weight 0");
  table.either("train.bn-variance", bnVariancePopulation, "unbiased",
               "population",
               "running variance of batch norm: unbiased (N - 1), as "
               "frameworks store it, or population (N), as the ONNX standard "
               "says");
  table.require(
      [this, &table](auto &given) { return checkLoss(*this, table, given); });
}

void DistillOptions::addTo(OptionTable &table) {
  Option &row = table.list(
      "train.distill", terms,
      "{kl,mse}[(temperature=T,weight=W,student=NAME,teacher=NAME)]",
      "loss between an output of the model and one of the --teacher's, added "
      "to --loss: kl of logits at a temperature, or mse; default: the first "
      "outputs, weight 1");
  row.set = [this](auto &words) -> Status {
    DLC_TRY(parseDistill(words).status());
    terms = words;
    return {};
  };
}

} // namespace dlc
