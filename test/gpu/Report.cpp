// SPDX-License-Identifier: Apache-2.0
// gpu-report WORK OUT: what run.sh has noted so far, for people and scripts.
//   WORK/results.tsv   name, status, seconds, limit, what it shows; a line each
//   WORK/logs/NAME.log what it printed
//   WORK/bench/*.json  measures
// gives OUT/results.json, junit.xml, and if there are measures bench.json and
// bench.md.
#include "runtime/base/Json.h"
#include "runtime/base/files/Files.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <sstream>

using namespace dlc;

namespace {

using Ordered = nlohmann::ordered_json;

struct Outcome {
  std::string name, status, seconds, limit, what, log;
};

std::string textOf(const std::string &path) {
  auto text = readFile(path);
  return text.ok() ? *std::move(text) : "";
}

std::vector<Outcome> readOutcomes(const std::string &work) {
  std::vector<Outcome> outcomes;
  std::stringstream lines(textOf(work + "/results.tsv"));
  for (std::string line; std::getline(lines, line);) {
    Outcome o;
    std::stringstream fields(line);
    for (std::string *field :
         {&o.name, &o.status, &o.seconds, &o.limit, &o.what})
      std::getline(fields, *field, '\t');
    o.log = textOf(work + "/logs/" + o.name + ".log");
    outcomes.push_back(std::move(o));
  }
  return outcomes;
}

std::string end(const std::string &text, size_t bytes) {
  return text.size() <= bytes ? text : text.substr(text.size() - bytes);
}

// XML has no way to write most control characters.
std::string escaped(const std::string &text) {
  std::string result;
  for (const char c : text)
    switch (c) {
    case '<':
      result += "&lt;";
      break;
    case '>':
      result += "&gt;";
      break;
    case '&':
      result += "&amp;";
      break;
    case '"':
      result += "&quot;";
      break;
    default:
      result += static_cast<unsigned char>(c) < 32 && c != '\n' && c != '\t'
                    ? '?'
                    : c;
    }
  return result;
}

std::string junit(const std::vector<Outcome> &outcomes) {
  std::map<std::string, int> count;
  std::string cases;
  for (const Outcome &o : outcomes) {
    ++count[o.status];
    cases +=
        fmt::format("  <testcase classname=\"gpu\" name=\"{}\" time=\"{}\">\n",
                    escaped(o.name), o.seconds);
    if (o.status == "SKIP" || o.status == "NOT RUN")
      cases += fmt::format("    <skipped message=\"{}\"/>\n",
                           escaped(end(o.log, 300)));
    else if (o.status != "PASS")
      cases += fmt::format("    <failure message=\"{}\">{}</failure>\n",
                           o.status, escaped(end(o.log, 4000)));
    cases += fmt::format("    <system-out>{}</system-out>\n  </testcase>\n",
                         escaped(end(o.log, 2000)));
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"gpu\" "
      "tests=\"{}\" failures=\"{}\" skipped=\"{}\">\n{}</testsuite>\n",
      outcomes.size(), count["FAIL"] + count["TIMEOUT"],
      count["SKIP"] + count["NOT RUN"], cases);
}

Ordered results(const std::vector<Outcome> &outcomes) {
  Ordered list = Ordered::array();
  for (const Outcome &o : outcomes)
    list.push_back({{"name", o.name},
                    {"status", o.status},
                    {"seconds", std::atof(o.seconds.c_str())},
                    {"limit", std::atof(o.limit.c_str())},
                    {"shows", o.what},
                    {"end_of_log", end(o.log, 1500)}});
  return list;
}

Ordered readMeasures(const std::string &folder) {
  std::vector<std::string> paths;
  std::error_code ignored;
  for (const auto &entry : std::filesystem::directory_iterator(folder, ignored))
    if (entry.path().extension() == ".json")
      paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  Ordered measures = Ordered::array();
  for (const std::string &path : paths)
    if (auto json = Ordered::parse(textOf(path), nullptr, false);
        !json.is_discarded())
      measures.push_back(std::move(json));
  return measures;
}

// What PyTorch makes of the same step is measured by the same FLOPs and bytes.
void addShares(Ordered &measures) {
  std::map<std::string, Ordered> ours;
  for (const Ordered &m : measures)
    if (m.value("by", "") == "dlc")
      ours[m["model"].get<std::string>()] = m;
  for (Ordered &m : measures)
    if (const auto found = ours.find(m.value("model", ""));
        found != ours.end() && m.contains("step_ms") && !m.contains("mfu"))
      for (const char *share : {"mfu", "of_bound"})
        if (const Ordered &of = found->second[share]; of.is_number())
          m[share] = of.get<double>() * found->second["step_ms"].get<double>() /
                     m["step_ms"].get<double>();
}

std::string number(const Ordered &row, const char *key, int digits,
                   double factor = 1) {
  if (!row.contains(key) || !row[key].is_number())
    return "-";
  return fmt::format("{:.{}f}", factor * row[key].get<double>(), digits);
}

std::string table(const Ordered &measures) {
  std::string text;
  for (const Ordered &m : measures)
    if (m.contains("bytes_per_s"))
      text += fmt::format("{}: copies {} GB/s, read and written\n\n",
                          m["gpu"].get<std::string>(),
                          number(m, "bytes_per_s", 0, 1e-9));
  text +=
      "| model | by | ms a step | samples/s | tokens/s | MFU % | of bound % "
      "| large kernels, % of copy | MiB | first step, s: cold | warm |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|\n";
  for (const Ordered &m : measures) {
    if (!m.contains("model"))
      continue;
    const Ordered none = Ordered::object();
    const Ordered &kernels = m.contains("kernels") ? m["kernels"] : none;
    text += fmt::format(
        "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n",
        m["model"].get<std::string>(), m["by"].get<std::string>(),
        number(m, "step_ms", 3), number(m, "samples_per_s", 1),
        number(m, "tokens_per_s", 0), number(m, "mfu", 1, 100),
        number(m, "of_bound", 0, 100), number(kernels, "of_copy", 0, 100),
        number(m, "memory_mib", 0), number(m, "cold_s", 2),
        number(m, "warm_s", 2));
  }
  return text;
}

std::string kernelTable(const Ordered &measures) {
  std::string text;
  for (const Ordered &m : measures)
    if (m.contains("matrix_kernels")) {
      text += "\n| kernel | ms | GB/s | % of copy |\n|---|---|---|---|\n";
      for (const Ordered &row : m["matrix_kernels"])
        text += fmt::format("| {} | {} | {} | {} |\n",
                            row["name"].get<std::string>(),
                            number(row, "ms", 4), number(row, "gb_per_s", 0),
                            number(row, "of_copy", 0, 100));
    }
  return text;
}

Status report(const std::string &work, const std::string &out) {
  const auto outcomes = readOutcomes(work);
  DLC_TRY(writeFileAtomically(
      out + "/results.json",
      results(outcomes).dump(1, ' ', false, Ordered::error_handler_t::replace) +
          "\n"));
  DLC_TRY(writeFileAtomically(out + "/junit.xml", junit(outcomes)));
  Ordered measures = readMeasures(work + "/bench");
  if (measures.empty())
    return {};
  addShares(measures);
  DLC_TRY(writeFileAtomically(out + "/bench.json", measures.dump(1) + "\n"));
  return writeFileAtomically(out + "/bench.md",
                             table(measures) + kernelTable(measures));
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: gpu-report WORK OUT\n");
    return 2;
  }
  const Status status = report(argv[1], argv[2]);
  if (!status.ok())
    fmt::print(stderr, "{}\n", status.message());
  return static_cast<int>(status.code());
}
