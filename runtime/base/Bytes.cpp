// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/Bytes.h"

#include <charconv>

namespace dlc {
namespace {

struct Unit {
  std::string_view name;
  double bytes;
};
constexpr Unit kUnits[] = {{"", 1},
                           {"B", 1},
                           {"kB", 1e3},
                           {"MB", 1e6},
                           {"GB", 1e9},
                           {"TB", 1e12},
                           {"KiB", 1LL << 10},
                           {"MiB", 1LL << 20},
                           {"GiB", 1LL << 30},
                           {"TiB", 1LL << 40}};
constexpr double kMost = 1LL << 60;

} // namespace

Result<int64_t> parseBytes(std::string_view text) {
  double number = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  std::string_view rest(end, text.data() + text.size() - end);
  if (rest.starts_with(' '))
    rest.remove_prefix(1);
  for (const Unit &unit : kUnits)
    if (error == std::errc() && rest == unit.name && number >= 0 &&
        number * unit.bytes <= kMost)
      return int64_t(number * unit.bytes);
  return usageError("expected a size such as 4GiB or 500MB, found '{}'", text);
}

std::string exactBytes(int64_t bytes) {
  const Unit *best = kUnits;
  for (const Unit &unit : kUnits)
    if (bytes && unit.bytes > best->bytes && bytes % int64_t(unit.bytes) == 0)
      best = &unit;
  return fmt::format("{}{}", bytes / int64_t(best->bytes), best->name);
}

std::string roundBytes(double bytes) {
  constexpr const char *kNames[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  size_t i = 0;
  for (; bytes >= 1024 && i < 5; ++i)
    bytes /= 1024;
  return fmt::format("{:.{}f} {}", bytes,
                     i == 0 || bytes >= 100 ? 0 : (bytes >= 10 ? 1 : 2),
                     kNames[i]);
}

} // namespace dlc
