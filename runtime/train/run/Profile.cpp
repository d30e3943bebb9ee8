#include "runtime/train/run/Profile.h"

#include "runtime/base/Json.h"
#include "runtime/base/files/Files.h"

#include <fmt/core.h>

#include <algorithm>

namespace dlc {
namespace {

constexpr size_t kLabelWidth = 60;

double perCall(const CommandProfile &c) {
  return c.calls ? c.seconds / static_cast<double>(c.calls) : 0;
}

// Billions a second; "-" where the plan counts nothing.
std::string rate(uint64_t count, double seconds) {
  return count && seconds > 0
             ? fmt::format("{:.1f}", static_cast<double>(count) / seconds / 1e9)
             : "-";
}

std::string shortened(const std::string &label) {
  if (label.size() <= kLabelWidth)
    return label;
  return fmt::format("{}...", label.substr(0, kLabelWidth - 3));
}

} // namespace

std::string profileTable(const std::vector<CommandProfile> &commands,
                         std::string_view program, size_t rows) {
  std::vector<const CommandProfile *> sorted;
  double total = 0;
  for (const CommandProfile &c : commands)
    if (c.program == program && c.calls > 0) {
      sorted.push_back(&c);
      total += perCall(c);
    }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](auto *a, auto *b) { return perCall(*a) > perCall(*b); });
  std::string text = fmt::format("{:>9} {:>6} {:>8} {:>7}  {:<22} nodes\n",
                                 "ms", "%", "GFLOP/s", "GB/s", "command");
  double rest = total;
  for (size_t i = 0; i < std::min(rows, sorted.size()); ++i) {
    const CommandProfile &c = *sorted[i];
    const double seconds = perCall(c);
    rest -= seconds;
    text +=
        fmt::format("{:9.3f} {:6.1f} {:>8} {:>7}  {:<22} {}\n", 1e3 * seconds,
                    100 * seconds / total, rate(c.flops, seconds),
                    rate(c.bytes, seconds), c.name, shortened(c.label));
  }
  if (sorted.size() > rows)
    text += fmt::format("{:9.3f} {:6.1f} {:>8} {:>7}  {} more\n", 1e3 * rest,
                        100 * rest / total, "", "", sorted.size() - rows);
  return text +
         fmt::format("{:9.3f}  all commands of a {}", 1e3 * total, program);
}

Status writeProfile(const std::vector<CommandProfile> &commands,
                    const std::string &path) {
  Json list = Json::array();
  for (const CommandProfile &c : commands)
    if (c.calls > 0)
      list.push_back({{"program", c.program},
                      {"command", c.name},
                      {"kind", c.kind},
                      {"nodes", c.label},
                      {"calls", c.calls},
                      {"seconds", c.seconds},
                      {"least", c.least},
                      {"flops", c.flops},
                      {"bytes", c.bytes},
                      {"begin", c.begin},
                      {"bucket", c.bucket < 0 ? Json() : Json(c.bucket)}});
  return writeFileAtomically(path, dumpJson(list, 1) + "\n");
}

} // namespace dlc
