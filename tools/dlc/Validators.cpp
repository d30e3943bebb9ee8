#include "tools/dlc/Validators.h"

#include "runtime/base/options/Nearest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

namespace dlc::tool {
namespace {

template <typename T>
CLI::Validator within(T low, T high, const std::string &what) {
  using Limits = std::numeric_limits<T>;
  std::string expected = what;
  if (low != Limits::lowest() && high != Limits::max())
    expected = fmt::format("{} of {} to {}", what, low, high);
  else if (low != Limits::lowest())
    expected = fmt::format("{} of at least {}", what, low);
  auto check = [=](const std::string &word) -> std::string {
    T value = 0;
    const char *last = word.data() + word.size();
    auto [end, error] = std::from_chars(word.data(), last, value);
    // NaN is in no interval.
    if (error == std::errc() && end == last && value >= low && value <= high)
      return "";
    return fmt::format("expected {}, found '{}'", expected, word);
  };
  return CLI::Validator(check, "");
}

} // namespace

CLI::Validator number(double low, double high) {
  return within(low, high, "a number");
}

CLI::Validator wholeNumber(int64_t low, int64_t high) {
  return within(low, high, "a whole number");
}

CLI::Validator oneOf(std::vector<std::string> words) {
  auto check = [words](const std::string &word) -> std::string {
    if (std::find(words.begin(), words.end(), word) != words.end())
      return "";
    return fmt::format("expected one of {}, found '{}'{}",
                       fmt::join(words, ", "), word, suggestion(word, words));
  };
  return CLI::Validator(check, "");
}

} // namespace dlc::tool
