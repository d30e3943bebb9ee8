// SPDX-License-Identifier: Apache-2.0
#include "runtime/collective/flight/FlightLog.h"
#include "runtime/base/Json.h"
#include "runtime/base/Text.h"
#include "runtime/base/files/Atomic.h"
#include "runtime/base/files/CacheFolder.h"
#include "runtime/base/files/Files.h"
#include "runtime/base/options/Environment.h"
#include "runtime/base/process/Log.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <fcntl.h>
#include <optional>
#include <unistd.h>

namespace dlc {
namespace {

int64_t clockNow() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// The first nodes of "a; b; c".
std::string firstNodes(std::string_view nodes) {
  constexpr size_t kShown = 3;
  std::string text;
  size_t count = 0;
  for (size_t at = 0; at < nodes.size(); ++count) {
    const size_t end = std::min(nodes.find("; ", at), nodes.size());
    if (count < kShown)
      text += fmt::format("{}'{}'", count ? ", " : "",
                          printable(nodes.substr(at, end - at), 80));
    at = end + 2;
  }
  return count > kShown ? fmt::format("{} and {} more", text, count - kShown)
                        : text;
}

double inSeconds(int64_t nanoseconds) {
  return static_cast<double>(nanoseconds / 1000) * 1e-6;
}

} // namespace

FlightLog::FlightLog() : started_(inSeconds(clockNow())), ring_(kKept) {}

int FlightLog::addSubject(int64_t bucket, std::string nodes) {
  std::lock_guard lock(mutex_);
  subjects_.push_back({bucket, std::move(nodes)});
  return static_cast<int>(subjects_.size()) - 1;
}

uint64_t FlightLog::begin(int channel, uint64_t sequence, const char *operation,
                          uint64_t bytes, int subject) {
  const int64_t now = clockNow();
  std::lock_guard lock(mutex_);
  const auto number = static_cast<uint64_t>(begun_++);
  ring_[number % kKept] = {sequence, bytes,   operation, step_,       now,
                           0,        channel, subject,   State::Waits};
  return number;
}

void FlightLog::end(uint64_t number, bool well) {
  const int64_t now = clockNow();
  std::lock_guard lock(mutex_);
  if (number + kKept < static_cast<uint64_t>(begun_))
    return; // overwritten meanwhile
  Entry &entry = ring_[number % kKept];
  entry.end = now;
  entry.state = well ? State::Done : State::Failed;
}

std::string FlightLog::textOf(const char *operation, int subject,
                              int64_t step) const {
  std::string text = operation, nodes;
  if (subject >= 0) {
    const Subject &about = subjects_[static_cast<size_t>(subject)];
    text += fmt::format(" of bucket {}", about.bucket);
    nodes = firstNodes(about.nodes);
  }
  if (step > 0)
    text += fmt::format(", step {}", step);
  return nodes.empty() ? text : fmt::format("{}, gradients of {}", text, nodes);
}

std::string FlightLog::describe(const char *operation, int subject) const {
  std::lock_guard lock(mutex_);
  return textOf(operation, subject, step_);
}

std::string FlightLog::describeWaiting(int channel) const {
  std::lock_guard lock(mutex_);
  const auto begun = static_cast<uint64_t>(begun_);
  const Entry *oldest = nullptr;
  int more = 0;
  for (uint64_t i = begun - std::min<uint64_t>(begun, kKept); i < begun; ++i)
    if (const Entry &e = ring_[i % kKept];
        e.channel == channel && e.state == State::Waits)
      oldest ? void(++more) : void(oldest = &e);
  if (!oldest)
    return "";
  const std::string text =
      textOf(oldest->operation, oldest->subject, oldest->step);
  return more ? fmt::format("{}, and {} more", text, more) : text;
}

std::string FlightLog::toJson(const Owner &owner) const {
  std::lock_guard lock(mutex_);
  nlohmann::ordered_json object = {{"format", "dlc-flight"},
                                   {"version", 1},
                                   {"rank", owner.rank},
                                   {"ranks", owner.ranks},
                                   {"host", owner.host},
                                   {"step", step_.load()},
                                   {"error", owner.error.message()},
                                   {"written", inSeconds(clockNow())},
                                   {"begun", begun_.load()}};
  auto &subjects = object["subjects"] = Json::array();
  for (const Subject &subject : subjects_)
    subjects.push_back({{"bucket", subject.bucket}, {"nodes", subject.nodes}});
  auto &all = object["collectives"] = Json::array();
  const auto begun = static_cast<uint64_t>(begun_);
  for (uint64_t i = begun - std::min<uint64_t>(begun, kKept); i < begun; ++i) {
    const Entry &e = ring_[i % kKept];
    constexpr const char *kStates[] = {"waits", "done", "failed"};
    all.push_back({{"channel", e.channel},
                   {"sequence", e.sequence},
                   {"step", e.step},
                   {"operation", e.operation},
                   {"bytes", e.bytes},
                   {"subject", e.subject < 0 ? Json() : Json(e.subject)},
                   {"begin", inSeconds(e.beginning)},
                   {"end", e.end ? Json(inSeconds(e.end)) : Json()},
                   {"state", kStates[static_cast<size_t>(e.state)]}});
  }
  return dumpJson(object) + "\n";
}

namespace {

// A file to which several processes append lines, locked until it is closed.
class SharedLines {
public:
  SharedLines() = default;
  SharedLines(const SharedLines &) = delete;
  ~SharedLines() {
    if (file_ >= 0)
      ::close(file_);
  }

  Status open(const std::string &path) {
    path_ = path;
    file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (file_ < 0)
      return systemError("open", path);
    DLC_ASSIGN(FileLock lock, FileLock::take(path));
    lock_.emplace(std::move(lock));
    return {};
  }
  // When the first line was written; empty if there is none or it has no time.
  Result<std::optional<double>> written() const {
    DLC_ASSIGN(const auto file, MappedFile::open(path_));
    const auto first =
        parseJson(std::string(file.text().substr(0, file.text().find('\n'))));
    if (!first || !first->is_object() ||
        !first->value("written", Json()).is_number())
      return std::optional<double>();
    return std::optional(first->value("written", 0.0));
  }
  // Replaces all lines, or appends after the last complete one.
  Status write(const std::string &line, bool replaces) {
    uint64_t end = 0;
    if (!replaces) {
      DLC_ASSIGN(const auto file, MappedFile::open(path_));
      end = file.text().rfind('\n') + 1;
    }
    if (::ftruncate(file_, static_cast<off_t>(end)) != 0)
      return systemError("write", path_);
    if (writeAll(file_, line) == line.size())
      return {};
    const Status status = systemError("write", path_);
    (void)!::ftruncate(file_, static_cast<off_t>(end));
    return status;
  }

private:
  std::string path_;
  int file_ = -1;
  std::optional<FileLock> lock_;
};

// "flight-HOST.jsonl", with characters that are valid in any file name.
std::string fileOfHost(std::string host) {
  for (char &c : host)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '-')
      c = '_';
  return "flight-" + host + ".jsonl";
}

Result<bool> addLine(const std::string &path, const std::string &line,
                     double started) {
  SharedLines lines;
  DLC_TRY(lines.open(path));
  DLC_ASSIGN(const auto written, lines.written());
  const bool isFirst = !written || *written < started;
  DLC_TRY(lines.write(line, isFirst));
  return isFirst;
}

} // namespace

Result<bool> writeFlight(const FlightLog &log, const FlightLog::Owner &owner,
                         const std::string &run) {
  const std::string text = log.toJson(owner);
  const auto added =
      addLine(run + "/" + fileOfHost(owner.host), text, log.started());
  if (added.ok())
    return added;
  const std::string other =
      fmt::format("{}/dlc-flight-{}-{}.jsonl", environment::temporaryFolder(),
                  owner.rank, ::getpid());
  const Status saved = writeFileAtomically(other, text);
  if (!saved.ok())
    return failed("the record of the last collectives is lost: {}; {}",
                  added.status().message(), saved.message());
  warning("{}: the last collectives are in '{}'", added.status().message(),
          other);
  return true;
}

} // namespace dlc
