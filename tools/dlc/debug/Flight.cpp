// SPDX-License-Identifier: Apache-2.0
// dlc debug flight: where the ranks of a job that failed began to differ.
#include "runtime/base/Text.h"
#include "runtime/collective/flight/CompareRanks.h"
#include "tools/dlc/Commands.h"
#include "tools/dlc/Print.h"

#include <fmt/ranges.h>

#include <cmath>
#include <ctime>

namespace dlc::tool {
namespace {

using Ordered = nlohmann::ordered_json;

struct FlightArguments {
  std::vector<std::string> files;
  bool json = false;
};

using ByRank = std::map<int, const Flight *>;

const FlightSubject *subjectOf(const Flight &flight, const FlightCall &call) {
  return call.subject < 0 ? nullptr
                          : &flight.subjects[static_cast<size_t>(call.subject)];
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
                     parts.tm_sec,
                     static_cast<int>((seconds - std::floor(seconds)) * 1000));
}

// "ranks 0, 2"
std::string ranksText(const std::vector<int> &ranks) {
  return fmt::format("rank{} {}", ranks.size() == 1 ? "" : "s",
                     fmt::join(ranks, ", "));
}

std::string endText(const FlightCall &call) {
  if (!call.end)
    return "still waited";
  return fmt::format("{} after {:.3f} s",
                     call.state == "done" ? "ended" : "failed",
                     *call.end - call.begin);
}

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
                  f.channel ? fmt::format(" of channel {}", f.channel) : "");
  if (f.kind == FlightFinding::Differs)
    return what + "ranks do different things";
  const std::string text = what + callText(*flights.at(rank), *call);
  if (f.kind == FlightFinding::Missing)
    return fmt::format("{}: {} did not begin it", text, ranksText(f.missing));
  return fmt::format("{}: {} began it, and it did not end well", text,
                     f.noFile.empty() ? "all" : "all that left a file");
}

void printRank(const Flight &flight, const FlightFinding &f) {
  const std::string who =
      fmt::format("  rank {} ({})", flight.rank, printable(flight.host));
  if (const auto call = f.calls.find(flight.rank); call != f.calls.end()) {
    printOut("{}: {}, began {}, {}\n", who, callText(flight, *call->second),
             clockText(call->second->begin), endText(*call->second));
  } else if (const auto last = f.last.find(flight.rank);
             last != f.last.end() && last->second) {
    printOut("{}: its last is collective {}, {}, began {}, {}\n", who,
             last->second->sequence, callText(flight, *last->second),
             clockText(last->second->begin), endText(*last->second));
  } else if (f.kind != FlightFinding::Same) {
    printOut("{}: nothing is known of it\n", who);
  }
  if (!flight.error.empty())
    printOut("    it ended with: {}\n", printable(flight.error, 400));
}

void printText(const FlightFinding &f, const ByRank &flights) {
  printOut("{}\n", headline(f, flights));
  if (f.kind != FlightFinding::Same) {
    const auto &[rank, call] = *f.calls.begin();
    if (const FlightSubject *subject = subjectOf(*flights.at(rank), *call))
      printOut("  gradients of {}\n", printable(subject->nodes, 400));
  }
  for (const auto &[rank, flight] : flights)
    printRank(*flight, f);
  std::vector<int> causes = f.missing;
  causes.insert(causes.end(), f.noFile.begin(), f.noFile.end());
  if (!f.noFile.empty())
    printOut("no file of {}: killed, stopped, or on a host that is lost\n",
             ranksText(f.noFile));
  if (!f.waiting.empty() && !causes.empty())
    printOut("{} waited for {}\n", ranksText(f.waiting), ranksText(causes));
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
    DLC_ASSIGN(Flight flight, readFlight(file));
    flights.push_back(std::move(flight));
  }
  DLC_ASSIGN(const FlightFinding finding, compareFlights(flights));
  ByRank byRank;
  for (const Flight &flight : flights)
    byRank[flight.rank] = &flight;
  if (arguments.json)
    printObject(finding, byRank);
  else
    printText(finding, byRank);
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
          "RUN/flight-RANK.json of all ranks of one job that wrote one")
      ->required();
  command->add_flag("--json", arguments->json, "one object on stdout");
  command->footer(
      R"(When training on several ranks fails, each rank that can writes its last 2,000 collectives
to RUN/flight-RANK.json or, if that fails, to the folder for temporary files. This command
finds the first collective that not all ranks began, in which they differ (operation,
bytes, bucket) or which did not end, and which ranks waited for which.
Times are UTC, by each host's clock.

Examples:
  dlc debug flight runs/lenet-1/flight-*.json
  dlc debug flight runs/lenet-1/flight-0.json runs/lenet-1/flight-1.json --json)");
  command->callback([&line, arguments] {
    line.chosen = [arguments] { return report(show(*arguments)); };
  });
}

} // namespace dlc::tool
