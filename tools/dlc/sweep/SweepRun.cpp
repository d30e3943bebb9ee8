// SPDX-License-Identifier: Apache-2.0
#include "tools/dlc/sweep/SweepRun.h"

#include "runtime/base/Json.h"
#include "runtime/base/files/Files.h"
#include "runtime/base/numbers/Hash.h"
#include "runtime/base/process/Log.h"
#include "runtime/base/process/Parallel.h"
#include "runtime/train/run/Best.h"
#include "tools/dlc/sweep/Children.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <deque>
#include <fcntl.h>
#include <filesystem>
#include <optional>
#include <set>
#include <sys/file.h>
#include <unistd.h>

namespace dlc::tool {
namespace {

constexpr int kMostTries = 3; // of a trial that signals end

std::string flagWord(const std::string &name, const std::string &value) {
  return value == "true" ? "--" + name : "--" + name + "=" + value;
}

// Held by this process and its children: who resumes the sweep after this one
// was killed waits for those that still write their checkpoints.
Status holdLock(const std::string &folder) {
  const std::string path = folder + "/lock";
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT, 0666);
  if (file < 0)
    return systemError("open", path);
  if (::flock(file, LOCK_EX | LOCK_NB) == 0)
    return {};
  info("waiting for trials of an earlier dlc sweep in '{}' to end", folder);
  return ::flock(file, LOCK_EX) == 0 ? Status() : systemError("lock", path);
}

std::string lastLine(const std::string &path) {
  const auto text = readFile(path);
  if (!text)
    return "";
  const size_t end = text->find_last_not_of('\n');
  if (end == text->npos)
    return "";
  const size_t begin = text->rfind('\n', end);
  return text->substr(begin == text->npos ? 0 : begin + 1,
                      end - (begin == text->npos ? -1 : begin));
}

class SweepRun {
public:
  SweepRun(const SweepFile &file, const SweepOptions &options)
      : file_(file), options_(options), rungs_(rungsOf(file)),
        atRung_(rungs_.size()) {}

  Result<SweepResult> run() {
    DLC_ASSIGN(result_.trials, trialsOf(file_));
    result_.results.resize(result_.trials.size());
    DLC_ASSIGN(by_, parseBest(file_.metric));
    DLC_TRY(openFolder());
    if (file_.method == SweepMethod::Asha)
      DLC_TRY(runAsynchronously());
    else
      for (size_t rung = 0; rung < rungs_.size() && !result_.signal; ++rung)
        DLC_TRY(runRung(static_cast<int64_t>(rung)));
    return std::move(result_);
  }

private:
  struct Job {
    size_t trial;
    bool compiles;
  };

  Status openFolder() {
    const std::string &folder = options_.folder;
    const bool begun = exists(folder + "/sweep.yaml");
    if (begun && !options_.resume)
      return usageError(
          "'{}' holds a sweep already: go on with it by --resume, "
          "or choose another --output",
          folder);
    DLC_TRY(makeFolder(folder + "/artifacts"));
    DLC_TRY(holdLock(folder));
    if (!begun)
      return writeFileAtomically(folder + "/sweep.yaml", file_.text);
    DLC_ASSIGN(const std::string before, readFile(folder + "/sweep.yaml"));
    if (before != file_.text)
      return usageError("'{}' is a sweep of another file: '{}/sweep.yaml' is "
                        "not what was given",
                        folder, folder);
    return load();
  }

  Status load() {
    const std::string path = options_.folder + "/results.json";
    if (!exists(path))
      return {};
    DLC_ASSIGN(const std::string text, readFile(path));
    auto json = parseJson(text);
    if (!json || !json->is_array() || json->size() != result_.results.size())
      return corrupt("'{}' is damaged: remove it to do all trials again", path);
    for (size_t i = 0; i < result_.results.size(); ++i) {
      const Json &one = (*json)[i];
      TrialResult &to = result_.results[i];
      to.rungs = one.value("rungs", int64_t(0));
      to.epochs = one.value("epochs", int64_t(0));
      to.code = one.value("code", 0);
      if (one.contains("value") && one["value"].is_number())
        to.value = one["value"].get<double>();
    }
    return {};
  }

  Status save() const {
    Json all = Json::array();
    for (const TrialResult &one : result_.results)
      all.push_back(
          {{"rungs", one.rungs},
           {"epochs", one.epochs},
           {"value", std::isfinite(one.value) ? Json(one.value) : Json()},
           {"code", one.code}});
    return writeFileAtomically(options_.folder + "/results.json",
                               dumpJson(all, 1) + "\n");
  }

  // Those that come so far: of rung k the best n / eta^k of those before.
  std::vector<size_t> trialsOfRung(int64_t rung) const {
    std::vector<size_t> chosen;
    for (size_t i = 0; i < result_.results.size(); ++i)
      if (rung == 0 || (result_.results[i].rungs >= rung))
        chosen.push_back(i);
    if (rung == 0)
      return chosen;
    std::stable_sort(chosen.begin(), chosen.end(), [&](size_t a, size_t b) {
      return isBetter(file_, atRung(a, rung), atRung(b, rung));
    });
    const double share = std::pow(double(file_.eta), double(rung));
    const auto most =
        std::max<size_t>(1, size_t(double(result_.results.size()) / share));
    chosen.resize(std::min(chosen.size(), most));
    return chosen;
  }

  // What was known when the rung began, also of a trial that is further.
  TrialResult atRung(size_t i, int64_t rung) const {
    TrialResult result = result_.results[i];
    result.value = bestOf(i, rungs_[static_cast<size_t>(rung - 1)]);
    return result;
  }

  // The best of the validations of a trial until an epoch.
  double bestOf(size_t i, int64_t epochs) const {
    const std::string path =
        trialFolder(options_.folder, result_.trials[i].number) +
        "/epochs.jsonl";
    const auto text = readFile(path);
    TrialResult best, next;
    for (size_t begin = 0; text && begin < text->size();) {
      const size_t end = std::min(text->find('\n', begin), text->size());
      const auto line = parseJson(text->substr(begin, end - begin));
      begin = end + 1;
      if (!line || !line->is_object() || !line->contains(by_.key) ||
          !(*line)[by_.key].is_number() ||
          line->value("epoch", int64_t(0)) > epochs)
        continue;
      next.value = (*line)[by_.key].get<double>();
      if (isBetter(file_, next, best))
        best = next;
    }
    return best.value;
  }

  Status runRung(int64_t rung) {
    queue_.clear();
    for (const size_t i : trialsOfRung(rung))
      if (result_.results[i].rungs == rung && result_.results[i].code == 0)
        queue_.push_back(i);
    if (rungs_.size() > 1)
      info("rung {}: {} trials until epoch {}", rung + 1,
           trialsOfRung(rung).size(), rungs_[static_cast<size_t>(rung)]);
    return runQueue();
  }

  // ASHA (L. Li et al., A System for Massively Parallel Hyperparameter Tuning,
  // MLSys 2020, arXiv:1810.05934, algorithm 2): a slot that is free takes a
  // trial that is among the best 1/eta of those that have reached its rung so
  // far, of the highest rung where there is one, else one that has not begun.
  Status runAsynchronously() {
    for (size_t i = 0; i < result_.results.size(); ++i) {
      const TrialResult &one = result_.results[i];
      for (int64_t rung = 0; rung < one.rungs; ++rung)
        reach(rung, i, bestOf(i, rungs_[static_cast<size_t>(rung)]));
      if (one.rungs == 0 && one.code == 0)
        queue_.push_back(i);
    }
    return runQueue();
  }

  void reach(int64_t rung, size_t trial, double value) {
    auto &reached = atRung_[static_cast<size_t>(rung)];
    const auto better = [&](const auto &a, const auto &b) {
      return isBetter(file_, {.value = a.first}, {.value = b.first});
    };
    const std::pair<double, size_t> one(value, trial);
    reached.insert(
        std::upper_bound(reached.begin(), reached.end(), one, better), one);
  }

  std::optional<size_t> nextPromoted() {
    for (size_t rung = rungs_.size() - 1; rung-- > 0;) {
      const auto &reached = atRung_[rung];
      for (size_t i = 0; i < reached.size() / size_t(file_.eta); ++i) {
        const size_t trial = reached[i].second;
        const TrialResult &one = result_.results[trial];
        if (one.rungs != int64_t(rung) + 1 || one.code != 0 ||
            !promoted_.insert({trial, rung}).second)
          continue;
        info("trial {} goes on until epoch {}: one of the best {} of {}",
             result_.trials[trial].number, rungs_[rung + 1],
             reached.size() / size_t(file_.eta), reached.size());
        return trial;
      }
    }
    return std::nullopt;
  }

  Status runQueue() {
    StopRequest stop;
    for (;;) {
      if (!stop.signal() && failure_.ok())
        DLC_TRY(fillSlots());
      if (running_.empty())
        break;
      DLC_ASSIGN(const ChildEnd end, waitForChild());
      if (end.pid == 0 && !result_.signal) {
        result_.signal = stop.signal();
        endChildren();
        DLC_TRY(drain());
        break;
      }
      DLC_TRY(settle(end));
    }
    result_.signal = stop.signal();
    return failure_;
  }

  void endChildren() const {
    for (const auto &[pid, job] : running_)
      ::kill(pid, SIGTERM);
  }

  // They write checkpoints.
  Status drain() {
    while (!running_.empty()) {
      DLC_ASSIGN(const ChildEnd end, waitForChild());
      if (end.pid == 0)
        ::usleep(20'000);
      else
        DLC_TRY(settle(end));
    }
    return {};
  }

  Status fillSlots() {
    for (size_t tried = 0; std::ssize(running_) < options_.slots;) {
      if (file_.method == SweepMethod::Asha)
        if (const auto promoted = nextPromoted())
          queue_.insert(queue_.begin() + std::ptrdiff_t(tried), *promoted);
      if (tried == queue_.size())
        break;
      const size_t trial = queue_[tried];
      if (isCompiling(artifactOf(trial))) {
        ++tried;
        continue;
      }
      queue_.erase(queue_.begin() + std::ptrdiff_t(tried));
      DLC_TRY(start(trial));
    }
    return {};
  }

  bool isCompiling(const std::string &artifact) const {
    return std::any_of(running_.begin(), running_.end(), [&](const auto &one) {
      return one.second.compiles && artifactOf(one.second.trial) == artifact;
    });
  }

  // The values of one command's flags: those of all trials, then the trial's.
  FlagValues flagsOf(size_t trial, std::string_view section) const {
    FlagValues all = section == "compile" ? file_.compile : file_.train;
    const std::string begin = std::string(section) + ".";
    for (const auto &[key, value] : result_.trials[trial].values)
      if (key.starts_with(begin))
        all.emplace_back(key.substr(begin.size()), value);
    return all;
  }

  std::string artifactOf(size_t trial) const {
    if (file_.isCompiled())
      return file_.model;
    std::string text;
    for (const auto &[name, value] : flagsOf(trial, "compile"))
      text += flagWord(name, value) + "\n";
    const std::string hash = sha256(std::as_bytes(std::span(text)));
    return fmt::format("{}/artifacts/{}.dlc", options_.folder,
                       hash.substr(0, 16));
  }

  // At the end of the next rung that it has before it.
  int64_t epochsOf(size_t trial) const {
    return rungs_[static_cast<size_t>(result_.results[trial].rungs)];
  }

  std::string logOf(size_t trial) const {
    return trialFolder(options_.folder, result_.trials[trial].number) + ".log";
  }

  Status start(size_t trial) {
    std::error_code error;
    const std::string self =
        std::filesystem::read_symlink("/proc/self/exe", error).string();
    const std::string artifact = artifactOf(trial);
    const bool compiles = !exists(artifact);
    Words words = {self};
    if (compiles) {
      words.insert(words.end(),
                   {"compile", file_.model, "--output=" + artifact, "--quiet"});
      for (const auto &[name, value] : flagsOf(trial, "compile"))
        words.push_back(flagWord(name, value));
    } else {
      addTraining(words, trial, artifact);
    }
    DLC_ASSIGN(const int pid, startChild(words, logOf(trial)));
    running_[pid] = {trial, compiles};
    return {};
  }

  void addTraining(Words &words, size_t trial,
                   const std::string &artifact) const {
    const std::string run =
        trialFolder(options_.folder, result_.trials[trial].number);
    const int64_t threads =
        options_.threads
            ? options_.threads
            : std::max<int64_t>(1, coresOfProcess() / options_.slots);
    words.insert(words.end(),
                 {"train", fmt::format("--epochs={}", epochsOf(trial)),
                  fmt::format("--threads={}", threads), "--quiet"});
    if (result_.results[trial].rungs > 0) {
      words.push_back("--resume=" + run);
      return;
    }
    words.insert(words.end(),
                 {artifact, "--data=" + file_.data, "--val=" + file_.val,
                  "--run=" + run, "--resume-or-start"});
    const bool asks =
        std::any_of(file_.train.begin(), file_.train.end(),
                    [](const auto &flag) { return flag.first == "metrics"; });
    if (!asks && by_.metric != "loss" && by_.metric != "accuracy")
      words.push_back("--metrics=" + by_.metric);
    for (const auto &[name, value] : flagsOf(trial, "train"))
      words.push_back(flagWord(name, value));
  }

  Status settle(const ChildEnd &end) {
    const auto found = running_.find(end.pid);
    if (found == running_.end())
      return {};
    const Job job = found->second;
    running_.erase(found);
    const int64_t number = result_.trials[job.trial].number;
    if (end.code >= 128) {
      if (result_.signal)
        return {};
      if (++tries_[job.trial] < kMostTries) {
        warning("trial {} was ended by signal {}: it goes on", number,
                end.code - 128);
        queue_.push_front(job.trial);
        return {};
      }
    }
    if (job.compiles && end.code == 0) {
      queue_.push_front(job.trial);
      return {};
    }
    return end.code == 0 ? settleDone(job.trial)
                         : settleFailed(job.trial, end.code);
  }

  Status settleDone(size_t trial) {
    TrialResult &result = result_.results[trial];
    const int64_t rung = result.rungs;
    result.epochs = epochsOf(trial);
    result.value = bestOf(trial, result.epochs);
    ++result.rungs;
    if (!std::isfinite(result.value)) {
      failure_ =
          failed("trial {} has no '{}' among its validations: see '{}'; "
                 "choose another sweep.metric",
                 result_.trials[trial].number, by_.key,
                 trialFolder(options_.folder, result_.trials[trial].number) +
                     "/epochs.jsonl");
      return {};
    }
    reach(rung, trial, result.value);
    DLC_TRY(save());
    const auto done = std::count_if(
        result_.results.begin(), result_.results.end(),
        [&](const TrialResult &one) { return one.rungs > rung || one.code; });
    info("trial {}: {} {:.6g} after {} epochs ({} of {} trials)",
         result_.trials[trial].number, by_.key, result.value, result.epochs,
         done, result_.results.size());
    return {};
  }

  Status settleFailed(size_t trial, int code) {
    const std::string message = fmt::format(
        "trial {} ended with code {}: {} ('{}')", result_.trials[trial].number,
        code, lastLine(logOf(trial)), logOf(trial));
    if (code == static_cast<int>(Code::Usage)) {
      failure_ = usageError("{}", message);
      endChildren();
      return {};
    }
    warning("{}", message);
    result_.results[trial].code = code;
    return save();
  }

  const SweepFile &file_;
  const SweepOptions &options_;
  BestBy by_;
  SweepResult result_;
  const std::vector<int64_t> rungs_;
  // Of each rung what has reached it: {value there, trial}, the best first.
  std::vector<std::vector<std::pair<double, size_t>>> atRung_;
  std::set<std::pair<size_t, size_t>> promoted_; // {trial, rung}
  std::deque<size_t> queue_;
  std::map<int, Job> running_; // by process
  std::map<size_t, int> tries_;
  Status failure_; // that ends the sweep
};

} // namespace

std::string trialFolder(const std::string &sweep, int64_t number) {
  return fmt::format("{}/trial-{}", sweep, number);
}

bool isBetter(const SweepFile &file, const TrialResult &a,
              const TrialResult &b) {
  if (!std::isfinite(a.value) || !std::isfinite(b.value))
    return std::isfinite(a.value);
  const auto by = parseBest(file.metric);
  return by && by->more ? a.value > b.value : a.value < b.value;
}

Result<SweepResult> runSweep(const SweepFile &file,
                             const SweepOptions &options) {
  return SweepRun(file, options).run();
}

} // namespace dlc::tool
