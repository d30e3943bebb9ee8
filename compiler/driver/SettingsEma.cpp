#include "compiler/driver/Settings.h"

namespace dlc {

/// true, false or the decays of the sets.
static Status setDecays(EmaOptions &o, const std::vector<std::string> &words) {
  o.decay.reset();
  o.others.clear();
  o.enabled = words != std::vector<std::string>{"false"};
  if (!o.enabled || words == std::vector<std::string>{"true"})
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

static std::string decaysText(const EmaOptions &o) {
  if (!o.enabled || !o.decay)
    return o.enabled ? "true" : "false";
  std::string text = numberText(*o.decay);
  for (double decay : o.others)
    text += ", " + numberText(decay);
  return o.others.empty() ? text : "[" + text + "]";
}

void Settings::addAverages() {
  EmaOptions &o = options.train.ema;
  Setting &ema = add("ema.decay",
                     "averages the weights; alone: 0.9999 with a ramp; several "
                     "decays: as many sets of averages",
                     "DECAY,...")
                     .named("--ema");
  ema.optionalWord = true;
  ema.commas = true;
  ema.set = [&o](auto &words) { return setDecays(o, words); };
  ema.get = [&o] { return decaysText(o); };
  auto named = [](Setting &setting) -> Setting & {
    return setting.named("--ema-" + setting.flag.substr(2));
  };
  named(choice("ema.kind", o.kind,
               {"auto", "ultralytics", "constant", "timm", "swa"},
               "rule of the decay; auto: constant if one is given, else "
               "ultralytics"))
      .only("ema.decay", {});
  named(number("ema.halflife", o.halflife, 0, kNoLimit,
               "samples after which half is left; 0: the decay as it is"))
      .only("ema.kind", {"auto", "ultralytics", "constant", "timm"});
  named(number("ema.ramp", o.ramp, 0, kNoLimit,
               "half-life at most this share of the samples seen; 0: no ramp"))
      .only("ema.kind", {"auto", "constant"});
  named(number("ema.tau", o.tau, kAboveZero, kNoLimit, "updates of the ramp"))
      .only("ema.kind", {"auto", "ultralytics"});
  named(count("ema.start", o.start, 0, "updates that are copied first"))
      .only("ema.decay", {});
  named(toggle("ema.warmup", o.warmup, "the decay rises"))
      .only("ema.kind", {"timm"});
  auto rise = [&](const char *key, double &field, double low, double high,
                  const char *help) {
    named(number(key, field, low, high, help)).only("ema.warmup", {"true"});
  };
  rise("ema.gamma", o.gamma, kAboveZero, kNoLimit, "updates that it scales by");
  rise("ema.power", o.power, kAboveZero, kNoLimit, "how steeply it rises");
  rise("ema.min-decay", o.minDecay, 0, 1, "the least decay");
  named(choice("ema.buffers", o.buffers, {"average", "copy", "exclude"},
               "running statistics"))
      .only("ema.decay", {});
  named(choice("ema.device", o.device, {"device", "cpu"},
               "in the step, or by the host beside the next step"))
      .only("ema.decay", {});
}

Status Settings::checkAverages(const std::vector<std::string> &given) const {
  const EmaOptions &o = options.train.ema;
  auto isGiven = [&](const char *key) {
    return std::find(given.begin(), given.end(), key) != given.end();
  };
  if (o.decay && o.halflife)
    return usageError("expected --ema=DECAY or --ema-halflife, found both");
  if (o.decay && o.kind == "swa")
    return usageError("--ema-kind=swa is the plain average: it has no decay");
  if (isGiven("ema.tau") && o.kind == "auto" && (o.decay || o.halflife))
    return usageError("--ema-tau needs --ema-kind=ultralytics");
  if (isGiven("ema.ramp") && o.kind == "auto" && !o.decay && !o.halflife)
    return usageError("--ema-ramp needs --ema=DECAY or --ema-halflife");
  return {};
}

} // namespace dlc
