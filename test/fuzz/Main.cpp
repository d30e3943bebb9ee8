// SPDX-License-Identifier: Apache-2.0
// dlc-fuzz TARGET CORPUS: mutants of the corpus, each in a process of its own.
// Equal arguments make equal mutants. Prints figures; exit code 1 if a mutant
// crashed, made a sanitizer report, took too long or too much, or ended with a
// code or message that is not documented. Such mutants are kept.
#include "runtime/base/Text.h"
#include "runtime/base/files/Files.h"
#include "runtime/base/process/Boundary.h"
#include "runtime/base/process/Log.h"
#include "test/fuzz/Targets.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <map>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define DLC_SANITIZED
#endif

// A report ends the process with a code of its own. Sizes that no machine has
// are std::bad_alloc, as without a sanitizer.
constexpr int kReport = 99;
#define DLC_SANITIZER_OPTIONS                                                  \
  "exitcode=99:halt_on_error=1:print_stacktrace=1:detect_leaks=0:"             \
  "allocator_may_return_null=1:quarantine_size_mb=16"
extern "C" const char *__asan_default_options() {
  return DLC_SANITIZER_OPTIONS;
}
extern "C" const char *__ubsan_default_options() {
  return DLC_SANITIZER_OPTIONS;
}

namespace dlc::fuzz {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

const std::vector<Target> kTargets = {
    {"model",
     ".onnx",
     fuzzModel,
     {Code::Ok, Code::BadModel, Code::Limit, Code::Diverged}},
    {"import", ".onnx", fuzzImport, {Code::Ok, Code::BadModel, Code::Limit}},
    {"plan",
     ".dlc",
     fuzzPlan,
     {Code::Ok, Code::Failed, Code::Usage, Code::Corrupt, Code::Incompatible,
      Code::Limit}},
    {"artifact",
     ".dlc",
     fuzzArtifact,
     {Code::Ok, Code::Failed, Code::Corrupt, Code::Incompatible, Code::Limit}},
    {"npz",
     ".np",
     fuzzNpz,
     {Code::Ok, Code::Failed, Code::Usage, Code::Corrupt, Code::Limit}},
    {"safetensors",
     ".safetensors",
     fuzzSafetensors,
     {Code::Ok, Code::Corrupt, Code::Limit}},
    {"yaml",
     ".yaml",
     fuzzYaml,
     {Code::Ok, Code::Failed, Code::Usage, Code::Corrupt, Code::Limit}},
    {"store", "", fuzzStore, {Code::Ok}}};

struct Options {
  std::string target, corpus, keep = "fuzz-kept";
  bool show = false, here = false;
  int64_t mutants = 1000, first = 0, jobs = 1;
  uint64_t seed = 1;
  double seconds = 1e9; // for all
  double most = 2;      // processor seconds of one
  int64_t memory = 512; // MiB above that of an empty process
};

struct Worker {
  pid_t process = 0;
  int64_t mutant = -1;
  int tries = 0;
  std::string folder;
  Clock::time_point start;
};

// Of one mutant.
struct Outcome {
  int64_t mutant;
  int status;
  bool hung;
  double seconds;
  long kib;
};

class Fuzzer {
public:
  Fuzzer(const Options &options, const Target &target)
      : options_(options), target_(target), seeds_(findSeeds()) {}

  int run() {
    if (seeds_.empty() && *target_.extension) {
      logError(fmt::format("no seeds *{} in '{}'", target_.extension,
                           options_.corpus));
      return 2;
    }
    fs::create_directories(options_.keep);
    workers_.resize(static_cast<size_t>(options_.jobs));
    measureBaseline();
    const auto end =
        Clock::now() + std::chrono::duration<double>(options_.seconds);
    int64_t next = options_.first;
    const int64_t last = options_.first + options_.mutants;
    for (bool going = true; going;) {
      going = next < last && Clock::now() < end;
      for (Worker &worker : workers_) {
        if (worker.process == 0 && next < last && Clock::now() < end)
          start(worker, next++);
        if (worker.process)
          look(worker);
        going |= worker.process != 0;
      }
      ::poll(nullptr, 0, 1);
    }
    return figures();
  }

private:
  std::vector<std::string> findSeeds() const {
    std::vector<std::string> found;
    std::error_code ignored;
    for (const auto &entry : fs::directory_iterator(options_.corpus, ignored))
      if (const std::string name = entry.path().string();
          *target_.extension && name.find(target_.extension) != name.npos)
        found.push_back(name);
    std::sort(found.begin(), found.end());
    return found;
  }

  // What a process has before it does anything.
  void measureBaseline() {
    const pid_t process = ::fork();
    if (process == 0)
      ::_exit(0);
    int status = 0;
    rusage usage{};
    ::wait4(process, &status, 0, &usage);
    baseline_ = usage.ru_maxrss;
  }

  void start(Worker &worker, int64_t mutant) {
    worker.folder = (fs::temp_directory_path() /
                     fmt::format("dlc-fuzz-{}-{}", ::getpid(), mutant))
                        .string();
    worker.tries = mutant == worker.mutant ? worker.tries + 1 : 1;
    worker.mutant = mutant;
    worker.start = Clock::now();
    fs::create_directories(worker.folder + "/work");
    worker.process = options_.here ? 0 : ::fork();
    if (worker.process == 0)
      become(worker);
  }

  [[noreturn]] void become(const Worker &worker) {
    const int log = ::open((worker.folder + "/log").c_str(),
                           O_WRONLY | O_CREAT | O_APPEND, 0644);
    if (!options_.here) {
      ::dup2(log, STDOUT_FILENO);
      ::dup2(log, STDERR_FILENO);
    }
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_CPU, 60);
#ifndef DLC_SANITIZED
    limit(RLIMIT_AS, uint64_t(8) << 30);
#endif
    ::setenv("TMPDIR", worker.folder.c_str(), 1);
    const uint64_t seed =
        options_.seed * 1'000'003 + static_cast<uint64_t>(worker.mutant);
    Job job{Random(seed), seeds_, worker.folder + "/work"};
    const Status status =
        guarded("the mutant", [&] { return target_.run(job); });
    if (!status.ok())
      logError(status.message());
    ::_exit(isGood(status) ? static_cast<int>(status.code()) : 98);
  }

  static void limit(int resource, uint64_t most) {
    const rlimit both{most, most};
    ::setrlimit(static_cast<__rlimit_resource>(resource), &both);
  }

  // A documented code, and a message if it is an error.
  bool isGood(const Status &status) const {
    const auto &codes = target_.codes;
    if (std::find(codes.begin(), codes.end(), status.code()) != codes.end())
      return status.ok() || !status.message().empty();
    logError(fmt::format("code {} is not documented for this",
                         static_cast<int>(status.code())));
    return false;
  }

  void look(Worker &worker) {
    int status = 0;
    rusage usage{};
    const bool late = Clock::now() - worker.start > std::chrono::seconds(120);
    if (late)
      ::kill(worker.process, SIGKILL);
    if (::wait4(worker.process, &status, late ? 0 : WNOHANG, &usage) !=
        worker.process)
      return;
    worker.process = 0;
    const auto seconds = [](const timeval &time) {
      return static_cast<double>(time.tv_sec) +
             static_cast<double>(time.tv_usec) * 1e-6;
    };
    const Outcome outcome{worker.mutant, status, late,
                          seconds(usage.ru_utime) + seconds(usage.ru_stime),
                          std::max(0L, usage.ru_maxrss - baseline_)};
    // A busy machine makes a process slow now and then, a mutant does always.
    const bool again = outcome.seconds > options_.most && !late &&
                       WIFEXITED(status) && worker.tries < 3;
    if (!again)
      judge(worker, outcome);
    fs::remove_all(worker.folder);
    if (again)
      start(worker, worker.mutant);
  }

  void judge(const Worker &worker, const Outcome &o) {
    std::string what;
    const int code = WIFEXITED(o.status) ? WEXITSTATUS(o.status) : -1;
    if (o.hung)
      what = "hung";
    else if (code < 0)
      what = fmt::format("signal {}", WTERMSIG(o.status));
    else if (code == kReport)
      what = "sanitizer report";
    else if (code == 98)
      what = "undocumented code";
    else if (printsControls(worker))
      what = "control characters in a message";
    else if (o.seconds > options_.most)
      what = fmt::format("{:.1f} s", o.seconds);
    else if (o.kib > options_.memory * 1024)
      what = fmt::format("{} MiB", o.kib / 1024);
    ++codes_[code];
    if (options_.show)
      fmt::print("mutant {}: code {}: {}", o.mutant, code, logOf(worker));
    slowest_ = std::max(slowest_, std::pair(o.seconds, o.mutant));
    largest_ = std::max(largest_, std::pair(o.kib / 1024, o.mutant));
    if (what.empty())
      return;
    ++bad_[what.substr(0, what.find_first_of("0123456789"))];
    const std::string kept = fmt::format("{}/{}-{}-{}", options_.keep,
                                         target_.name, options_.seed, o.mutant);
    std::error_code ignored;
    fs::remove_all(kept, ignored);
    fs::copy(worker.folder, kept, fs::copy_options::recursive, ignored);
    fmt::print("{} mutant {}: {}: kept in {}\n", target_.name, o.mutant, what,
               kept);
    std::fflush(stdout);
  }

  // Protobuf's own remarks on what it parses aside.
  static bool printsControls(const Worker &worker) {
    auto text = readFile(worker.folder + "/log", 1 << 24);
    return text && text->find("[libprotobuf") == text->npos &&
           *text != withoutControls(*text);
  }

  static std::string logOf(const Worker &worker) {
    auto text = readFile(worker.folder + "/log", 1 << 20);
    return text && !text->empty() ? withoutControls(*text) : "\n";
  }

  int figures() const {
    int64_t count = 0;
    for (const auto &[code, n] : codes_)
      count += n;
    fmt::print("{}: {} mutants of {} seeds; exit codes {}; slowest {:.2f} s "
               "(mutant {}), largest {} MiB (mutant {}); bad: {}\n",
               target_.name, count, seeds_.size(), codes_, slowest_.first,
               slowest_.second, largest_.first, largest_.second, bad_);
    return bad_.empty() && count > 0 ? 0 : 1;
  }

  const Options &options_;
  const Target &target_;
  const std::vector<std::string> seeds_;
  std::vector<Worker> workers_;
  long baseline_ = 0;
  std::map<int, int64_t> codes_;
  std::map<std::string, int64_t> bad_;
  std::pair<double, int64_t> slowest_;
  std::pair<long, int64_t> largest_;
};

int run(int argc, char **argv) {
  Options o;
  CLI::App app("Gives mutants of a corpus to dlc.", "dlc-fuzz");
  std::vector<std::string> names;
  for (const Target &target : kTargets)
    names.push_back(target.name);
  app.add_option("target", o.target, "what gets them")
      ->required()
      ->check(CLI::IsMember(names));
  app.add_option("corpus", o.corpus, "folder of seeds")->required();
  app.add_option("--mutants", o.mutants, "how many (default 1000)");
  app.add_option("--first", o.first, "number of the first");
  app.add_option("--seed", o.seed, "of all choices (default 1)");
  app.add_option("--seconds", o.seconds, "no new mutant after so long");
  app.add_option("--jobs", o.jobs, "at once (default 1)")
      ->check(CLI::Range(1, 64));
  app.add_option("--keep", o.keep, "folder for bad mutants");
  app.add_flag("--show", o.show, "what each mutant prints");
  app.add_flag("--here", o.here,
               "the first mutant in this process, for a debugger");
  app.add_option("--cpu-seconds", o.most, "of one mutant (default 2)");
  app.add_option("--memory", o.memory, "MiB of one mutant (default 512)");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return app.exit(error);
  }
  for (const Target &target : kTargets)
    if (o.target == target.name)
      return Fuzzer(o, target).run();
  return 2;
}

} // namespace

std::string readSeed(Job &job) {
  auto text = readFile(job.random.pick(job.seeds), 1 << 30);
  return text ? *std::move(text) : std::string();
}

Result<std::string> writeMutant(Job &job, const std::string &name,
                                const std::string &content) {
  const std::string path = job.folder + "/" + name;
  DLC_TRY(writeNewFile(path, content));
  return path;
}

int changes(Random &random) {
  int count = 1;
  while (count < 16 && random.oneIn(3))
    ++count;
  return count;
}

} // namespace dlc::fuzz

int main(int argc, char **argv) { return dlc::fuzz::run(argc, argv); }
