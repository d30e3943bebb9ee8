// SPDX-License-Identifier: Apache-2.0
#include "runtime/collective/flight/CompareRanks.h"

#include "runtime/base/Json.h"
#include "runtime/base/Text.h"
#include "runtime/base/files/Files.h"
#include "runtime/base/process/Log.h"

#include <algorithm>
#include <cmath>

namespace dlc {
namespace {

constexpr uint64_t kMostBytes = uint64_t(1) << 30, kMostLine = 16 << 20;
constexpr uint64_t kMostNumber = uint64_t(1) << 62;

Result<int64_t> wholeNumber(const Json &object, const char *key,
                            uint64_t most = kMostNumber) {
  DLC_ASSIGN(const uint64_t value, jsonUnsigned(object, key));
  if (value > most)
    return corrupt("'{}' is {}, expected at most {}", key, value, most);
  return static_cast<int64_t>(value);
}

Result<const Json *> list(const Json &object, const char *key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_array())
    return corrupt("'{}' is no list", key);
  return &*found;
}

Result<std::optional<double>> readSeconds(const Json &object, const char *key) {
  const auto found = object.find(key);
  if (found == object.end() || !(found->is_number() || found->is_null()))
    return corrupt("'{}' is neither a number nor null", key);
  if (found->is_null())
    return std::optional<double>();
  const double value = found->get<double>();
  if (!(std::abs(value) < 1e15))
    return corrupt("'{}' is {}, expected seconds since 1970", key, value);
  return std::optional(value);
}

Result<FlightCall> callFrom(const Json &json, size_t subjects) {
  if (!json.is_object())
    return corrupt("it is no object");
  FlightCall call;
  DLC_ASSIGN(call.channel, wholeNumber(json, "channel"));
  DLC_ASSIGN(call.sequence, wholeNumber(json, "sequence"));
  DLC_ASSIGN(call.step, wholeNumber(json, "step"));
  DLC_ASSIGN(call.bytes, wholeNumber(json, "bytes"));
  DLC_ASSIGN(call.operation, jsonString(json, "operation"));
  DLC_ASSIGN(call.state, jsonString(json, "state"));
  if (call.state != "waits" && call.state != "done" && call.state != "failed")
    return corrupt("'state' is '{}', expected waits, done or failed",
                   printable(call.state));
  const auto subject = json.find("subject");
  if (subject == json.end())
    return corrupt("'subject' is missing");
  if (!subject->is_null()) {
    DLC_ASSIGN(call.subject, wholeNumber(json, "subject"));
    if (static_cast<uint64_t>(call.subject) >= subjects)
      return corrupt("'subject' is {} of {}", call.subject, subjects);
  }
  DLC_ASSIGN(const auto begin, readSeconds(json, "begin"));
  if (!begin)
    return corrupt("'begin' is null");
  call.begin = *begin;
  DLC_ASSIGN(call.end, readSeconds(json, "end"));
  return call;
}

Result<Flight> flightFrom(const Json &json) {
  if (!json.is_object())
    return corrupt("it is no object");
  DLC_ASSIGN(const std::string format, jsonString(json, "format"));
  DLC_ASSIGN(const int64_t version, wholeNumber(json, "version"));
  if (format != "dlc-flight" || version != 1)
    return corrupt("it is '{}' version {}, expected 'dlc-flight' version 1",
                   printable(format), version);
  constexpr uint64_t kMostRanks = 1 << 16;
  Flight flight;
  DLC_ASSIGN(const int64_t ranks, wholeNumber(json, "ranks", kMostRanks));
  DLC_ASSIGN(const int64_t rank, wholeNumber(json, "rank", kMostRanks));
  if (rank >= ranks)
    return corrupt("it is of rank {} of {}", rank, ranks);
  flight.rank = static_cast<int>(rank);
  flight.ranks = static_cast<int>(ranks);
  DLC_ASSIGN(flight.host, jsonString(json, "host"));
  DLC_ASSIGN(flight.error, jsonString(json, "error"));
  DLC_ASSIGN(flight.begun, wholeNumber(json, "begun"));
  DLC_ASSIGN(const Json *subjects, list(json, "subjects"));
  for (const Json &subject : *subjects) {
    if (!subject.is_object())
      return corrupt("a subject is no object");
    FlightSubject &made = flight.subjects.emplace_back();
    DLC_ASSIGN(made.bucket, wholeNumber(subject, "bucket"));
    DLC_ASSIGN(made.nodes, jsonString(subject, "nodes"));
  }
  DLC_ASSIGN(const Json *calls, list(json, "collectives"));
  for (const Json &entry : *calls) {
    auto call = callFrom(entry, flight.subjects.size());
    if (!call.ok())
      return call.status().withContext(
          fmt::format("collective {}", flight.calls.size()));
    flight.calls.push_back(*std::move(call));
  }
  return flight;
}

// One rank's calls on one channel, by sequence.
struct Track {
  std::map<int64_t, const FlightCall *> calls;
  bool whole = false; // its log has all collectives
};

// By channel and rank.
using Tracks = std::map<int64_t, std::map<int, Track>>;

Result<Tracks> tracksOf(const std::vector<Flight> &flights) {
  Tracks tracks;
  for (const Flight &flight : flights)
    for (const FlightCall &call : flight.calls)
      if (!tracks[call.channel][flight.rank]
               .calls.emplace(call.sequence, &call)
               .second)
        return corrupt("'{}' has collective {} of channel {} twice",
                       printable(flight.path), call.sequence, call.channel);
  for (auto &[channel, ranks] : tracks)
    for (const Flight &flight : flights)
      ranks[flight.rank].whole =
          flight.begun <= static_cast<int64_t>(flight.calls.size());
  return tracks;
}

using ByRank = std::map<int, const Flight *>;

// The properties that must be equal on all ranks.
auto identity(const ByRank &flights, int rank, const FlightCall &call) {
  const Flight &flight = *flights.at(rank);
  const auto subject = static_cast<size_t>(call.subject);
  return std::tuple(call.operation, call.bytes,
                    call.subject < 0 ? -1 : flight.subjects[subject].bucket);
}

// The collective of this number, if ranks disagree in it or it did not end.
std::optional<FlightFinding> look(const ByRank &flights,
                                  const std::map<int, Track> &ranks,
                                  int64_t sequence) {
  FlightFinding found;
  bool differs = false, ended = true;
  for (const auto &[rank, track] : ranks) {
    const auto at = track.calls.find(sequence);
    if (at != track.calls.end()) {
      found.calls[rank] = at->second;
      if (at->second->state != "done")
        ended = false, found.waiting.push_back(rank);
      const auto &[first, call] = *found.calls.begin();
      differs |= identity(flights, first, *call) !=
                 identity(flights, rank, *at->second);
    } else if (track.calls.empty() ? track.whole
                                   : track.calls.rbegin()->first < sequence) {
      found.missing.push_back(rank);
      found.last[rank] =
          track.calls.empty() ? nullptr : track.calls.rbegin()->second;
    }
  }
  if (!differs && ended && (found.missing.empty() || found.calls.empty()))
    return std::nullopt;
  found.kind = differs                  ? FlightFinding::Differs
               : !found.missing.empty() ? FlightFinding::Missing
                                        : FlightFinding::Unfinished;
  found.sequence = sequence;
  return found;
}

double beginOf(const FlightFinding &finding) {
  double begin = finding.calls.begin()->second->begin;
  for (const auto &[rank, call] : finding.calls)
    begin = std::min(begin, call->begin);
  return begin;
}

Result<ByRank> sameJob(const std::vector<Flight> &flights) {
  ByRank seen;
  for (const Flight &flight : flights) {
    const auto [other, isNew] = seen.emplace(flight.rank, &flight);
    if (!isNew)
      return failed("'{}' and '{}' are both of rank {}",
                    printable(other->second->path), printable(flight.path),
                    flight.rank);
    if (flight.ranks != flights[0].ranks)
      return failed("'{}' is of a job of {} ranks, '{}' of one of {}",
                    printable(flights[0].path), flights[0].ranks,
                    printable(flight.path), flight.ranks);
  }
  return seen;
}

} // namespace

Result<std::vector<Flight>> readFlights(const std::string &path) {
  DLC_ASSIGN(const std::string text, readFile(path, kMostBytes));
  const auto flightOf = [](std::string_view line) -> Result<Flight> {
    if (line.size() > kMostLine)
      return limitExceeded("it has {} bytes, expected at most {}", line.size(),
                           kMostLine);
    DLC_ASSIGN(const Json json, parseJson(std::string(line)));
    return flightFrom(json);
  };
  std::map<int, Flight> byRank;
  for (size_t at = 0, end = 0; at < text.size() || byRank.empty();
       at = end + 1) {
    end = std::min(text.find('\n', at), text.size());
    auto flight = flightOf(std::string_view(text).substr(at, end - at));
    if (!flight && end == text.size() && !byRank.empty()) {
      warning("'{}' ends with an incomplete record, which is left out",
              printable(path));
      break;
    }
    if (!flight)
      return flight.status().withContext(fmt::format(
          "'{}', line {}", printable(path),
          1 + std::count(text.begin(),
                         text.begin() + static_cast<ptrdiff_t>(at), '\n')));
    flight->path = path;
    byRank[flight->rank] = *std::move(flight);
  }
  std::vector<Flight> flights;
  for (auto &[rank, flight] : byRank)
    flights.push_back(std::move(flight));
  return flights;
}

Result<FlightFinding> compareFlights(const std::vector<Flight> &flights) {
  DLC_ASSIGN(const ByRank byRank, sameJob(flights));
  DLC_ASSIGN(const Tracks tracks, tracksOf(flights));
  std::optional<FlightFinding> first;
  for (const auto &[channel, ranks] : tracks) {
    std::map<int64_t, int> all; // sorted sequence numbers
    for (const auto &[rank, track] : ranks)
      for (const auto &[sequence, call] : track.calls)
        ++all[sequence];
    for (const auto &[sequence, count] : all)
      if (auto found = look(byRank, ranks, sequence)) {
        found->channel = channel;
        if (!first || beginOf(*found) < beginOf(*first))
          first = std::move(found);
        break;
      }
  }
  FlightFinding finding = first.value_or(FlightFinding());
  for (int rank = 0; rank < flights[0].ranks; ++rank)
    (byRank.count(rank) ? finding.ranks : finding.noFile).push_back(rank);
  return finding;
}

} // namespace dlc
