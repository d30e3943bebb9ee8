// SPDX-License-Identifier: Apache-2.0
// dlc debug flight: finds where the ranks of a failed job began to differ.
#include "runtime/base/Text.h"
#include "runtime/collective/flight/CompareRanks.h"
#include "runtime/collective/flight/FlightLog.h"
#include "tools/dlc/Commands.h"
#include "tools/dlc/Print.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <compare>
#include <ctime>
#include <iterator>
#include <set>

namespace dlc::tool {
namespace {

using Ordered = nlohmann::ordered_json;

struct FlightArguments {
  std::vector<std::string> files;
  bool json = false;
};

using ByRank = std::map<int, const Flight *>;

const FlightSubject *subjectOf(const Flight &flight, const FlightCall &call) {
  return call.subject < 0 ? nullptr : &flight.subjects[size_t(call.subject)];
}

// "all_reduce of bucket 3, 4096 bytes, step 12"
std::string callText(const Flight &flight, const FlightCall &call) {
  std::string text = printable(call.operation);
  if (const FlightSubject *subject = subjectOf(flight, call))
    text += fmt::format(" of bucket {}", subject->bucket);
  return text + fmt::format(", {} bytes, step {}", call.bytes, call.step);
}

// "12:34:56.789", UTC
std::string clockText(double seconds) {
  const auto whole = static_cast<std::time_t>(std::floor(seconds));
  std::tm parts{};
  ::gmtime_r(&whole, &parts);
  return fmt::format("{:02}:{:02}:{:02}.{:03}", parts.tm_hour, parts.tm_min,
                     parts.tm_sec, int((seconds - std::floor(seconds)) * 1000));
}

// "ranks 0, 2, 4-1023", in order.
std::string ranksText(const std::vector<int> &ranks) {
  std::vector<std::string> parts;
  for (size_t first = 0, last = 0; first < ranks.size(); first = last + 1) {
    last = first;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1)
      ++last;
    if (last < first + 2)
      last = first;
    parts.push_back(last == first
                        ? std::to_string(ranks[first])
                        : fmt::format("{}-{}", ranks[first], ranks[last]));
  }
  return fmt::format("rank{} {}", ranks.size() == 1 ? "" : "s",
                     fmt::join(parts, ", "));
}

// The range of a value over several ranks.
struct Spread {
  double least = INFINITY, most = -INFINITY;

  void add(double value) {
    least = std::min(least, value);
    most = std::max(most, value);
  }
  std::string text(const auto &one) const {
    const std::string first = one(least), last = one(most);
    return first == last ? first : fmt::format("{} to {}", first, last);
  }
};

// Ranks with the same report, except for times.
struct Alike {
  std::vector<int> ranks;
  std::set<std::string> hosts;
  Spread begin, seconds;
};

const char *kindText(FlightFinding::Kind kind) {
  constexpr const char *kTexts[] = {"same", "missing", "differs", "unfinished"};
  return kTexts[kind];
}

std::string headline(const FlightFinding &f, const ByRank &flights) {
  if (f.kind == FlightFinding::Same)
    return "the ranks agree in all collectives that are known of all of them";
  const auto &[rank, call] = *f.calls.begin();
  const std::string what =
      fmt::format("collective {}{}: ", f.sequence,
                  f.channel == FlightLog::kDevice ? " on the GPUs"
                  : f.channel ? fmt::format(" of channel {}", f.channel)
                              : "");
  if (f.kind == FlightFinding::Differs)
    return what + "ranks run different collectives";
  const std::string text = what + callText(*flights.at(rank), *call);
  if (f.kind == FlightFinding::Missing)
    return fmt::format("{}: {} did not begin it", text, ranksText(f.missing));
  return fmt::format("{}: {} began it, and it failed", text,
                     f.noFile.empty() ? "all" : "all ranks with a record");
}

// The report on a rank. isLast: it did not begin the collective in question, so
// its last one is described.
struct Told {
  bool isLast = false;
  std::string what, end, error;

  auto operator<=>(const Told &) const = default;
};

Told toldOf(const Flight &flight, const FlightCall *call, bool isLast) {
  Told told{isLast, {}, {}, printable(flight.error, 400)};
  if (!call)
    return told;
  told.what = callText(flight, *call);
  if (isLast)
    told.what = fmt::format("collective {}, {}", call->sequence, told.what);
  told.end = !call->end              ? "still waited"
             : call->state == "done" ? "ended after"
                                     : "failed after";
  return told;
}

std::map<Told, Alike> alikeRanks(const FlightFinding &f,
                                 const ByRank &flights) {
  std::map<Told, Alike> all;
  for (const auto &[rank, flight] : flights) {
    const auto call = f.calls.find(rank), last = f.last.find(rank);
    const bool isLast = call == f.calls.end();
    const FlightCall *const about = !isLast                ? call->second
                                    : last != f.last.end() ? last->second
                                                           : nullptr;
    Alike &alike = all[toldOf(*flight, about, isLast)];
    alike.ranks.push_back(rank);
    alike.hosts.insert(printable(flight->host));
    if (about)
      alike.begin.add(about->begin);
    if (about && about->end)
      alike.seconds.add(*about->end - about->begin);
  }
  return all;
}

void printAlike(const Told &told, const Alike &ranks, bool agree) {
  const std::string who = fmt::format(
      "  {} ({})", ranksText(ranks.ranks),
      ranks.hosts.size() == 1 ? *ranks.hosts.begin()
                              : fmt::format("{} hosts", ranks.hosts.size()));
  const char *const its = ranks.ranks.size() == 1 ? "its" : "their";
  if (!told.what.empty()) {
    printOut("{}: {}{}, began {}, {}", who,
             told.isLast ? fmt::format("{} last is ", its) : "", told.what,
             ranks.begin.text(clockText), told.end);
    printOut("{}\n", told.end.ends_with("after")
                         ? " " + ranks.seconds.text([](double seconds) {
                             return fmt::format("{:.3f} s", seconds);
                           })
                         : "");
  } else if (!agree) {
    printOut("{}: nothing is known of {}\n", who,
             ranks.ranks.size() == 1 ? "it" : "them");
  }
  if (!told.error.empty())
    printOut("    {} ended with: {}\n", ranks.ranks.size() == 1 ? "it" : "they",
             told.error);
}

void printFinding(const FlightFinding &f, const ByRank &flights) {
  printOut("{}\n", headline(f, flights));
  if (f.kind != FlightFinding::Same) {
    const auto &[rank, call] = *f.calls.begin();
    if (const FlightSubject *subject = subjectOf(*flights.at(rank), *call))
      printOut("  gradients of {}\n", printable(subject->nodes, 400));
  }
  for (const auto &[told, ranks] : alikeRanks(f, flights))
    printAlike(told, ranks, f.kind == FlightFinding::Same);
  std::vector<int> causes = f.missing;
  causes.insert(causes.end(), f.noFile.begin(), f.noFile.end());
  std::ranges::sort(causes);
  if (!f.noFile.empty())
    printOut("no record of {}: killed, stopped, or on a host that is lost\n",
             ranksText(f.noFile));
  if (f.waiting.empty() || causes.empty())
    return;
  Spread begin;
  for (const int rank : f.waiting)
    begin.add(f.calls.at(rank)->begin);
  printOut("{} waited for {}, since {}\n", ranksText(f.waiting),
           ranksText(causes), clockText(begin.least));
}

Ordered callObject(const Flight &flight, const FlightCall &call) {
  const FlightSubject *subject = subjectOf(flight, call);
  return {{"sequence", call.sequence},
          {"operation", call.operation},
          {"bytes", call.bytes},
          {"step", call.step},
          {"bucket", subject ? Json(subject->bucket) : Json()},
          {"nodes", subject ? Json(subject->nodes) : Json()},
          {"begin", call.begin},
          {"end", call.end ? Json(*call.end) : Json()},
          {"state", call.state}};
}

void printObject(const FlightFinding &f, const ByRank &flights) {
  Ordered object = {{"finding", kindText(f.kind)}, {"channel", f.channel},
                    {"sequence", f.sequence},      {"ranks", f.ranks},
                    {"no_file", f.noFile},         {"missing", f.missing},
                    {"waiting", f.waiting}};
  auto &all = object["by_rank"] = Ordered::array();
  for (const auto &[rank, flight] : flights) {
    const auto call = f.calls.find(rank), last = f.last.find(rank);
    Ordered row = {{"rank", rank},
                   {"host", flight->host},
                   {"file", flight->path},
                   {"error", flight->error}};
    row["collective"] =
        call == f.calls.end() ? Ordered() : callObject(*flight, *call->second);
    row["last"] = last == f.last.end() || !last->second
                      ? Ordered()
                      : callObject(*flight, *last->second);
    all.push_back(std::move(row));
  }
  printJson(object);
}

Status show(const FlightArguments &arguments) {
  std::vector<Flight> flights;
  for (const std::string &file : arguments.files) {
    DLC_ASSIGN(std::vector<Flight> found, readFlights(file));
    std::move(found.begin(), found.end(), std::back_inserter(flights));
  }
  DLC_ASSIGN(const FlightFinding finding, compareFlights(flights));
  ByRank byRank;
  for (const Flight &flight : flights)
    byRank[flight.rank] = &flight;
  if (arguments.json)
    printObject(finding, byRank);
  else
    printFinding(finding, byRank);
  return {};
}

} // namespace

void addFlight(CommandLine &line, CLI::App &parent) {
  CLI::App *command = parent.add_subcommand(
      "flight", "find the first collective in which ranks disagree");
  auto arguments = std::make_shared<FlightArguments>();
  command
      ->add_option(
          "files", arguments->files,
          "RUN/flight-HOST.jsonl of all hosts of one job that wrote one")
      ->required();
  command->add_flag("--json", arguments->json, "one JSON object on stdout");
  command->footer(
      R"(When training on several ranks fails, each rank that can adds a line with its last 2,000
collectives to RUN/flight-HOST.jsonl or, if that fails, to a file in the folder for
temporary files. This command finds the first collective that not all ranks began, in
which they differ (operation, bytes, bucket) or which did not end, and which ranks waited
for which. Ranks with equal entries share a line.
Times are UTC, by each host's clock.

Examples:
  dlc debug flight runs/lenet-1/flight-*.jsonl
  dlc debug flight runs/lenet-1/flight-node07.jsonl --json)");
  runIfChosen(line, *command, [arguments] { return show(*arguments); });
}

} // namespace dlc::tool
