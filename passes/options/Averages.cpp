// SPDX-License-Identifier: Apache-2.0
#include "passes/Options.h"

#include <algorithm>

namespace dlc {
namespace {

const Words kEmaKinds{"auto", "ultralytics", "constant", "timm", "swa"};

/// Parses true, false, a kind, or the decays of the sets.
Status setDecays(EmaOptions &o, const Words &words) {
  if (words.size() == 1 && isGiven(kEmaKinds, words[0])) {
    o.enabled = true;
    o.kind = words[0];
    return {};
  }
  o.decay.reset();
  o.others.clear();
  o.enabled = words != Words{"false"};
  if (!o.enabled || words == Words{"true"})
    return {};
  if (words.empty())
    return usageError("expected true, false, a kind or decays, found nothing");
  DLC_ASSIGN(o.decay, parseNumber(words[0], 0, 1));
  for (size_t i = 1; i < words.size(); ++i) {
    DLC_ASSIGN(double decay, parseNumber(words[i], 0, 1));
    o.others.push_back(decay);
  }
  return {};
}

Words decaysText(const EmaOptions &o) {
  if (!o.enabled || !o.decay)
    return {o.enabled ? "true" : "false"};
  Words words{numberText(*o.decay)};
  for (double decay : o.others)
    words.push_back(numberText(decay));
  return words;
}

Status check(const EmaOptions &o, const OptionTable::Given &given) {
  if (o.decay && o.halflife)
    return usageError("--ema: expected decay or halflife, found both");
  if (o.decay && o.kind == "swa")
    return usageError("--ema=swa is the plain average: it has no decay");
  if (isGiven(given, "ema.tau") && o.kind == "auto" && (o.decay || o.halflife))
    return usageError("--ema: tau is an argument of ultralytics");
  if (isGiven(given, "ema.ramp") && o.kind == "auto" && !o.decay && !o.halflife)
    return usageError("--ema: ramp needs decay or halflife");
  return {};
}

/// Makes a row an argument of --ema's values.
Option &emaArgument(Option &option, const Words &kinds) {
  std::string argument = option.name();
  std::replace(argument.begin(), argument.end(), '-', '_');
  return option.named("--ema-" + option.name())
      .in("ema.decay", std::move(argument), kinds);
}
/// The same for an argument that only these kinds read.
void emaArgumentOf(Option &option, const Words &kinds) {
  emaArgument(option, kinds).only("ema.kind", kinds);
}

void addWarmup(OptionTable &table, EmaOptions &o) {
  emaArgumentOf(table.toggle("ema.warmup", o.warmup,
                             "rising decay 1 - (1 + (k - 1) / gamma)^-power at "
                             "update k, at most decay"),
                {"timm"});
  auto rise = [&](const char *key, double &field, double low, double high,
                  const char *help) {
    emaArgument(table.number(key, field, low, high, help), {"timm"})
        .only("ema.warmup", {"true"});
  };
  rise("ema.gamma", o.gamma, kAboveZero, kNoLimit,
       "gamma of warmup, in updates");
  rise("ema.power", o.power, kAboveZero, kNoLimit, "exponent power of warmup");
  rise("ema.min-decay", o.minDecay, 0, 1, "lower bound of the decay of warmup");
}

} // namespace

void EmaOptions::addTo(OptionTable &table) {
  Option &ema =
      table.add("ema.decay",
                "exponential moving average of the weights, average = "
                "DECAY average + (1 - DECAY) weight; without a value: "
                "0.9999 with a ramp; several decays: one set of "
                "averages each",
                "DECAY,...|KIND");
  ema.named("--ema").in("ema.decay", "decay", kEmaKinds);
  ema.optionalWord = ema.commas = true;
  ema.set = [this](auto &words) { return setDecays(*this, words); };
  ema.get = [this] { return decaysText(*this); };
  emaArgument(
      table.choice(
          "ema.kind", kind, kEmaKinds,
          "decay d of update k: ultralytics: DECAY (1 - exp(-k / tau)); "
          "constant: DECAY; timm: DECAY, or with warmup a rising "
          "one; swa: 1 - 1 / k, the mean; auto: constant if a decay "
          "or half-life is given, else ultralytics"),
      kEmaKinds)
      .only("ema.decay", {});
  emaArgumentOf(table.number("ema.halflife", halflife, 0, kNoLimit,
                             "half-life of the average in samples, in place of "
                             "decay; 0: decay"),
                {"auto", "ultralytics", "constant", "timm"});
  emaArgumentOf(
      table.number(
          "ema.ramp", ramp, 0, kNoLimit,
          "bound on the half-life as a share of the samples seen; 0: no bound"),
      {"auto", "constant"});
  emaArgumentOf(
      table.number("ema.tau", tau, kAboveZero, kNoLimit,
                   "time constant tau of the ramp 1 - exp(-k / tau), in "
                   "updates"),
      {"auto", "ultralytics"});
  emaArgument(
      table.count(
          "ema.start", start, 0,
          "first updates, for which the average is a copy of the weights"),
      kEmaKinds)
      .only("ema.decay", {});
  addWarmup(table, *this);
  emaArgument(
      table.choice("ema.buffers", buffers, {"average", "copy", "exclude"},
                   "running statistics of batch norms: averaged like weights, "
                   "copied, or left out of the averages"),
      kEmaKinds)
      .only("ema.decay", {});
  emaArgument(table.choice(
                  "ema.device", device, {"device", "cpu"},
                  "where averages are computed and stored: the device, in the "
                  "step; or the host's memory, in parallel with the next step"),
              kEmaKinds)
      .only("ema.decay", {});
  table.require([this](auto &given) { return check(*this, given); });
}

} // namespace dlc
