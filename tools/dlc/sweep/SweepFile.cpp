// SPDX-License-Identifier: Apache-2.0
#include "tools/dlc/sweep/SweepFile.h"

#include "runtime/base/files/Files.h"
#include "runtime/train/run/Best.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace dlc::tool {
namespace {

constexpr int64_t kMostTrials = 10000;

// SplitMix64 of a text: all bits depend on all characters.
uint64_t mixed(std::string_view text) {
  uint64_t state = 0x9e3779b97f4a7c15;
  for (const char c : text) {
    state += 0x9e3779b97f4a7c15 + static_cast<unsigned char>(c);
    state = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9;
    state = (state ^ (state >> 27)) * 0x94d049bb133111eb;
    state ^= state >> 31;
  }
  return state;
}

// In [0, 1).
double drawOf(uint64_t seed, int64_t trial, const std::string &key) {
  return double(mixed(fmt::format("{}/{}/{}", seed, trial, key)) >> 11) *
         0x1p-53;
}

// "loguniform(1e-4, 1)": the words between the brackets, if that is its name.
std::optional<Words> argumentsOf(const std::string &text,
                                 std::string_view name) {
  if (!text.starts_with(std::string(name) + "(") || !text.ends_with(")"))
    return std::nullopt;
  Words words;
  std::string word;
  for (const char c : text.substr(name.size() + 1)) {
    if (c != ',' && c != ')') {
      if (c != ' ')
        word += c;
      continue;
    }
    words.push_back(std::exchange(word, ""));
  }
  return words;
}

Result<SearchedFlag> searchedFlag(const std::string &key,
                                  const ConfigValue &value) {
  SearchedFlag flag{.key = key, .choices = value.words};
  if (value.words.empty())
    return usageError("{}: '{}' has no values", value.where, key);
  if (value.words.size() > 1)
    return flag;
  for (const char *name : {"uniform", "loguniform", "integers"}) {
    const auto words = argumentsOf(value.words[0], name);
    if (!words)
      continue;
    flag.choices.clear();
    flag.isLog = name == std::string_view("loguniform");
    flag.isWhole = name == std::string_view("integers");
    const auto low = words->size() == 2
                         ? parseNumber((*words)[0], -kNoLimit, kNoLimit)
                         : Result<double>(0.0);
    const auto high = words->size() == 2
                          ? parseNumber((*words)[1], -kNoLimit, kNoLimit)
                          : Result<double>(0.0);
    if (!low || !high || !(*low < *high) || (flag.isLog && *low <= 0))
      return usageError("{}: expected {}(LOW, HIGH){}, found '{}'", value.where,
                        name, flag.isLog ? " above 0" : "", value.words[0]);
    flag.low = *low, flag.high = *high;
  }
  return flag;
}

std::string valueOf(const SearchedFlag &flag, double draw) {
  if (!flag.choices.empty())
    return flag.choices[size_t(draw * double(flag.choices.size()))];
  if (flag.isWhole)
    return fmt::format(
        "{:.0f}", std::floor(flag.low + draw * (flag.high - flag.low + 1)));
  const double value = flag.isLog
                           ? flag.low * std::pow(flag.high / flag.low, draw)
                           : flag.low + draw * (flag.high - flag.low);
  return fmt::format("{:.6g}", value);
}

// What is neither sweep's nor a flag of compile or train.
Status checkSections(const Config &config, const std::string &path) {
  for (const auto &[key, value] : config) {
    const std::string section = key.substr(0, key.find('.'));
    if (section != "sweep" && section != "compile" && section != "train" &&
        section != "search")
      return usageError("{}: '{}': expected a section sweep, compile, train or "
                        "search",
                        value.keyAt, section);
  }
  if (config.empty())
    return usageError("{}: expected sections sweep and search", path);
  return {};
}

// Flags that the sweep gives itself.
Status checkFlag(const SweepFile &file, const std::string &key,
                 const std::string &where) {
  for (const char *own :
       {"train.run", "train.epochs", "train.steps", "train.data", "train.val",
        "train.resume", "compile.output", "compile.stop-after"})
    if (key == own)
      return usageError("{}: {} is the sweep's own: see dlc sweep --help",
                        where, key);
  if (key.starts_with("compile.") && file.isCompiled())
    return usageError("{}: {}: '{}' is compiled already: give the model", where,
                      key, file.model);
  return {};
}

Status takeFlags(SweepFile &file, const Config &config) {
  for (const auto &[key, value] : config) {
    const size_t dot = key.find('.');
    const std::string section = key.substr(0, dot), name = key.substr(dot + 1);
    if (section == "sweep")
      continue;
    const std::string flag = section == "search" ? name : key;
    if (!flag.starts_with("compile.") && !flag.starts_with("train."))
      return usageError("{}: expected compile.FLAG or train.FLAG, found '{}'",
                        value.keyAt, flag);
    DLC_TRY(checkFlag(file, flag, value.keyAt));
    if (section == "search") {
      DLC_ASSIGN(SearchedFlag searched, searchedFlag(flag, value));
      if (file.method == SweepMethod::Grid && searched.choices.empty())
        return usageError("{}: a grid needs a list of values for {}, or "
                          "method: random",
                          value.where, flag);
      file.search.push_back(std::move(searched));
      continue;
    }
    (section == "compile" ? file.compile : file.train)
        .emplace_back(name, fmt::format("{}", fmt::join(value.words, ",")));
  }
  return {};
}

Status checkValues(const SweepFile &file, const std::string &path) {
  if (file.model.empty() || file.data.empty() || file.val.empty())
    return usageError("{}: expected sweep.model, sweep.data and sweep.val",
                      path);
  if (file.search.empty())
    return usageError("{}: expected a section search with what differs", path);
  if (file.leastEpochs > file.epochs)
    return usageError("{}: sweep.least-epochs={} is more than sweep.epochs={}",
                      path, file.leastEpochs, file.epochs);
  return parseBest(file.metric).status().withContext(path + ": sweep.metric");
}

} // namespace

bool SweepFile::isCompiled() const { return isFolder(model); }

void SweepFile::addTo(OptionTable &table) {
  table.text("sweep.model", model, "PATH", "");
  table.text("sweep.data", data, "PATH", "");
  table.text("sweep.val", val, "PATH", "");
  table.choice("sweep.method", method, {"grid", "random", "halving", "asha"},
               "");
  table.count("sweep.trials", trials, 1, "", kMostTrials);
  table.count("sweep.seed", seed, 0, "");
  table.text("sweep.metric", metric, "METRIC", "");
  table.count("sweep.epochs", epochs, 1, "");
  table.count("sweep.eta", eta, 2, "", 1000);
  table.count("sweep.least-epochs", leastEpochs, 1, "");
}

Result<SweepFile> readSweepFile(const std::string &path) {
  SweepFile file;
  DLC_ASSIGN(file.text, readFile(path, 1 << 20));
  DLC_ASSIGN(const Config config, readConfig(path));
  DLC_TRY(checkSections(config, path));
  OptionTable table;
  file.addTo(table);
  DLC_TRY(table.apply(config, onlySection("sweep")));
  DLC_TRY(takeFlags(file, config));
  DLC_TRY(checkValues(file, path));
  return file;
}

Result<std::vector<SweepTrial>> trialsOf(const SweepFile &file) {
  int64_t count = file.trials;
  if (file.method == SweepMethod::Grid) {
    count = 1;
    for (const SearchedFlag &flag : file.search) {
      count *= std::ssize(flag.choices);
      if (count > kMostTrials)
        return limitExceeded("the grid has more than {} trials: use method: "
                             "random",
                             kMostTrials);
    }
  }
  std::vector<SweepTrial> all;
  for (int64_t i = 0; i < count; ++i) {
    SweepTrial trial{i + 1, {}};
    int64_t left = i;
    for (auto flag = file.search.rbegin(); flag != file.search.rend(); ++flag) {
      const auto size = static_cast<int64_t>(flag->choices.size());
      trial.values.emplace_back(
          flag->key, file.method == SweepMethod::Grid
                         ? flag->choices[static_cast<size_t>(left % size)]
                         : valueOf(*flag, drawOf(file.seed, i + 1, flag->key)));
      left = size ? left / size : 0;
    }
    std::reverse(trial.values.begin(), trial.values.end());
    all.push_back(std::move(trial));
  }
  return all;
}

std::vector<int64_t> rungsOf(const SweepFile &file) {
  std::vector<int64_t> rungs;
  if (file.method == SweepMethod::Halving || file.method == SweepMethod::Asha)
    for (int64_t r = file.leastEpochs; r < file.epochs; r *= file.eta)
      rungs.push_back(r);
  rungs.push_back(file.epochs);
  return rungs;
}

} // namespace dlc::tool
