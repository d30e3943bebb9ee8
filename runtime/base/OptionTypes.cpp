// How fields of each type are read and written.
#include "runtime/base/Bytes.h"
#include "runtime/base/Nearest.h"
#include "runtime/base/OptionTable.h"
#include "runtime/base/Pattern.h"
#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/ranges.h>

namespace dlc {

/// The number that the whole word is, if it lies between `low` and `high`.
template <class T>
static std::optional<T> readWhole(const std::string &word, T low, T high) {
  T x = 0;
  auto [end, error] =
      std::from_chars(word.data(), word.data() + word.size(), x);
  bool whole = error == std::errc() && end == word.data() + word.size();
  return whole && x >= low && x <= high ? std::optional<T>(x) : std::nullopt;
}

Result<double> parseNumber(const std::string &word, double low, double high) {
  if (auto x = readWhole(word, low, high))
    return *x;
  std::string range;
  if (high < kNoLimit && low == kAboveZero)
    range = fmt::format(" above 0, of at most {}", high);
  else if (high < kNoLimit)
    range = fmt::format(" from {} to {}", low, high);
  else if (low == kAboveZero)
    range = " above 0";
  else if (low > -kNoLimit)
    range = fmt::format(" of at least {}", low);
  return usageError("expected a number{}, found '{}'", range, word);
}

Result<int64_t> parseCount(const std::string &word, int64_t low, int64_t high) {
  if (auto n = readWhole(word, low, high))
    return *n;
  std::string range = high == INT64_MAX
                          ? fmt::format("of at least {}", low)
                          : fmt::format("from {} to {}", low, high);
  return usageError("expected a whole number {}, found '{}'", range, word);
}

std::string numberText(double x) { return fmt::format("{}", x); }

Result<std::string> oneWord(const Words &words) {
  if (words.size() == 1)
    return words[0];
  return usageError("expected one value, found {}", words.size());
}

Option &OptionTable::add(std::string key, std::string help, std::string type) {
  Option &o = options.emplace_back();
  o.flag = "--" + key.substr(key.find('.') + 1);
  o.key = std::move(key);
  o.help = std::move(help);
  o.type = std::move(type);
  return o;
}

Option &OptionTable::number(std::string key, double &field, double low,
                            double high, std::string help) {
  Option &o = add(std::move(key), std::move(help), "NUMBER");
  o.set = [&field, low, high](auto &words) -> Status {
    DLC_ASSIGN(std::string word, oneWord(words));
    DLC_ASSIGN(field, parseNumber(word, low, high));
    return {};
  };
  o.get = [&field] { return Words{numberText(field)}; };
  return o;
}

/// What `parse` makes of one word; of none, nothing.
template <class T, class Parse>
static Status setOptional(std::optional<T> &field, const Words &words,
                          Parse parse) {
  if (words.empty()) {
    field.reset();
    return {};
  }
  DLC_ASSIGN(std::string word, oneWord(words));
  DLC_ASSIGN(field, parse(word));
  return {};
}

Option &OptionTable::number(std::string key, std::optional<double> &field,
                            double low, double high, std::string help) {
  Option &o = add(std::move(key), std::move(help), "NUMBER");
  o.set = [&field, low, high](auto &words) {
    return setOptional(field, words, [&](const std::string &word) {
      return parseNumber(word, low, high);
    });
  };
  o.get = [&field] {
    return field ? std::optional(Words{numberText(*field)}) : std::nullopt;
  };
  return o;
}

Option &OptionTable::count(std::string key, int64_t &field, int64_t low,
                           std::string help, int64_t high) {
  Option &o = add(std::move(key), std::move(help), "N");
  o.set = [&field, low, high](auto &words) -> Status {
    DLC_ASSIGN(std::string word, oneWord(words));
    DLC_ASSIGN(field, parseCount(word, low, high));
    return {};
  };
  o.get = [&field] { return Words{std::to_string(field)}; };
  return o;
}

Option &OptionTable::choice(std::string key, std::string &field, Words names,
                            std::string help) {
  Option &o = add(std::move(key), std::move(help),
                  fmt::format("{{{}}}", fmt::join(names, ",")));
  o.set = [&field, names](auto &words) -> Status {
    DLC_ASSIGN(std::string word, oneWord(words));
    if (std::find(names.begin(), names.end(), word) == names.end())
      return usageError("'{}' is not one of {}{}", word, fmt::join(names, ", "),
                        suggestion(word, names));
    field = word;
    return {};
  };
  o.get = [&field] { return Words{field}; };
  return o;
}

Option &OptionTable::text(std::string key, std::string &field, std::string type,
                          std::string help) {
  Option &o = add(std::move(key), std::move(help), std::move(type));
  o.set = [&field](auto &words) -> Status {
    DLC_ASSIGN(field, oneWord(words));
    return {};
  };
  o.get = [&field] { return Words{field}; };
  return o;
}

static Result<bool> parseToggle(const std::string &word) {
  if (word == "true" || word == "false")
    return word == "true";
  return usageError("expected true or false, found '{}'", word);
}

static Words toggled(bool on) { return {on ? "true" : "false"}; }

Option &OptionTable::toggle(std::string key, bool &field, std::string help) {
  Option &o = add(std::move(key), std::move(help), "");
  o.set = [&field](auto &words) -> Status {
    DLC_ASSIGN(field, parseToggle(fmt::format("{}", fmt::join(words, ","))));
    return {};
  };
  o.get = [&field] { return toggled(field); };
  return o;
}

Option &OptionTable::toggle(std::string key, std::optional<bool> &field,
                            std::string help) {
  Option &o = add(std::move(key), std::move(help), "");
  o.set = [&field](auto &words) {
    return setOptional(field, words, parseToggle);
  };
  o.get = [&field] {
    return field ? std::optional(toggled(*field)) : std::nullopt;
  };
  return o;
}

Option &OptionTable::either(std::string key, bool &isSecond, std::string first,
                            std::string second, std::string help) {
  Option &o = add(std::move(key), std::move(help),
                  fmt::format("{{{},{}}}", first, second));
  o.set = [&isSecond, first, second](auto &words) -> Status {
    if (words.size() != 1 || (words[0] != first && words[0] != second))
      return usageError("expected {} or {}, found '{}'", first, second,
                        fmt::join(words, ","));
    isSecond = words[0] == second;
    return {};
  };
  o.get = [&isSecond, first, second] {
    return Words{isSecond ? second : first};
  };
  return o;
}

Option &OptionTable::list(std::string key, Words &field, std::string type,
                          std::string help) {
  Option &o = add(std::move(key), std::move(help), std::move(type));
  o.repeats = true;
  o.set = [&field](auto &words) -> Status {
    field = words;
    return {};
  };
  o.get = [&field] { return field; };
  return o;
}

Option &OptionTable::patterns(std::string key, Words &field, std::string help) {
  Option &o = list(std::move(key), field, "REGEX", std::move(help));
  o.set = [&field](auto &words) -> Status {
    DLC_TRY(parsePatterns(words).status());
    field = words;
    return {};
  };
  return o;
}

Option &OptionTable::bytes(std::string key, int64_t &field, std::string help) {
  Option &o = add(std::move(key), std::move(help), "SIZE");
  o.set = [&field](auto &words) -> Status {
    DLC_ASSIGN(std::string word, oneWord(words));
    DLC_ASSIGN(field, parseBytes(word));
    return {};
  };
  o.get = [&field] { return Words{exactBytes(field)}; };
  return o;
}

} // namespace dlc
