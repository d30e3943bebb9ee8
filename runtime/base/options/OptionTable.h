// SPDX-License-Identifier: Apache-2.0
// One record per option: its key, flag, type, help, the condition under which
// it applies, and its field. Command lines, YAML files, `dlc config`, the
// frozen settings of artifacts and runs, and the options of passes are derived
// from it.
//
//   struct ClipOptions {
//     double maxNorm = 0;
//     void addTo(OptionTable &table) {
//       table.number("train.clip-grad", maxNorm, 0, kNoLimit, "largest norm");
//     }
//   };
#pragma once

#include "runtime/base/options/Config.h"

#include <concepts>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <optional>
#include <type_traits>

namespace dlc {

using Words = std::vector<std::string>;

/// One option, bound to its field.
struct Option {
  std::string key;   // "train.lr"
  std::string flag;  // "--lr"
  std::string alias; // another name of the flag, "-o"; usually none
  std::string help;
  std::string group;         // heading in --help; empty: its section
  std::string type;          // of the flag's word: "NUMBER"; "" for a switch
  bool optionalWord = false; // "--ema" or "--ema=0.99"
  bool repeats = false;      // the flag may be given several times
  bool commas = false;       // the flag's word is a list
  /// Whether it affects what is compiled or run, and is in the frozen settings.
  bool kept = true;
  bool inFiles = true; // false: only for the command line
  /// The flag only has an effect if the option `onlyWith` has one of `values`;
  /// no values: any value except false, an empty text and, for a count, 0.
  std::string onlyWith;
  /// A value that turns it off, besides false, an empty text and, for a count,
  /// 0.
  std::string off;
  std::vector<std::string> values;
  /// The option whose value it is an argument of, the argument's name, and the
  /// values that have it: --schedule='onecycle(pct_start=0.3)'.
  std::string argumentOf, argument;
  Words argumentKinds;
  /// Sets the field; no words mean YAML's null, and a flag without a value is
  /// the word "true". The error has no context.
  std::function<Status(const Words &)> set;
  /// The words that would set the field to its value; nullopt: null.
  std::function<std::optional<Words>()> get;

  /// Adds a condition to this option; calls can be chained.
  Option &only(std::string key, std::vector<std::string> of);
  Option &in(std::string key, std::string argument, Words kinds);
  Option &named(std::string flag);
  Option &described(std::string type);
  Option &notKept();
  Option &flagOnly(); // also not in frozen settings

  /// The value as YAML.
  std::string yaml() const;
  /// The flag without its dashes, which is the name of pass options.
  std::string name() const { return flag.substr(2); }
  /// Whether its flag is an older spelling of an argument.
  bool isArgument() const { return !argumentOf.empty() && argumentOf != key; }
};

/// Keys of a file that a table takes; those of other commands are skipped.
using KeyFilter = std::function<bool(const std::string &key)>;
KeyFilter onlySection(const std::string &name);
KeyFilter notSection(const std::string &name);

/// Options of one or several structs, which must outlive this and not move.
class OptionTable {
public:
  OptionTable() = default;
  OptionTable(const OptionTable &) = delete;
  OptionTable &operator=(const OptionTable &) = delete;

  const std::deque<Option> &all() const { return options; }
  const Option *find(const std::string &key) const;
  Option *find(const std::string &key);

  /// The keys of options that were given.
  using Given = std::vector<std::string>;
  /// Sets an option and the arguments in its value; errors (Code::Usage) begin
  /// with `where`. `given`: the keys of all options set are added to it.
  Status set(const Option &option, const Words &words, const std::string &where,
             Given *given = nullptr) const;
  /// The options that are arguments of that option's values.
  std::vector<const Option *> argumentsOf(const Option &option) const;
  /// Its form on a command line: "--lr", "--loss='focal(gamma=...)'".
  std::string spelling(const Option &option) const;
  /// Sets options from a file, where `own` selects the keys; an unknown key
  /// among these is an error with its place and a suggestion.
  Status apply(const Config &config, const KeyFilter &own,
               Given *given = nullptr) const;
  /// Whether the option that it depends on has a value with which it has an
  /// effect.
  bool applies(const Option &option) const;

  /// Adds a check of several options.
  void require(std::function<Status(const Given &)> rule);
  /// Whether each field's value is valid, including defaults.
  Status validate() const;
  /// Adds a function that replaces words such as "auto" once all options are
  /// set; it runs before the checks.
  void whenSet(std::function<Status(const Given &)> rule);
  Status settle(const Given &given) const;
  /// Runs all checks, and reports options that were given but have no effect:
  /// an error, or a warning if what they apply to was turned off explicitly.
  Status check(const Given &given) const;

  /// The frozen settings as YAML, by section; with `help`, a comment for each.
  std::string yaml(bool help) const;

  /// Sets the heading of the rows that are added from now on.
  void group(std::string name) { group_ = std::move(name); }
  /// Adds a row whose `set` and `get` the caller defines.
  Option &add(std::string key, std::string help, std::string type);
  Option &number(std::string key, double &field, double low, double high,
                 std::string help);
  Option &number(std::string key, std::optional<double> &field, double low,
                 double high, std::string help);
  /// An integer: int, int64_t, uint64_t. Its type limits it, too.
  template <std::integral T>
  Option &count(std::string key, T &field, std::type_identity_t<T> low,
                std::string help,
                std::type_identity_t<T> high = std::numeric_limits<T>::max());
  Option &count(std::string key, std::optional<int64_t> &field, int64_t low,
                std::string help, int64_t high = INT64_MAX);
  Option &choice(std::string key, std::string &field, Words names,
                 std::string help);
  /// An enum with the values 0, 1, ... and these names.
  template <class Enum>
  requires std::is_enum_v<Enum> Option &choice(std::string key, Enum &field,
                                               Words names, std::string help) {
    return choiceAt(
        std::move(key), std::move(names), std::move(help),
        [&field] { return size_t(field); },
        [&field](size_t i) { field = static_cast<Enum>(i); });
  }
  Option &text(std::string key, std::string &field, std::string type,
               std::string help);
  Option &toggle(std::string key, bool &field, std::string help);
  Option &toggle(std::string key, std::optional<bool> &field, std::string help);
  /// One of two names; the field tells whether it is the second. If the names
  /// are truth values in YAML ("off", "on"), all such words are accepted.
  Option &either(std::string key, bool &isSecond, std::string first,
                 std::string second, std::string help);
  Option &list(std::string key, Words &field, std::string type,
               std::string help);
  /// Regular expressions.
  Option &patterns(std::string key, Words &field, std::string help);
  /// A size: "2GiB", or a plain number of bytes.
  Option &bytes(std::string key, int64_t &field, std::string help);

private:
  Option &choiceAt(std::string key, Words names, std::string help,
                   std::function<size_t()> at,
                   std::function<void(size_t)> take);

  std::string group_;
  std::deque<Option> options; // a deque does not move rows
  std::vector<std::function<Status(const Given &)>> rules, settling;
};

/// Parses numbers of an option; errors have no context.
Result<double> parseNumber(const std::string &word, double low, double high);
Result<int64_t> parseCount(const std::string &word, int64_t low,
                           int64_t high = INT64_MAX);
/// The single word in `words`.
Result<std::string> oneWord(const Words &words);
/// The shortest text that parses to `x`.
std::string numberText(double x);
bool isGiven(const OptionTable::Given &given, std::string_view key);

constexpr double kNoLimit = 1e300;
/// Lower bound that only excludes 0.
constexpr double kAboveZero = 1e-300;

} // namespace dlc
