#include "compiler/driver/Options.h"
#include <fmt/ranges.h>
#include <set>
#include <yaml-cpp/yaml.h>

namespace dlc {
namespace {

/// Calls f(name, value) for every setting that applies, defaults resolved.
template <class F> void forEachSetting(StepOptions t, F &&f) {
  t.resolve();
  f("loss", t.loss.kind);
  f("bn-variance",
    std::string(t.loss.bnVariancePopulation ? "population" : "unbiased"));
  f("optimizer", t.optimizer.name);
  f("lr", *t.optimizer.lr);
  f("weight-decay", *t.optimizer.weightDecay);
  const OptimizerOptions &o = t.optimizer;
  if (o.momentum)
    f("momentum", *o.momentum);
  if (optimizerReads(o.name, "nesterov"))
    f("nesterov", *o.nesterov);
  if (optimizerReads(o.name, "dampening"))
    f("dampening", o.dampening);
  if (o.beta1 && o.beta2)
    f("betas", std::vector<double>{*o.beta1, *o.beta2});
  if (o.epsilon)
    f("eps", *o.epsilon);
  if (o.alpha)
    f("alpha", *o.alpha);
  if (optimizerReads(o.name, "amsgrad"))
    f("amsgrad", o.amsgrad);
  f("lr-scale", o.lrScale);
  f("weight-decay-scale", o.weightDecayScale);
  f("no-decay", o.noDecay);
  f("schedule", t.schedule.name);
  f("warmup", t.schedule.warmup);
  f("steps", t.schedule.totalSteps);
  if (t.schedule.name == "step") {
    f("decay-steps", t.schedule.decaySteps);
    f("decay-rate", t.schedule.decayRate);
  }
  if (t.schedule.name == "cosine")
    f("min-lr", t.schedule.minLr);
  f("amp", t.amp.enabled);
  if (t.amp.enabled) {
    f("amp-dtype", t.amp.dtype);
    f("amp-allow", t.amp.allow);
    f("amp-deny", t.amp.deny);
  }
  f("loss-scale", t.scaler.scale);
  f("clip-grad", t.clip.maxNorm);
  f("ema", t.ema.enabled);
  if (t.ema.enabled) {
    f("ema-decay", *t.ema.decay);
    f("ema-tau", t.ema.tau);
  }
  f("ddp", t.allReduce.world);
  f("bucket-bytes", t.allReduce.bucketBytes);
  f("first-bucket-bytes", t.allReduce.firstBucketBytes);
}

template <class T> void emit(YAML::Emitter &out, const T &value) {
  out << value;
}
template <class T> void emit(YAML::Emitter &out, const std::vector<T> &values) {
  out << YAML::Flow << values;
}

} // namespace

std::string toYaml(const CompileOptions &options) {
  YAML::Emitter out;
  out.SetDoublePrecision(15); // 0.05, not 0.050000000000000003
  out << YAML::BeginMap;
  std::string name = options.model.substr(options.model.find_last_of('/') + 1);
  out << YAML::Key << "model" << YAML::Value << name;
  out << YAML::Key << "batch" << YAML::Value << options.batch;
  forEachSetting(options.train, [&](const char *name, const auto &value) {
    out << YAML::Key << name << YAML::Value;
    emit(out, value);
  });
  out << YAML::Key << "cpu" << YAML::Value << options.cpu;
  out << YAML::EndMap;
  return std::string(out.c_str()) + "\n";
}

void describe(const StepOptions &options, plan::Plan &plan) {
  forEachSetting(options, [&](const std::string &name, const auto &value) {
    using T = std::decay_t<decltype(value)>;
    static const std::set<std::string> elsewhere = {"loss", "steps", "ddp"};
    if (elsewhere.count(name))
      return;
    plan::Attribute attribute;
    attribute.set_name(name);
    if constexpr (std::is_same_v<T, bool>)
      attribute.set_s(value ? "on" : "off");
    else if constexpr (std::is_integral_v<T>)
      attribute.set_i(value);
    else if constexpr (std::is_floating_point_v<T>)
      attribute.set_f(value);
    else if constexpr (std::is_same_v<T, std::string>)
      attribute.set_s(value);
    else
      attribute.set_s(fmt::format("{}", fmt::join(value, ",")));
    if (attribute.has_s() && attribute.s().empty())
      return;
    *plan.add_schedule() = attribute;
  });
}

} // namespace dlc
