// SPDX-License-Identifier: Apache-2.0
// MLflow's folder of runs:
//   DIR/0/meta.yaml                  the experiment "Default"
//   DIR/0/RUN_ID/meta.yaml           the run: name, times, status
//   DIR/0/RUN_ID/{metrics,params,tags}/KEY, artifacts/
// A metric's file has lines "MILLISECONDS VALUE STEP". The run's id stands in
// RUN/mlflow-run-id, so that a run that is resumed goes on there.
#include "runtime/train/record/Recorder.h"

#include "runtime/base/files/Files.h"
#include "runtime/base/numbers/Hash.h"
#include "runtime/base/options/Config.h"
#include "runtime/base/options/OptionTable.h"

#include <chrono>
#include <filesystem>
#include <fmt/ranges.h>
#include <fstream>
#include <map>
#include <unistd.h>

namespace fs = std::filesystem;

namespace dlc {
namespace {

// Of mlflow.entities.RunStatus.
enum class RunStatus { Running = 1, Finished = 3, Failed = 4 };

int64_t millisecondsNow() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// What MLflow takes for a key: a plain name here, never a path.
std::string keyText(std::string_view name) {
  std::string key;
  for (const char c : name)
    key += std::isalnum(static_cast<unsigned char>(c)) || c == '_' ||
                   c == '-' || c == '.'
               ? c
               : '_';
  return key.empty() || key.find_first_not_of('.') == key.npos ? "_" + key
                                                               : key;
}

// In single quotes nothing but those has a meaning; lines are not kept.
std::string yamlText(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text)
    quoted += c == '\''                             ? "''"
              : static_cast<unsigned char>(c) < ' ' ? std::string(" ")
                                                    : std::string(1, c);
  return quoted + "'";
}

Status writeText(const std::string &path, std::string_view text) {
  std::ofstream file(path, std::ios::trunc);
  file << text;
  return file.flush() ? Status() : systemError("write", path);
}

bool isRunId(std::string_view id) {
  return id.size() == 32 && id.find_first_not_of("0123456789abcdef") == id.npos;
}

// The run's own, or a new one.
Result<std::string> runIdOf(const std::string &run) {
  const std::string path = run + "/mlflow-run-id";
  if (exists(path)) {
    DLC_ASSIGN(std::string text, readFile(path, 1 << 10));
    text = text.substr(0, text.find('\n'));
    if (!isRunId(text))
      return corrupt("'{}' holds no id of a run", path);
    return text;
  }
  const std::string seed =
      fmt::format("{} {} {}", fs::absolute(run).string(), ::getpid(),
                  std::chrono::system_clock::now().time_since_epoch().count());
  const std::string id =
      sha256(std::as_bytes(std::span(seed.data(), seed.size()))).substr(0, 32);
  DLC_TRY(writeFileAtomically(path, id + "\n"));
  return id;
}

class Mlflow : public Recorder {
public:
  Mlflow(std::string folder, std::string experiment, std::string id,
         std::string name)
      : folder_(std::move(folder)), experiment_(std::move(experiment)),
        id_(std::move(id)), name_(std::move(name)) {}
  ~Mlflow() override {
    flush();
    warning_.check(writeMeta(ended_ ? RunStatus::Finished : RunStatus::Failed));
  }

  Status begin(const TrainOptions &options, const std::string &run,
               int64_t step) {
    for (const char *part : {"metrics", "params", "tags", "artifacts"})
      DLC_TRY(makeFolder(folder_ + "/" + part));
    DLC_TRY(readStart());
    DLC_TRY(forgetBehind(step));
    DLC_TRY(writeParams(options, run));
    DLC_TRY(writeText(folder_ + "/tags/mlflow.runName", name_));
    DLC_TRY(writeText(folder_ + "/tags/mlflow.source.name", "dlc train"));
    return writeMeta(RunStatus::Running);
  }

  void onStep(const StepEvent &event) override {
    for (size_t i = 0; i < event.names.size(); ++i)
      add(event.names[i], event.values[i], event.step);
    add("samples_per_second", event.samplesPerSecond, event.step);
    if (Clock::now() - flushed_ >= std::chrono::seconds(1))
      flush();
  }
  void onEpoch(const EpochEvent &event) override {
    for (const auto &[name, value] : event.values)
      add(name, value, event.step);
    flush();
  }
  void onEnd() override { ended_ = true; }

private:
  using Clock = std::chrono::steady_clock;

  void add(const std::string &name, double value, int64_t step) {
    waiting_[keyText(name)] +=
        fmt::format("{} {} {}\n", millisecondsNow(), value, step);
  }

  void flush() {
    flushed_ = Clock::now();
    for (auto &[key, lines] : waiting_) {
      if (lines.empty())
        continue;
      const std::string path = folder_ + "/metrics/" + key;
      std::ofstream file(path, std::ios::app);
      file << lines;
      warning_.check(file.flush() ? Status() : systemError("write", path));
      lines.clear();
    }
  }

  // Of a run that goes on: the time of its first start.
  Status readStart() {
    start_ = millisecondsNow();
    const std::string path = folder_ + "/meta.yaml";
    if (!exists(path))
      return {};
    DLC_ASSIGN(const std::string text, readFile(path, 1 << 20));
    constexpr std::string_view kKey = "\nstart_time: ";
    if (const size_t at = text.find(kKey); at != text.npos) {
      const size_t begin = at + kKey.size();
      const auto number =
          parseCount(text.substr(begin, text.find('\n', begin) - begin), 0);
      start_ = number ? *number : start_;
    }
    return {};
  }

  // Lines of steps that are done again.
  Status forgetBehind(int64_t step) {
    std::error_code error;
    for (const auto &entry :
         fs::directory_iterator(folder_ + "/metrics", error)) {
      const std::string path = entry.path().string();
      DLC_ASSIGN(const std::string text, readFile(path, size_t(1) << 30));
      std::string kept;
      for (size_t begin = 0, end; (end = text.find('\n', begin)) != text.npos;
           begin = end + 1) {
        const std::string line = text.substr(begin, end - begin);
        const auto number = parseCount(line.substr(line.rfind(' ') + 1), 0);
        if (number && *number <= step)
          kept += line + "\n";
      }
      if (kept.size() != text.size())
        DLC_TRY(writeFileAtomically(path, kept));
    }
    return error ? failed("cannot read '{}/metrics': {}", folder_,
                          error.message())
                 : Status();
  }

  // What the run was asked to do, and what the model was compiled with.
  Status writeParams(TrainOptions options, const std::string &run) {
    OptionTable table;
    options.addTo(table);
    for (const Option &option : table.all())
      if (option.kept)
        DLC_TRY(writeParam(option.key, option.yaml()));
    const std::string path = run + "/model.dlc/config.yaml";
    if (!exists(path))
      return {};
    DLC_ASSIGN(const Config config, readConfig(path));
    for (const auto &[key, value] : config)
      DLC_TRY(writeParam(key, fmt::format("{}", fmt::join(value.words, ", "))));
    return {};
  }
  Status writeParam(const std::string &key, const std::string &value) {
    return writeText(folder_ + "/params/" + keyText(key), value);
  }

  Status writeMeta(RunStatus status) {
    const bool isOver = status != RunStatus::Running;
    return writeFileAtomically(
        folder_ + "/meta.yaml",
        fmt::format(
            "artifact_uri: {}\nend_time: {}\nentry_point_name: ''\n"
            "experiment_id: '{}'\nlifecycle_stage: active\nrun_id: {}\n"
            "run_name: {}\nrun_uuid: {}\nsource_name: ''\nsource_type: 4\n"
            "source_version: ''\nstart_time: {}\nstatus: {}\ntags: []\n"
            "user_id: ''\n",
            yamlText("file://" + folder_ + "/artifacts"),
            isOver ? std::to_string(millisecondsNow()) : "null", experiment_,
            yamlText(id_), yamlText(name_), yamlText(id_), start_,
            static_cast<int>(status)));
  }

  const std::string folder_, experiment_, id_, name_;
  int64_t start_ = 0; // milliseconds
  std::map<std::string, std::string> waiting_;
  Clock::time_point flushed_{};
  bool ended_ = false;
  OneWarning warning_;
};

// The experiment that MLflow itself makes first.
Status makeExperiment(const std::string &folder) {
  DLC_TRY(makeFolder(folder));
  const std::string path = folder + "/meta.yaml";
  if (exists(path))
    return {};
  const int64_t now = millisecondsNow();
  return writeFileAtomically(
      path, fmt::format("artifact_location: {}\ncreation_time: {}\n"
                        "experiment_id: '0'\nlast_update_time: {}\n"
                        "lifecycle_stage: active\nname: Default\n",
                        yamlText("file://" + folder), now, now));
}

} // namespace

Result<std::unique_ptr<Recorder>>
openMlflow(const TrainOptions &options, const std::string &run, int64_t step) {
  const std::string experiment = "0";
  const std::string root =
      fs::absolute(options.mlflow).lexically_normal().string() + "/" +
      experiment;
  DLC_TRY(makeExperiment(root));
  DLC_ASSIGN(const std::string id, runIdOf(run));
  auto path = fs::path(run).lexically_normal();
  path = path.has_filename() ? path : path.parent_path();
  auto recorder = std::make_unique<Mlflow>(root + "/" + id, experiment, id,
                                           path.filename().string());
  DLC_TRY(recorder->begin(options, run, step));
  return std::unique_ptr<Recorder>(std::move(recorder));
}

} // namespace dlc
