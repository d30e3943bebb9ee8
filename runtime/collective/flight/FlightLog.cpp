// SPDX-License-Identifier: Apache-2.0
#include "runtime/collective/flight/FlightLog.h"

#include "runtime/base/Json.h"
#include "runtime/base/Text.h"
#include "runtime/base/files/Atomic.h"
#include "runtime/base/options/Environment.h"
#include "runtime/base/process/Log.h"

#include <algorithm>
#include <chrono>
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

double seconds(int64_t nanoseconds) {
  return static_cast<double>(nanoseconds / 1000) * 1e-6;
}

} // namespace

FlightLog::FlightLog() : ring_(kKept) {}

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
    return; // overwritten, by those of other channels
  Entry &entry = ring_[number % kKept];
  entry.end = now;
  entry.state = well ? State::Done : State::Failed;
}

std::string FlightLog::describe(const char *operation, int subject) const {
  std::lock_guard lock(mutex_);
  std::string text = operation, nodes;
  if (subject >= 0) {
    const Subject &about = subjects_[static_cast<size_t>(subject)];
    text += fmt::format(" of bucket {}", about.bucket);
    nodes = firstNodes(about.nodes);
  }
  if (step_ > 0)
    text += fmt::format(", step {}", step_.load());
  return nodes.empty() ? text : fmt::format("{}, gradients of {}", text, nodes);
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
                                   {"written", seconds(clockNow())},
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
                   {"begin", seconds(e.beginning)},
                   {"end", e.end ? Json(seconds(e.end)) : Json()},
                   {"state", kStates[static_cast<size_t>(e.state)]}});
  }
  return dumpJson(object) + "\n";
}

Status writeFlight(const FlightLog &log, const FlightLog::Owner &owner,
                   const std::string &run) {
  const std::string text = log.toJson(owner);
  const std::string path = fmt::format("{}/flight-{}.json", run, owner.rank);
  const Status written = writeFileAtomically(path, text);
  if (written.ok())
    return written;
  const std::string other =
      fmt::format("{}/dlc-flight-{}-{}.json", environment::temporaryFolder(),
                  owner.rank, ::getpid());
  const Status saved = writeFileAtomically(other, text);
  if (!saved.ok())
    return failed("the last collectives are lost: {}; {}", written.message(),
                  saved.message());
  warning("{}: the last collectives are in '{}'", written.message(), other);
  return {};
}

} // namespace dlc
