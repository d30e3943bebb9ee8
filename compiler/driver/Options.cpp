#include "compiler/driver/Options.h"
#include <yaml-cpp/yaml.h>

namespace dlc {
namespace {

void train(YAML::Emitter &out, StepOptions t) {
  t.resolve();
  auto key = [&](const char *name) -> YAML::Emitter & {
    return out << YAML::Key << name << YAML::Value;
  };
  key("loss") << t.loss.kind;
  key("bn-variance") << (t.loss.bnVariancePopulation ? "population"
                                                     : "unbiased");
  key("optimizer") << t.optimizer.name;
  key("lr") << *t.optimizer.lr;
  key("weight-decay") << *t.optimizer.weightDecay;
  if (t.optimizer.name == "sgd") {
    key("momentum") << t.optimizer.momentum;
    key("nesterov") << t.optimizer.nesterov;
  } else {
    key("betas") << YAML::Flow
                 << std::vector<double>{t.optimizer.beta1, t.optimizer.beta2};
    key("eps") << t.optimizer.epsilon;
  }
  key("schedule") << t.schedule.name;
  key("warmup") << t.schedule.warmup;
  key("steps") << t.schedule.totalSteps;
  if (t.schedule.name == "step") {
    key("decay-steps") << t.schedule.decaySteps;
    key("decay-rate") << t.schedule.decayRate;
  }
  if (t.schedule.name == "cosine")
    key("min-lr") << t.schedule.minLr;
  key("amp") << t.amp.enabled;
  if (t.amp.enabled) {
    key("amp-dtype") << t.amp.dtype;
    key("amp-allow") << YAML::Flow << t.amp.allow;
    key("amp-deny") << YAML::Flow << t.amp.deny;
  }
  key("loss-scale") << t.scaler.scale;
  key("clip-grad") << t.clip.maxNorm;
  key("ema") << t.ema.enabled;
  if (t.ema.enabled) {
    key("ema-decay") << t.ema.decay;
    key("ema-tau") << t.ema.tau;
  }
  key("ddp") << t.allReduce.world;
  key("bucket-bytes") << t.allReduce.bucketBytes;
  key("first-bucket-bytes") << t.allReduce.firstBucketBytes;
}

} // namespace

std::string toYaml(const CompileOptions &options) {
  YAML::Emitter out;
  out.SetDoublePrecision(15); // 0.05, not 0.050000000000000003
  out << YAML::BeginMap;
  std::string name = options.model.substr(options.model.find_last_of('/') + 1);
  out << YAML::Key << "model" << YAML::Value << name;
  out << YAML::Key << "batch" << YAML::Value << options.batch;
  train(out, options.train);
  out << YAML::Key << "cpu" << YAML::Value << options.cpu;
  out << YAML::EndMap;
  return std::string(out.c_str()) + "\n";
}

} // namespace dlc
