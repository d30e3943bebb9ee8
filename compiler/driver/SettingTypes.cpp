// How fields of each type are read and written.
#include "compiler/driver/Settings.h"
#include "runtime/base/Nearest.h"
#include "runtime/base/Pattern.h"
#include <charconv>
#include <cmath>
#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

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
  if (high < kNoLimit)
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

std::string yamlText(const std::string &text) {
  YAML::Emitter out;
  out << text;
  return out.c_str();
}

std::string yamlText(const std::vector<std::string> &texts) {
  YAML::Emitter out;
  out << YAML::Flow << texts;
  return out.c_str();
}

static Result<std::string> oneWord(const std::vector<std::string> &words) {
  if (words.size() == 1)
    return words[0];
  return usageError("expected one value, found {}", words.size());
}

Setting &Setting::only(std::string key, std::vector<std::string> of) {
  onlyWith = std::move(key);
  values = std::move(of);
  return *this;
}

Setting &Setting::named(std::string name) {
  flag = std::move(name);
  return *this;
}

Setting &Settings::add(std::string key, std::string help, std::string type) {
  Setting &s = settings.emplace_back();
  s.flag = "--" + key.substr(key.find('.') + 1);
  s.key = std::move(key);
  s.help = std::move(help);
  s.type = std::move(type);
  return s;
}

Setting &Settings::number(std::string key, double &field, double low,
                          double high, std::string help) {
  Setting &s = add(std::move(key), std::move(help), "NUMBER");
  s.set = [&field, low, high](auto &words) -> Status {
    DLC_ASSIGN(std::string word, oneWord(words));
    DLC_ASSIGN(field, parseNumber(word, low, high));
    return {};
  };
  s.get = [&field] { return numberText(field); };
  return s;
}

Setting &Settings::number(std::string key, std::optional<double> &field,
                          double low, double high, std::string help) {
  Setting &s = add(std::move(key), std::move(help), "NUMBER");
  s.set = [&field, low, high](auto &words) -> Status {
    if (words.empty()) {
      field.reset();
      return {};
    }
    DLC_ASSIGN(std::string word, oneWord(words));
    DLC_ASSIGN(field, parseNumber(word, low, high));
    return {};
  };
  s.get = [&field] { return field ? numberText(*field) : "null"; };
  return s;
}

Setting &Settings::count(std::string key, int64_t &field, int64_t low,
                         std::string help, int64_t high) {
  Setting &s = add(std::move(key), std::move(help), "N");
  s.set = [&field, low, high](auto &words) -> Status {
    DLC_ASSIGN(std::string word, oneWord(words));
    DLC_ASSIGN(field, parseCount(word, low, high));
    return {};
  };
  s.get = [&field] { return std::to_string(field); };
  return s;
}

Setting &Settings::choice(std::string key, std::string &field,
                          std::vector<std::string> names, std::string help) {
  Setting &s = add(std::move(key), std::move(help),
                   fmt::format("{{{}}}", fmt::join(names, ",")));
  s.set = [&field, names](auto &words) -> Status {
    DLC_ASSIGN(std::string word, oneWord(words));
    if (std::find(names.begin(), names.end(), word) == names.end())
      return usageError("'{}' is not one of {}{}", word, fmt::join(names, ", "),
                        suggestion(word, names));
    field = word;
    return {};
  };
  s.get = [&field] { return yamlText(field); };
  return s;
}

Setting &Settings::text(std::string key, std::string &field, std::string type,
                        std::string help) {
  Setting &s = add(std::move(key), std::move(help), std::move(type));
  s.set = [&field](auto &words) -> Status {
    DLC_ASSIGN(field, oneWord(words));
    return {};
  };
  s.get = [&field] { return yamlText(field); };
  return s;
}

static Result<bool> parseToggle(const std::vector<std::string> &words) {
  if (words == std::vector<std::string>{"true"})
    return true;
  if (words == std::vector<std::string>{"false"})
    return false;
  return usageError("expected true or false, found '{}'",
                    fmt::join(words, ","));
}

Setting &Settings::toggle(std::string key, bool &field, std::string help) {
  Setting &s = add(std::move(key), std::move(help), "");
  s.set = [&field](auto &words) -> Status {
    DLC_ASSIGN(field, parseToggle(words));
    return {};
  };
  s.get = [&field] { return std::string(field ? "true" : "false"); };
  return s;
}

Setting &Settings::toggle(std::string key, std::optional<bool> &field,
                          std::string help) {
  Setting &s = add(std::move(key), std::move(help), "");
  s.set = [&field](auto &words) -> Status {
    if (words.empty()) {
      field.reset();
      return {};
    }
    DLC_ASSIGN(field, parseToggle(words));
    return {};
  };
  s.get = [&field] {
    return std::string(!field ? "null" : *field ? "true" : "false");
  };
  return s;
}

Setting &Settings::either(std::string key, bool &isSecond, std::string first,
                          std::string second, std::string help) {
  Setting &s = add(std::move(key), std::move(help),
                   fmt::format("{{{},{}}}", first, second));
  s.set = [&isSecond, first, second](auto &words) -> Status {
    if (words.size() != 1 || (words[0] != first && words[0] != second))
      return usageError("expected {} or {}, found '{}'", first, second,
                        fmt::join(words, ","));
    isSecond = words[0] == second;
    return {};
  };
  s.get = [&isSecond, first, second] { return isSecond ? second : first; };
  return s;
}

Setting &Settings::list(std::string key, std::vector<std::string> &field,
                        std::string type, std::string help) {
  Setting &s = add(std::move(key), std::move(help), std::move(type));
  s.repeats = true;
  s.set = [&field](auto &words) -> Status {
    field = words;
    return {};
  };
  s.get = [&field] { return yamlText(field); };
  return s;
}

Setting &Settings::patterns(std::string key, std::vector<std::string> &field,
                            std::string help) {
  Setting &s = list(std::move(key), field, "REGEX", std::move(help));
  s.set = [&field](auto &words) -> Status {
    DLC_TRY(parsePatterns(words).status());
    field = words;
    return {};
  };
  return s;
}

} // namespace dlc
