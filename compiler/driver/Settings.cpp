#include "compiler/driver/Settings.h"
#include "runtime/base/Nearest.h"
#include <fmt/ranges.h>
#include <regex>

namespace dlc {

Settings::Settings(CompileOptions &options) : options(options) {
  settings.reserve(128);
  addModel();
  addLoss();
  addOptimizer();
  addSchedule();
  addPrecision();
  addAverages();
  addRanks();
}

static Status checkPatterns(const std::vector<std::string> &patterns) {
  for (const std::string &pattern : patterns)
    try {
      std::regex compiled(pattern);
    } catch (const std::regex_error &) {
      return usageError("'{}' is not a regular expression", pattern);
    }
  return {};
}

void Settings::addModel() {
  import::ImportOptions &i = options.import;
  count("model.batch", options.batch, 1,
        "rows of one rank's step, where the model leaves it open",
        int64_t(1) << 30);
  Setting &dim =
      add("model.dim", "binds a symbolic dimension of the model", "NAME=N");
  dim.repeats = true;
  dim.set = [&i](auto &words) -> Status {
    i.dims.clear();
    for (const std::string &word : words) {
      size_t split = word.find('=');
      if (split == std::string::npos)
        return usageError("expected NAME=N, found '{}'", word);
      auto n = parseCount(word.substr(split + 1), 1);
      if (!n)
        return usageError("expected NAME=N with N of 1 or more, found '{}'",
                          word);
      i.dims[word.substr(0, split)] = *n;
    }
    return {};
  };
  dim.get = [&i] {
    std::vector<std::string> words;
    for (const auto &[name, n] : i.dims)
      words.push_back(fmt::format("{}={}", name, n));
    return yamlText(words);
  };
  auto patterns = [&](const char *key, std::vector<std::string> &field,
                      const char *help) {
    list(key, field, "REGEX", help).set = [&field](auto &words) -> Status {
      DLC_TRY(checkPatterns(words));
      field = words;
      return {};
    };
  };
  patterns("model.train", i.roles.train, "trains initializers that match, too");
  patterns("model.freeze", i.roles.freeze, "does not train those that match");
  text("model.cpu", options.cpu, "NAME",
       "the CPU that kernels are made for; native is this one");
}

void Settings::addLoss() {
  LossOptions &o = options.train.loss;
  choice("train.loss", o.kind, {"auto", "cross_entropy", "mse", "bce"},
         "auto takes the graph's own, else cross_entropy");
  either("train.bn-variance", o.bnVariancePopulation, "unbiased", "population",
         "running variance as frameworks or as the ONNX text keeps it");
}

void Settings::addOptimizer() {
  OptimizerOptions &o = options.train.optimizer;
  auto only = [](Setting &setting, std::vector<std::string> names) {
    setting.only("train.optimizer", std::move(names));
  };
  choice("train.optimizer", o.name,
         {"sgd", "adam", "adamw", "rmsprop", "rmsprop_tf", "adagrad", "lamb",
          "lion", "muon"},
         "the update rule; null below is its own default");
  number("train.lr", o.lr, 0, kNoLimit, "learning rate");
  number("train.weight-decay", o.weightDecay, 0, kNoLimit,
         "pulls parameters to 0");
  only(number("train.momentum", o.momentum, 0, 1, "of the update"),
       {"sgd", "rmsprop", "rmsprop_tf", "muon"});
  only(toggle("train.nesterov", o.nesterov, "Nesterov's momentum"),
       {"sgd", "muon"});
  only(number("train.dampening", o.dampening, 0, 1, "of the momentum"),
       {"sgd"});
  Setting &betas = add("train.betas", "decay rates of both moments", "A,B");
  only(betas, {"adam", "adamw", "lamb", "lion"});
  betas.commas = true;
  betas.set = [&o](auto &words) -> Status {
    if (words.empty()) {
      o.beta1 = o.beta2 = std::nullopt;
      return {};
    }
    if (words.size() != 2)
      return usageError("expected two numbers A,B, found '{}'",
                        fmt::join(words, ","));
    DLC_ASSIGN(o.beta1, parseNumber(words[0], 0, 1));
    DLC_ASSIGN(o.beta2, parseNumber(words[1], 0, 1));
    return {};
  };
  betas.get = [&o] {
    return o.beta1 && o.beta2 ? fmt::format("[{}, {}]", numberText(*o.beta1),
                                            numberText(*o.beta2))
                              : "null";
  };
  only(number("train.eps", o.epsilon, kAboveZero, kNoLimit,
              "keeps the denominator from 0"),
       {"adam", "adamw", "rmsprop", "rmsprop_tf", "adagrad", "lamb", "muon"});
  only(number("train.alpha", o.alpha, 0, 1, "decay rate of the mean square"),
       {"rmsprop", "rmsprop_tf"});
  only(toggle("train.amsgrad", o.amsgrad,
              "divides by the largest second moment so far"),
       {"adam", "adamw"});
  list("train.lr-scale", o.lrScale, "REGEX:FACTOR",
       "factor of lr for parameters that match; the first counts");
  list("train.weight-decay-scale", o.weightDecayScale, "REGEX:FACTOR",
       "factor of weight-decay for those that match");
  choice("train.no-decay", o.noDecay, {"none", "norm_bias"},
         "norm_bias: vectors and biases do not decay");
  ClipOptions &clip = options.train.clip;
  number("train.clip-value", clip.maxValue, 0, kNoLimit,
         "largest element of a gradient; 0: no clamping");
  number("train.clip-grad", clip.maxNorm, 0, kNoLimit,
         "largest norm of all gradients together; 0: no clipping");
  toggle("train.grad-norm", clip.reportNorm,
         "reports that norm without clipping by it");
}

void Settings::addSchedule() {
  ScheduleOptions &o = options.train.schedule;
  auto only = [](Setting &setting, std::vector<std::string> names) {
    setting.only("train.schedule", std::move(names));
  };
  choice("train.schedule", o.name,
         {"constant", "step", "multistep", "linear", "cosine", "polynomial",
          "onecycle"},
         "of the learning rate");
  either("train.schedule-per", o.perEpoch, "update", "epoch",
         "unit of the lengths below");
  count("train.warmup", o.warmup, 0, "length of the linear warm-up");
  count("train.steps", o.totalSteps, 0,
        "updates of the whole training; 0: set by dlc train");
  only(count("train.decay-steps", o.decaySteps, 1, "length between decays"),
       {"step"});
  only(
      number("train.decay-rate", o.decayRate, 0, kNoLimit, "factor of a decay"),
      {"step", "multistep"});
  Setting &milestones = add("train.milestones", "where it decays", "A,B,...");
  only(milestones, {"multistep"});
  milestones.commas = true;
  milestones.set = [&o](auto &words) -> Status {
    o.milestones.clear();
    for (const std::string &word : words) {
      DLC_ASSIGN(int64_t at, parseCount(word, 1));
      if (!o.milestones.empty() && at < o.milestones.back())
        return usageError("expected rising numbers, found {}",
                          fmt::join(words, ","));
      o.milestones.push_back(at);
    }
    return {};
  };
  milestones.get = [&o] {
    return fmt::format("[{}]", fmt::join(o.milestones, ", "));
  };
  only(number("train.start-factor", o.startFactor, 0, kNoLimit,
              "factor of lr at the start"),
       {"linear"});
  only(number("train.end-factor", o.endFactor, 0, kNoLimit,
              "factor of lr at the end"),
       {"linear"});
  only(number("train.min-lr", o.minLr, 0, kNoLimit, "where it ends"),
       {"cosine", "polynomial"});
  only(count("train.cycle-steps", o.cycleSteps, 0,
             "length of the first cycle; 0: no restarts"),
       {"cosine"});
  only(count("train.cycle-mult", o.cycleMult, 1,
             "each cycle's length by the one before"),
       {"cosine"});
  only(number("train.cycle-decay", o.cycleDecay, 0, kNoLimit,
              "each cycle's rate by the one before"),
       {"cosine"});
  only(number("train.power", o.power, 0, kNoLimit, "of the polynomial"),
       {"polynomial"});
  only(number("train.pct-start", o.pctStart, kAboveZero, 0.999,
              "share of the rise"),
       {"onecycle"});
  only(number("train.div-factor", o.divFactor, kAboveZero, kNoLimit,
              "peak rate by the first"),
       {"onecycle"});
  only(number("train.final-div-factor", o.finalDivFactor, kAboveZero, kNoLimit,
              "first rate by the last"),
       {"onecycle"});
  Setting &cycled = toggle("train.cycle-momentum", o.cycleMomentum,
                           "momentum, or beta1, moves against the rate");
  cycled.type = "{true,false}";
  only(cycled, {"onecycle"});
  number("train.base-momentum", o.baseMomentum, 0, 0.999999,
         "at the highest rate")
      .only("train.cycle-momentum", {"true"});
  number("train.max-momentum", o.maxMomentum, 0, 0.999999, "at both ends")
      .only("train.cycle-momentum", {"true"});
}

void Settings::addPrecision() {
  AmpOptions &o = options.train.amp;
  ScalerOptions &s = options.train.scaler;
  toggle("amp.enabled", o.enabled,
         "matrix products in half precision, weights and gradients in f32")
      .named("--amp");
  choice("amp.dtype", o.dtype, {"bf16", "fp16"}, "the half type")
      .named("--amp-dtype")
      .only("amp.enabled", {"true"});
  auto ops = [&](const char *key, std::vector<std::string> &field,
                 const char *help) {
    Setting &setting = list(key, field, "OP,...", help);
    setting.flag = "--amp-" + setting.flag.substr(2);
    setting.commas = true;
    setting.only("amp.enabled", {"true"});
  };
  ops("amp.allow", o.allow, "ops that run in half");
  ops("amp.deny", o.deny, "ops that stay f32");
  Setting &scale =
      add("amp.loss-scale", "auto is dynamic under fp16, else none",
          "{auto,none,dynamic}|NUMBER");
  scale.set = [&s](auto &words) -> Status {
    std::string word = words.size() == 1 ? words[0] : "";
    if (word != "auto" && word != "none" && word != "dynamic" &&
        !parseNumber(word, 1e-30, 1e38))
      return usageError("expected auto, none, dynamic or a number above 0, "
                        "found '{}'",
                        fmt::join(words, ","));
    s.scale = word;
    return {};
  };
  scale.get = [&s] { return yamlText(s.scale); };
  auto dynamic = [](Setting &setting) {
    setting.only("amp.loss-scale", {"auto", "dynamic"});
  };
  dynamic(number("amp.loss-scale-init", s.init, kAboveZero, kNoLimit,
                 "the first dynamic scale"));
  dynamic(count("amp.loss-scale-interval", s.interval, 1,
                "good steps in a row before the scale grows"));
  dynamic(number("amp.loss-scale-growth", s.growthFactor, 1, kNoLimit,
                 "factor by which it grows"));
  dynamic(number("amp.loss-scale-backoff", s.backoffFactor, kAboveZero, 1,
                 "factor of the scale after an overflow"));
  dynamic(number("amp.loss-scale-min", s.minScale, 0, kNoLimit,
                 "floor of the scale; 0: none"));
  dynamic(number("amp.loss-scale-max", s.maxScale, 0, kNoLimit,
                 "ceiling of the scale; 0: none"));
  dynamic(count("amp.loss-scale-hysteresis", s.hysteresis, 1,
                "overflows before the first backoff, anew when it grows"));
}

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
}

/// What `kind` leaves unread.
static Status checkAverages(const EmaOptions &o,
                            const std::vector<std::string> &given) {
  auto isGiven = [&](const char *key) {
    return std::find(given.begin(), given.end(), key) != given.end();
  };
  if (o.decay && o.halflife)
    return usageError("expected --ema=DECAY or --ema-halflife, found both");
  if (o.decay && o.kind == "swa")
    return usageError("--ema-kind=swa is the plain average: it has no decay");
  if (isGiven("ema.tau") && o.kind == "auto" && (o.decay || o.halflife))
    return usageError("--ema-tau needs --ema-kind=ultralytics");
  return {};
}

void Settings::addRanks() {
  AllReduceOptions &o = options.train.allReduce;
  count("ddp.ranks", o.world, 1, "ranks that train together", 65536)
      .named("--ddp");
  Setting &bucket =
      add("ddp.bucket-mb",
          "size of an all-reduce bucket; the first one is of 1", "NUMBER");
  bucket.set = [&o](auto &words) -> Status {
    DLC_ASSIGN(double mb, parseNumber(words.size() == 1 ? words[0] : "",
                                      kAboveZero, 1 << 20));
    o.bucketBytes = int64_t(mb * (1 << 20));
    o.firstBucketBytes =
        std::min(AllReduceOptions().firstBucketBytes, o.bucketBytes);
    return {};
  };
  bucket.get = [&o] { return numberText(double(o.bucketBytes) / (1 << 20)); };
}

const Setting *Settings::find(const std::string &key) const {
  for (const Setting &s : settings)
    if (s.key == key)
      return &s;
  return nullptr;
}

Status Settings::set(const Setting &setting,
                     const std::vector<std::string> &words,
                     const std::string &where) {
  return setting.set(words).withContext(where);
}

Status Settings::apply(const Config &config) {
  std::vector<std::string> keys;
  for (const Setting &s : settings)
    keys.push_back(s.key);
  for (const auto &[key, value] : config) {
    if (key.starts_with("run."))
      continue;
    const Setting *setting = find(key);
    if (!setting)
      return usageError("{}: unknown key '{}'{}", value.keyAt, key,
                        suggestion(key, keys));
    DLC_TRY(set(*setting, value.words, value.where + ": " + key));
  }
  return {};
}

bool Settings::applies(const Setting &setting) const {
  const Setting *on = find(setting.onlyWith);
  if (!on)
    return true;
  std::string found = on->get();
  if (setting.values.empty())
    return found != "false" && applies(*on);
  return std::find(setting.values.begin(), setting.values.end(), found) !=
             setting.values.end() &&
         applies(*on);
}

Status Settings::check(const std::vector<std::string> &given) const {
  for (const std::string &key : given) {
    const Setting &setting = *find(key);
    if (applies(setting))
      continue;
    const Setting &on = *find(setting.onlyWith);
    return on.type.empty() || setting.values.empty()
               ? usageError("{} needs {}", setting.flag, on.flag)
               : usageError("{} needs {}={}", setting.flag, on.flag,
                            fmt::join(setting.values, " or "));
  }
  const ScheduleOptions &s = options.train.schedule;
  if (s.name == "multistep" && s.milestones.empty())
    return usageError("--schedule=multistep needs --milestones=A,B,...");
  if (s.cycleSteps == 0)
    for (const std::string &key : given)
      if (key == "train.cycle-mult" || key == "train.cycle-decay")
        return usageError("{} needs --cycle-steps", find(key)->flag);
  if (!s.perEpoch && s.totalSteps && s.warmup >= s.totalSteps)
    return usageError("--warmup={} leaves none of --steps={}", s.warmup,
                      s.totalSteps);
  DLC_TRY(checkAverages(options.train.ema, given));
  const OptimizerOptions &optimizer = options.train.optimizer;
  if (optimizer.nesterov.value_or(false) && optimizer.momentum == 0.0)
    return usageError("--nesterov needs a --momentum above 0");
  return {};
}

std::string Settings::yaml(bool help) const {
  std::string text, section;
  for (const Setting &s : settings) {
    size_t dot = s.key.find('.');
    if (s.key.substr(0, dot) != section) {
      section = s.key.substr(0, dot);
      text += section + ":\n";
    }
    std::string line = fmt::format("  {}: {}", s.key.substr(dot + 1), s.get());
    text += help ? fmt::format("{:<34} # {}: {}\n", line, s.flag, s.help)
                 : line + "\n";
  }
  return text;
}

std::string Settings::line() const {
  std::string text;
  for (const Setting &s : settings)
    if (applies(s) && s.get() != "[]")
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", s.flag.substr(2),
                          s.get());
  return text;
}

} // namespace dlc
