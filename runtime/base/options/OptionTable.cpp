// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/options/OptionTable.h"
#include "runtime/base/options/Arguments.h"
#include "runtime/base/options/Nearest.h"
#include "runtime/base/process/Log.h"

#include <algorithm>
#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

namespace dlc {

Option &Option::only(std::string key, std::vector<std::string> of) {
  onlyWith = std::move(key);
  values = std::move(of);
  return *this;
}

Option &Option::in(std::string key, std::string name, Words kinds) {
  argumentOf = std::move(key);
  argument = std::move(name);
  argumentKinds = std::move(kinds);
  return *this;
}

Option &Option::named(std::string name) {
  flag = std::move(name);
  return *this;
}

Option &Option::described(std::string text) {
  type = std::move(text);
  return *this;
}

Option &Option::notKept() {
  kept = false;
  return *this;
}

Option &Option::flagOnly() {
  inFiles = false;
  return notKept();
}

KeyFilter onlySection(const std::string &name) {
  return [start = name + "."](auto &key) { return key.starts_with(start); };
}

KeyFilter notSection(const std::string &name) {
  return [start = name + "."](auto &key) { return !key.starts_with(start); };
}

template <class T> static std::string emitted(const T &value) {
  YAML::Emitter out;
  out << YAML::Flow << value;
  return out.c_str();
}

std::string Option::yaml() const {
  const std::optional<Words> words = get();
  if (!words)
    return "null";
  const bool isList = optionalWord ? words->size() > 1 : repeats || commas;
  return isList ? emitted(*words) : emitted(words->empty() ? "" : words->at(0));
}

Option *OptionTable::find(const std::string &key) {
  for (Option &option : options)
    if (option.key == key)
      return &option;
  return nullptr;
}

const Option *OptionTable::find(const std::string &key) const {
  return const_cast<OptionTable *>(this)->find(key);
}

std::vector<const Option *>
OptionTable::argumentsOf(const Option &option) const {
  std::vector<const Option *> rows;
  for (const Option &row : options)
    if (row.argumentOf == option.key)
      rows.push_back(&row);
  return rows;
}

std::string OptionTable::spelling(const Option &option) const {
  if (!option.isArgument())
    return option.flag;
  return fmt::format("{}='{}({}=...)'", find(option.argumentOf)->flag,
                     option.argumentKinds[0], option.argument);
}

/// The row among `rows` for the argument.
static Result<const Option *> rowOf(const Argument &argument,
                                    const std::vector<const Option *> &rows) {
  Words known;
  for (const Option *row : rows) {
    if (!isGiven(row->argumentKinds, argument.kind))
      continue;
    if (row->argument == argument.key)
      return row;
    known.push_back(row->argument);
  }
  return usageError("{} has no argument '{}', only {}{}", argument.kind,
                    argument.key, fmt::join(known, ", "),
                    suggestion(argument.key, known));
}

Status OptionTable::set(const Option &option, const Words &words,
                        const std::string &where, Given *given) const {
  const std::vector<const Option *> rows = argumentsOf(option);
  Words kinds, plain = words;
  for (const Option *row : rows)
    kinds.insert(kinds.end(), row->argumentKinds.begin(),
                 row->argumentKinds.end());
  std::map<const Option *, Words> arguments;
  for (std::string &word : plain) {
    DLC_ASSIGN(const auto taken, takeArguments(word, kinds).withContext(where));
    for (const Argument &argument : taken) {
      DLC_ASSIGN(const Option *row, rowOf(argument, rows).withContext(where));
      auto [at, isNew] = arguments.try_emplace(row, argument.words);
      if (!isNew && at->second != argument.words)
        return usageError("{}: {} is {} and {}: all terms have one", where,
                          argument.key, fmt::join(at->second, ","),
                          fmt::join(argument.words, ","));
    }
    if (!rows.empty() && asNumber<double>(word.substr(0, word.find('('))) &&
        word.ends_with(')'))
      return usageError("{}: '{}': a number has no arguments, which follow a "
                        "name, as in {}",
                        where, word, spelling(*rows.back()));
  }
  DLC_TRY(option.set(plain).withContext(where));
  if (given)
    given->push_back(option.key);
  for (const auto &[row, value] : arguments) {
    DLC_TRY(row->set(value).withContext(where + ": " + row->argument));
    if (given)
      given->push_back(row->key);
  }
  return {};
}

Status OptionTable::apply(const Config &config, const KeyFilter &own,
                          Given *given) const {
  std::vector<std::string> keys;
  for (const Option &option : options)
    if (option.inFiles)
      keys.push_back(option.key);
  for (const auto &[key, value] : config) {
    if (!own(key))
      continue;
    const Option *option = find(key);
    if (!option || !option->inFiles)
      return usageError("{}: unknown key '{}'{}", value.keyAt, key,
                        suggestion(key, keys));
    DLC_TRY(set(*option, value.words, value.where + ": " + key, given));
  }
  return {};
}

/// Whether the value means that the option is not used.
static bool isOff(const Option &option) {
  const auto words = option.get();
  return !words || words->empty() || *words == Words{"false"} ||
         *words == Words{option.off} ||
         (option.type == "N" && *words == Words{"0"});
}

bool OptionTable::applies(const Option &option) const {
  const Option *on = find(option.onlyWith);
  if (!on)
    return true;
  if (option.values.empty())
    return !isOff(*on) && applies(*on);
  const auto words = on->get();
  return words && words->size() == 1 && isGiven(option.values, words->at(0)) &&
         applies(*on);
}

void OptionTable::require(std::function<Status(const Given &)> rule) {
  rules.push_back(std::move(rule));
}

void OptionTable::whenSet(std::function<Status(const Given &)> rule) {
  settling.push_back(std::move(rule));
}

Status OptionTable::settle(const Given &given) const {
  for (const auto &rule : settling)
    DLC_TRY(rule(given));
  return {};
}

Status OptionTable::validate() const {
  for (const Option &option : options)
    DLC_TRY(set(option, option.get().value_or(Words()), option.flag));
  return {};
}

Status OptionTable::check(const Given &given) const {
  for (const std::string &key : given) {
    const Option &option = *find(key);
    if (applies(option))
      continue;
    const Option &on = *find(option.onlyWith);
    const Option *off = &on; // named option, or what reads it
    while (off && !(isGiven(given, off->key) && isOff(*off)))
      off = find(off->onlyWith);
    if (off) {
      warning("{} has no effect with {}={}", option.flag, off->flag,
              off->yaml());
      continue;
    }
    return on.type.empty() || option.values.empty()
               ? usageError("{} needs {}", option.flag, on.flag)
               : usageError("{} needs {}={}", option.flag, on.flag,
                            fmt::join(option.values, " or "));
  }
  for (const auto &rule : rules)
    DLC_TRY(rule(given));
  return {};
}

std::string OptionTable::yaml(bool help) const {
  std::vector<std::pair<std::string, std::string>> sections;
  for (const Option &option : options) {
    if (!option.kept)
      continue;
    const size_t dot = option.key.find('.');
    const std::string name = option.key.substr(0, dot);
    auto section = std::ranges::find_if(
        sections, [&](const auto &s) { return s.first == name; });
    if (section == sections.end())
      section = sections.insert(section, {name, name + ":\n"});
    const std::string line =
        fmt::format("  {}: {}", option.key.substr(dot + 1), option.yaml());
    section->second += help ? fmt::format("{:<34} # {}: {}\n", line,
                                          spelling(option), option.help)
                            : line + "\n";
  }
  std::string text;
  for (const auto &section : sections)
    text += section.second;
  return text;
}

bool isGiven(const OptionTable::Given &given, std::string_view key) {
  return std::ranges::count(given, key) > 0;
}

} // namespace dlc
