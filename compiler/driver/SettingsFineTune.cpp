// Where weights come from: fresh values, other files, adapters.
#include "compiler/driver/Settings.h"

namespace dlc {

void Settings::addFineTune() {
  import::ImportOptions &i = options.import;
  list("model.init", i.init.rules, "[REGEX:]KIND",
       "initial values of the weights that match, or of all: "
       "{xavier,kaiming}_{uniform,normal}, trunc_normal, orthogonal, zeros, "
       "ones, keep; the first that matches counts")
      .set = [&i](auto &words) -> Status {
    for (const std::string &word : words)
      DLC_TRY(import::InitRule::parse(word).status());
    i.init.rules = words;
    return {};
  };
  count("model.replace-head", i.headClasses, 0,
        "classes of a new last layer; 0: the model's own");
  text("model.weights", i.weights, "FILE",
       "takes weights by name from a .safetensors or .onnx file");
  toggle("model.weights-partial", i.weightsPartial,
         "names that the file lacks, or has in another shape, keep their value")
      .only("model.weights", {});
  int64_t &seed = options.train.random.seed;
  count("model.seed", seed, 0, "of initial values and dropout").set =
      [this, &seed](auto &words) -> Status {
    DLC_ASSIGN(seed, parseCount(words.size() == 1 ? words[0] : "", 0));
    options.import.init.seed = seed;
    return {};
  };
}

void Settings::addAdapters() {
  LoraOptions &o = options.train.lora;
  count("lora.rank", o.rank, 0,
        "freezes the weights and trains low-rank adapters; 0: none", 1 << 16)
      .named("--lora");
  number("lora.alpha", o.alpha, kAboveZero, kNoLimit,
         "adapters count alpha / rank")
      .named("--lora-alpha")
      .only("lora.rank", {});
  patterns("lora.targets", o.targets,
           "weights that get adapters; none: those of all matrix products")
      .named("--lora-targets")
      .only("lora.rank", {});
}

} // namespace dlc
