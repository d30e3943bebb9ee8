#include "compiler/driver/Settings.h"
#include <fmt/ranges.h>

namespace dlc {

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

} // namespace dlc
