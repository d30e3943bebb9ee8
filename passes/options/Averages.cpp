// SPDX-License-Identifier: Apache-2.0
#include "passes/Options.h"

namespace dlc {
namespace {

/// true, false or the decays of the sets.
Status setDecays(EmaOptions &o, const Words &words) {
  o.decay.reset();
  o.others.clear();
  o.enabled = words != Words{"false"};
  if (!o.enabled || words == Words{"true"})
    return {};
  if (words.empty())
    return usageError("expected true, false or decays, found nothing");
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
    return usageError("expected --ema=DECAY or --ema-halflife, found both");
  if (o.decay && o.kind == "swa")
    return usageError("--ema-kind=swa is the plain average: it has no decay");
  if (isGiven(given, "ema.tau") && o.kind == "auto" && (o.decay || o.halflife))
    return usageError("--ema-tau needs --ema-kind=ultralytics");
  if (isGiven(given, "ema.ramp") && o.kind == "auto" && !o.decay && !o.halflife)
    return usageError("--ema-ramp needs --ema=DECAY or --ema-halflife");
  return {};
}

} // namespace

void EmaOptions::addTo(OptionTable &table) {
  Option &ema = table.add("ema.decay",
                          "averages the weights; alone: 0.9999 with a ramp; "
                          "several decays: as many sets of averages",
                          "DECAY,...");
  ema.named("--ema");
  ema.optionalWord = ema.commas = true;
  ema.set = [this](auto &words) { return setDecays(*this, words); };
  ema.get = [this] { return decaysText(*this); };
  auto named = [](Option &option) -> Option & {
    return option.named("--ema-" + option.name());
  };
  named(table.choice("ema.kind", kind,
                     {"auto", "ultralytics", "constant", "timm", "swa"},
                     "rule of the decay; auto: constant if one is given, else "
                     "ultralytics"))
      .only("ema.decay", {});
  named(table.number("ema.halflife", halflife, 0, kNoLimit,
                     "samples after which half is left; 0: the decay as it is"))
      .only("ema.kind", {"auto", "ultralytics", "constant", "timm"});
  named(table.number(
            "ema.ramp", ramp, 0, kNoLimit,
            "half-life at most this share of the samples seen; 0: no ramp"))
      .only("ema.kind", {"auto", "constant"});
  named(
      table.number("ema.tau", tau, kAboveZero, kNoLimit, "updates of the ramp"))
      .only("ema.kind", {"auto", "ultralytics"});
  named(table.count("ema.start", start, 0, "updates that are copied first"))
      .only("ema.decay", {});
  named(table.toggle("ema.warmup", warmup, "the decay rises"))
      .only("ema.kind", {"timm"});
  auto rise = [&](const char *key, double &field, double low, double high,
                  const char *help) {
    named(table.number(key, field, low, high, help))
        .only("ema.warmup", {"true"});
  };
  rise("ema.gamma", gamma, kAboveZero, kNoLimit, "updates that it scales by");
  rise("ema.power", power, kAboveZero, kNoLimit, "how steeply it rises");
  rise("ema.min-decay", minDecay, 0, 1, "the least decay");
  named(table.choice("ema.buffers", buffers, {"average", "copy", "exclude"},
                     "running statistics"))
      .only("ema.decay", {});
  named(table.choice("ema.device", device, {"device", "cpu"},
                     "in the step, or by the host beside the next step"))
      .only("ema.decay", {});
  table.require([this](auto &given) { return check(*this, given); });
}

} // namespace dlc
