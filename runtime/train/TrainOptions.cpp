#include "runtime/train/TrainOptions.h"

#include "runtime/base/Files.h"
#include "runtime/base/Nearest.h"
#include "runtime/train/Buffers.h"

#include <yaml-cpp/yaml.h>

#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

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
  f("bn_buffers", o.bnBuffers);
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

// Sets the options in a file, but those in `except`.
Status readOptions(const YAML::Node &node, const std::string &path,
                   const std::set<std::string> &except, TrainOptions &options) {
  std::vector<std::string> known;
  forEachOption(options, [&](const char *key, auto &value) {
    known.push_back(key);
    if (!node[key])
      options.missing.push_back(key);
    else if (!except.count(key))
      read(node[key], value);
  });
  DLC_TRY(checkKeys(node, known, path));
  if (!node["data"])
    return corrupt("'{}' has no 'data'", path);
  const Status status = checkOptions(options);
  return status.ok() ? status : corrupt("'{}': {}", path, status.message());
}

Status readOptions(const std::string &path, const std::set<std::string> &except,
                   TrainOptions &options) {
  DLC_ASSIGN(std::string text, readFile(path, 1 << 20));
  try {
    const YAML::Node node = YAML::Load(text);
    if (!node.IsMap())
      return corrupt("'{}' is not a configuration: expected keys and values",
                     path);
    return readOptions(node, path, except, options);
  } catch (const YAML::Exception &error) {
    return corrupt("'{}', line {}, column {}: {}", path, error.mark.line + 1,
                   error.mark.column + 1, error.msg);
  }
}

} // namespace

Status checkOptions(const TrainOptions &options) {
  const auto check = [](std::string_view key, auto value, auto low, auto high) {
    return value >= low && value <= high // NaN is in no interval
               ? Status()
               : usageError("{} is {}, expected {} to {}", key, value, low,
                            high);
  };
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  DLC_TRY(check("steps", options.steps, int64_t(0), kMost));
  DLC_TRY(check("epochs", options.epochs, int64_t(0), kMost));
  DLC_TRY(check("save_every", options.saveEvery, int64_t(0), kMost));
  DLC_TRY(check("keep", options.keep, int64_t(1), kMost));
  DLC_TRY(check("log_every", options.logEvery, int64_t(0), kMost));
  DLC_TRY(check("max_skips", options.maxSkips, int64_t(1), kMost));
  DLC_TRY(check("threads", options.threads, 0, 1 << 20));
  DLC_TRY(check("timeout", options.timeout, 0.1, 1e6));
  if (std::find(kBufferModes.begin(), kBufferModes.end(), options.bnBuffers) ==
      kBufferModes.end())
    return usageError("bn_buffers is '{}', expected {}", options.bnBuffers,
                      fmt::join(kBufferModes, " or "));
  return {};
}

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
  TrainOptions options;
  DLC_TRY(readOptions(path, {}, options));
  return options;
}

Result<TrainOptions> resumeOptions(const TrainOptions &given) {
  if (!isFolder(given.resume))
    return failed("no run '{}': no such folder", given.resume);
  std::string path = given.resume + "/config.yaml";
  if (!exists(path))
    return failed("'{}' is not a run: it has no config.yaml", given.resume);
  std::set<std::string> except = given.given;
  if (except.count("steps") || except.count("epochs"))
    except.insert({"steps", "epochs"}); // one length instead of another
  TrainOptions options = given;
  DLC_TRY(readOptions(path, except, options));
  return options;
}

} // namespace dlc
