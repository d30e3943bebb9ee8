// SPDX-License-Identifier: Apache-2.0
#include "test/gpu/Cases.h"

#include "runtime/base/files/Files.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <sstream>

namespace dlc::test {

bool TrainingCase::has(const std::string &check) const {
  return std::find(checks.begin(), checks.end(), check) != checks.end();
}

Result<std::vector<TrainingCase>> readCases(const std::string &path) {
  DLC_ASSIGN(const std::string text, readFile(path));
  DLC_ASSIGN(const Json list, parseJson(text));
  const std::string folder =
      std::filesystem::absolute(path).parent_path().string() + "/";
  std::vector<TrainingCase> cases;
  try {
    for (const Json &json : list) {
      TrainingCase c{json.at("name"),
                     folder + json.at("artifact").get<std::string>(),
                     folder + json.at("data").get<std::string>(),
                     json.at("steps"),
                     json.at("words"),
                     {},
                     json.at("checks")};
      for (const Json &e : json.at("expected"))
        c.expected.push_back({e.at("key"), e.at("from"), e.at("values"),
                              e.at("tolerances"), e.at("counts")});
      cases.push_back(std::move(c));
    }
  } catch (const Json::exception &error) {
    return corrupt("{}: {}", path, error.what());
  }
  return cases;
}

static std::map<std::string, std::vector<double>>
readMetrics(const std::string &path) {
  std::map<std::string, std::vector<double>> metrics;
  std::stringstream lines(readFile(path).ok() ? *readFile(path) : "");
  for (std::string line; std::getline(lines, line);)
    if (auto json = parseJson(line); json && json->is_object())
      for (const auto &[key, value] : json->items())
        metrics[key].push_back(value.is_number() ? value.get<double>() : NAN);
  return metrics;
}

TrainingRun train(const std::string &dlc, const TrainingCase &c,
                  const std::string &folder,
                  const std::vector<std::string> &words) {
  std::filesystem::create_directories(folder);
  const std::string run = folder + "/run", lines = run + "/metrics.jsonl";
  std::vector<std::string> command = {dlc,
                                      "train",
                                      c.artifact,
                                      "--quiet",
                                      "--data=" + c.data,
                                      "--run=" + run,
                                      fmt::format("--steps={}", c.steps)};
  command.insert(command.end(), c.words.begin(), c.words.end());
  command.insert(command.end(), words.begin(), words.end());
  std::vector<std::string> variables;
  // Where a stand-in plays the driver, it plays these kernels.
  if (const std::string host = c.artifact + ".host.so";
      std::filesystem::exists(host))
    variables.push_back("DLC_STANDIN_KERNELS=" + host);

  TrainingRun result;
  std::error_code ignored;
  result.process = runProcess(command, variables, 300, [&](double seconds) {
    if (result.firstStep == 0 && std::filesystem::exists(lines, ignored) &&
        std::filesystem::file_size(lines, ignored) > 0)
      result.firstStep = seconds;
  });
  result.metrics = readMetrics(lines);
  result.state =
      fmt::format("{}/checkpoint-{}/state.safetensors", run, c.steps);
  return result;
}

static std::string compareCounts(const std::vector<double> &found,
                                 const Expected &expected) {
  const auto count = [](const std::vector<double> &values) {
    return static_cast<double>(values.size()) -
           static_cast<double>(std::count(values.begin(), values.end(), 0.0));
  };
  const double f = count(found), e = count(expected.values);
  fmt::print("{}: {} times, {} has {}\n", expected.key, f, expected.from, e);
  return f > 0 && std::fabs(f - e) <= expected.tolerances.at(0)
             ? ""
             : fmt::format(
                   "{} {} times, {} has {}: they differ by more than {}",
                   expected.key, f, expected.from, e,
                   expected.tolerances.at(0));
}

std::string compareMetrics(const TrainingRun &run, const Expected &expected) {
  const auto at = run.metrics.find(expected.key);
  const size_t found = at == run.metrics.end() ? 0 : at->second.size();
  if (found != expected.values.size())
    return fmt::format("{}: {} steps, {} has {}", expected.key, found,
                       expected.from, expected.values.size());
  if (expected.counts)
    return compareCounts(at->second, expected);
  double worst = 0;
  for (size_t i = 0; i < found; ++i) {
    const double f = at->second[i], e = expected.values[i];
    const double difference =
        f == e ? 0 : std::fabs(f - e) / std::max(std::fabs(e), 1e-30);
    worst = std::max(worst, difference);
    if (!(difference <= expected.tolerances[i]))
      return fmt::format("{} of step {} is {}, {} has {}: they differ by {:.2g}"
                         ", at most {:.2g} expected",
                         expected.key, i + 1, f, expected.from, e, difference,
                         expected.tolerances[i]);
  }
  fmt::print("{}: {} steps differ from {} by at most {:.2g}\n", expected.key,
             found, expected.from, worst);
  return "";
}

} // namespace dlc::test
