#include "runtime/train/TrainOptions.h"

#include "runtime/base/Files.h"
#include "runtime/base/Nearest.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>

namespace dlc {
namespace {

// Calls f(key, member) for every option that is kept.
template <class Options, class F> void forEachOption(Options &o, F &&f) {
  f("artifact", o.artifact);
  f("data", o.data);
  f("val", o.val);
  f("steps", o.steps);
  f("epochs", o.epochs);
  f("shuffle", o.shuffle);
  f("seed", o.seed);
  f("scale", o.scale);
  f("save_every", o.saveEvery);
  f("keep", o.keep);
  f("threads", o.threads);
  f("timeout", o.timeout);
  f("log_every", o.logEvery);
  f("max_skips", o.maxSkips);
  f("tf32", o.tune.tf32);
}

template <class T> void emit(YAML::Emitter &out, const T &value) {
  out << value;
}
void emit(YAML::Emitter &out, const std::string &value) {
  out << YAML::DoubleQuoted << value;
}
void emit(YAML::Emitter &out, const std::optional<double> &value) {
  if (value)
    out << *value;
  else
    out << YAML::Null;
}

template <class T> void read(const YAML::Node &node, T &value) {
  value = node.as<T>();
}
void read(const YAML::Node &node, std::optional<double> &value) {
  if (!node.IsNull())
    value = node.as<double>();
}

Status checkKeys(const YAML::Node &map, const std::vector<std::string> &known,
                 const std::string &path) {
  for (const auto &entry : map) {
    const std::string key = entry.first.as<std::string>();
    if (std::find(known.begin(), known.end(), key) == known.end())
      return corrupt("'{}', line {}, column {}: unknown key '{}'{}", path,
                     entry.first.Mark().line + 1, entry.first.Mark().column + 1,
                     key, suggestion(key, known));
  }
  return {};
}

} // namespace

std::string toYaml(const TrainOptions &options) {
  YAML::Emitter out;
  out << YAML::BeginMap;
  forEachOption(options, [&](const char *key, const auto &value) {
    out << YAML::Key << key << YAML::Value;
    emit(out, value);
  });
  out << YAML::EndMap;
  return std::string(out.c_str()) + "\n";
}

Result<TrainOptions> optionsFromYaml(const std::string &path) {
  DLC_ASSIGN(std::string text, readFile(path, 1 << 20));
  try {
    YAML::Node node = YAML::Load(text);
    if (!node.IsMap())
      return corrupt("'{}' is not a configuration: expected keys and values",
                     path);
    TrainOptions options;
    std::vector<std::string> known;
    forEachOption(options, [&](const char *key, auto &value) {
      known.push_back(key);
      if (node[key])
        read(node[key], value);
      else
        options.missing.push_back(key);
    });
    DLC_TRY(checkKeys(node, known, path));
    if (!node["data"])
      return corrupt("'{}' has no 'data'", path);
    return options;
  } catch (const YAML::Exception &error) {
    return corrupt("'{}', line {}, column {}: {}", path, error.mark.line + 1,
                   error.mark.column + 1, error.msg);
  }
}

Result<TrainOptions> resumeOptions(const TrainOptions &given) {
  if (!isFolder(given.resume))
    return failed("no run '{}': no such folder", given.resume);
  std::string path = given.resume + "/config.yaml";
  if (!exists(path))
    return failed("'{}' is not a run: it has no config.yaml", given.resume);
  DLC_ASSIGN(TrainOptions options, optionsFromYaml(path));
  const TrainOptions defaults;
  auto take = [&](auto TrainOptions::*member) {
    if (given.*member != defaults.*member)
      options.*member = given.*member;
  };
  if (given.steps || given.epochs)
    options.steps = options.epochs = 0;
  for (auto member :
       {&TrainOptions::steps, &TrainOptions::epochs, &TrainOptions::saveEvery,
        &TrainOptions::keep, &TrainOptions::logEvery})
    take(member);
  for (auto member :
       {&TrainOptions::data, &TrainOptions::val, &TrainOptions::resume})
    take(member);
  take(&TrainOptions::threads);
  take(&TrainOptions::timeout);
  take(&TrainOptions::quiet);
  take(&TrainOptions::profile);
  take(&TrainOptions::debugOverflow);
  take(&TrainOptions::maxSkips);
  const bool tf32 = options.tune.tf32 || given.tune.tf32;
  options.tune = given.tune;
  options.tune.tf32 = tf32;
  options.graph = given.graph;
  return options;
}

} // namespace dlc
