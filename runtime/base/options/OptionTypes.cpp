// SPDX-License-Identifier: Apache-2.0
// Parsing and printing of fields by type.
#include "runtime/base/Bytes.h"
#include "runtime/base/numbers/ParseNumber.h"
#include "runtime/base/options/Nearest.h"
#include "runtime/base/options/OptionTable.h"
#include "runtime/base/options/Pattern.h"
#include <algorithm>
#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

namespace dlc {

/// Parses the whole word as a number in [low, high].
template <class T>
static std::optional<T> readWhole(const std::string &word, T low, T high) {
  const auto x = asNumber<T>(word);
  return x && *x >= low && *x <= high ? x : std::nullopt;
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

template <std::integral T>
static Result<T> parseWhole(const std::string &word, T low, T high) {
  if (auto n = readWhole(word, low, high))
    return *n;
  std::string range = sizeof(T) == 8 && high == std::numeric_limits<T>::max()
                          ? fmt::format("of at least {}", low)
                          : fmt::format("from {} to {}", low, high);
  return usageError("expected a whole number {}, found '{}'", range, word);
}

Result<int64_t> parseCount(const std::string &word, int64_t low, int64_t high) {
  return parseWhole(word, low, high);
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
  o.group = group_;
  o.help = std::move(help);
  o.type = std::move(type);
  return o;
}

namespace {

template <class T> constexpr bool kIsOptional = false;
template <class T> constexpr bool kIsOptional<std::optional<T>> = true;

/// A row of one word, which `parse` reads and `text` writes; an optional field
/// is unset without words.
template <class Field, class Parse, class Text>
Option &ofWord(Option &o, Field &field, Parse parse, Text text) {
  o.set = [&field, parse](const Words &words) -> Status {
    if constexpr (kIsOptional<Field>)
      if (words.empty())
        return field.reset(), Status();
    DLC_ASSIGN(std::string word, oneWord(words));
    DLC_ASSIGN(field, parse(word));
    return {};
  };
  o.get = [&field, text]() -> std::optional<Words> {
    if constexpr (!kIsOptional<Field>)
      return Words{text(field)};
    else if (field)
      return Words{text(*field)};
    return std::nullopt;
  };
  return o;
}

template <class Field>
Option &ofNumber(Option &o, Field &field, double low, double high) {
  const auto parse = [low, high](const std::string &word) {
    return parseNumber(word, low, high);
  };
  return ofWord(o, field, parse, numberText);
}

template <class T, class Field>
Option &ofWhole(Option &o, Field &field, T low, T high) {
  const auto parse = [low, high](const std::string &word) {
    return parseWhole<T>(word, low, high);
  };
  return ofWord(o, field, parse, [](T n) { return std::to_string(n); });
}

} // namespace

Option &OptionTable::number(std::string key, double &field, double low,
                            double high, std::string help) {
  return ofNumber(add(std::move(key), std::move(help), "NUMBER"), field, low,
                  high);
}

Option &OptionTable::number(std::string key, std::optional<double> &field,
                            double low, double high, std::string help) {
  return ofNumber(add(std::move(key), std::move(help), "NUMBER"), field, low,
                  high);
}

template <std::integral T>
Option &OptionTable::count(std::string key, T &field,
                           std::type_identity_t<T> low, std::string help,
                           std::type_identity_t<T> high) {
  return ofWhole(add(std::move(key), std::move(help), "N"), field, low, high);
}

template Option &OptionTable::count(std::string, int &, int, std::string, int);
template Option &OptionTable::count(std::string, int64_t &, int64_t,
                                    std::string, int64_t);
template Option &OptionTable::count(std::string, uint64_t &, uint64_t,
                                    std::string, uint64_t);

Option &OptionTable::count(std::string key, std::optional<int64_t> &field,
                           int64_t low, std::string help, int64_t high) {
  return ofWhole(add(std::move(key), std::move(help), "N"), field, low, high);
}

Option &OptionTable::choiceAt(std::string key, Words names, std::string help,
                              std::function<size_t()> at,
                              std::function<void(size_t)> take) {
  Option &o = add(std::move(key), std::move(help),
                  fmt::format("{{{}}}", fmt::join(names, ",")));
  o.set = [take, names](auto &words) -> Status {
    DLC_ASSIGN(std::string word, oneWord(words));
    const auto found = std::ranges::find(names, word);
    if (found == names.end())
      return usageError("'{}' is not one of {}{}", word, fmt::join(names, ", "),
                        suggestion(word, names));
    take(size_t(found - names.begin()));
    return {};
  };
  o.get = [at, names] {
    return Words{at() < names.size() ? names[at()] : std::to_string(at())};
  };
  return o;
}

Option &OptionTable::choice(std::string key, std::string &field, Words names,
                            std::string help) {
  Option &o = choiceAt(
      std::move(key), names, std::move(help), [] { return size_t(0); },
      [&field, names](size_t i) { field = names[i]; });
  o.get = [&field] { return Words{field}; }; // also a name that is not known
  return o;
}

Option &OptionTable::text(std::string key, std::string &field, std::string type,
                          std::string help) {
  const auto parse = [](const std::string &word) -> Result<std::string> {
    return word;
  };
  return ofWord(add(std::move(key), std::move(help), std::move(type)), field,
                parse, [](const std::string &word) { return word; });
}

/// The truth value of a word in YAML: true, yes and on, or their opposites.
static std::optional<bool> truthOf(const std::string &word) {
  bool truth = false;
  return YAML::convert<bool>::decode(YAML::Node(word), truth)
             ? std::optional(truth)
             : std::nullopt;
}

static Result<bool> parseToggle(const std::string &word) {
  if (auto truth = truthOf(word))
    return *truth;
  return usageError("expected true or false, found '{}'", word);
}

static std::string toggled(bool on) { return on ? "true" : "false"; }

Option &OptionTable::toggle(std::string key, bool &field, std::string help) {
  Option &o = add(std::move(key), std::move(help), "");
  o.set = [&field](auto &words) -> Status {
    DLC_ASSIGN(field, parseToggle(fmt::format("{}", fmt::join(words, ","))));
    return {};
  };
  o.get = [&field] { return Words{toggled(field)}; };
  return o;
}

Option &OptionTable::toggle(std::string key, std::optional<bool> &field,
                            std::string help) {
  return ofWord(add(std::move(key), std::move(help), ""), field, parseToggle,
                toggled);
}

Option &OptionTable::either(std::string key, bool &isSecond, std::string first,
                            std::string second, std::string help) {
  Option &o = add(std::move(key), std::move(help),
                  fmt::format("{{{},{}}}", first, second));
  const bool truths = truthOf(first) == false && truthOf(second) == true;
  o.set = [&isSecond, first, second, truths](auto &words) -> Status {
    const std::string word = fmt::format("{}", fmt::join(words, ","));
    const auto truth = truths ? truthOf(word) : std::nullopt;
    if (!truth && word != first && word != second)
      return usageError("expected {} or {}, found '{}'", first, second, word);
    isSecond = truth.value_or(word == second);
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
  return ofWord(add(std::move(key), std::move(help), "SIZE"), field, parseBytes,
                exactBytes);
}

} // namespace dlc
