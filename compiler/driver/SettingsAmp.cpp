#include "compiler/driver/Casts.h"
#include "compiler/driver/Settings.h"
#include <fmt/ranges.h>

namespace dlc {

/// true is O1 and false is O0, so that the bare flag works.
void Settings::addAmpLevel(AmpOptions &o) {
  Setting &level =
      add("amp.level",
          "mixed precision; alone: O1, by lists. O2: all but losses, with f32 "
          "parameters; O3: those in half, too",
          "{O0,O1,O2,O3}")
          .named("--amp");
  level.optionalWord = true;
  level.set = [&o](auto &words) -> Status {
    const std::vector<std::string> levels{"O0", "O1", "O2", "O3"};
    std::string word = words.size() == 1 ? words[0] : "";
    word = word == "true" ? "O1" : word == "false" ? "O0" : word;
    if (std::find(levels.begin(), levels.end(), word) == levels.end())
      return usageError("expected O0, O1, O2 or O3, found '{}'",
                        fmt::join(words, ","));
    o.level = word;
    return {};
  };
  level.get = [&o] { return o.level; };
}

void Settings::addPrecision() {
  AmpOptions &o = options.train.amp;
  ScalerOptions &s = options.train.scaler;
  addAmpLevel(o);
  choice("amp.dtype", o.dtype, {"bf16", "fp16"}, "the half type")
      .named("--amp-dtype")
      .only("amp.level", {"O1", "O2", "O3"});
  choice("amp.preset", o.preset, {"dlc", "torch", "tf", "oneflow"},
         "whose lists and rules decide")
      .named("--amp-preset")
      .only("amp.level", {"O1"});
  auto ops = [&](const char *key, std::vector<std::string> &field,
                 const char *help) {
    Setting &setting = list(key, field, "OP,...", help);
    setting.flag = "--amp-" + setting.flag.substr(2);
    setting.commas = true;
    setting.only("amp.level", {"O1", "O2", "O3"});
    setting.set = [&field](auto &words) -> Status {
      for (const std::string &word : words)
        DLC_TRY(checkCastName(word));
      field = words;
      return {};
    };
  };
  ops("amp.allow", o.allow, "ops that run in half");
  ops("amp.deny", o.deny, "ops that stay f32, and what follows them");
  ops("amp.infer", o.infer, "ops that run in half between allowed ones");
  ops("amp.clear", o.clear, "ops that follow their neighbours");
  Setting &file = text("amp.lists", o.listsFile, "FILE",
                       "a YAML file with more of them by allow, deny, infer "
                       "and clear")
                      .named("--amp-lists")
                      .only("amp.level", {"O1", "O2", "O3"});
  file.set = [&o](auto &words) -> Status {
    o.fileLists.clear();
    o.listsFile = words.size() == 1 ? words[0] : "";
    if (o.listsFile.empty())
      return {};
    DLC_ASSIGN(o.fileLists, readCastLists(o.listsFile));
    return {};
  };
  list("amp.node", o.nodes, "REGEX:f32|half",
       "type of the ONNX nodes that match; the first counts")
      .named("--amp-node")
      .only("amp.level", {"O1", "O2", "O3"});
  toggle("amp.explain", o.explain, "prints why each node has its type")
      .named("--explain-amp")
      .only("amp.level", {"O1", "O2", "O3"});
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
  toggle(
      "amp.loss-scale-per-loss", s.perLoss,
      "each of several losses has a scale, and a backward graph, of its own");
}

} // namespace dlc
