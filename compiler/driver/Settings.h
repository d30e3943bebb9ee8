// Every option of `dlc compile` once: its key in a configuration file, its
// flag, its check and its help. The command line, the YAML files and `dlc
// config` are views of this table.
#pragma once

#include "compiler/driver/Options.h"
#include "runtime/base/Config.h"

#include <functional>

namespace dlc {

/// One option, bound to its field.
struct Setting {
  std::string key;  // "train.lr"
  std::string flag; // "--lr"
  std::string help;
  std::string type;          // of the flag's word: "NUMBER"; "" for a switch
  bool optionalWord = false; // "--ema" or "--ema=0.99"
  bool repeats = false;      // the flag may be given several times
  bool commas = false;       // the flag's word is a list
  /// The flag means nothing unless `onlyWith` has one of `values`; no values:
  /// any but false, no text and, for a count, 0.
  std::string onlyWith;
  std::vector<std::string> values;
  /// Sets the field from words; none are YAML's null, and a bare flag is the
  /// word "true". The error has no context.
  std::function<Status(const std::vector<std::string> &)> set;
  /// The field as YAML.
  std::function<std::string()> get;

  /// The last setting's condition; chains in the table.
  Setting &only(std::string key, std::vector<std::string> of);
  Setting &named(std::string flag);
};

/// The settings of some CompileOptions, which must outlive this and stay where
/// they are.
class Settings {
public:
  explicit Settings(CompileOptions &options);
  Settings(const Settings &) = delete;

  const std::vector<Setting> &all() const { return settings; }
  const Setting *find(const std::string &key) const;

  /// Sets one; errors (Code::Usage) begin with `where`.
  Status set(const Setting &setting, const std::vector<std::string> &words,
             const std::string &where);
  /// All values of a file. Keys of the section `run` are `dlc train`'s and left
  /// alone; an unknown key is an error with its place and a suggestion.
  Status apply(const Config &config);
  /// Whether what it depends on has a value under which anything reads it.
  bool applies(const Setting &setting) const;
  /// Contradictions between settings; `given` are those set on the command
  /// line.
  Status check(const std::vector<std::string> &given) const;

  /// All as YAML, sections in the table's order; with `help`, a comment each.
  std::string yaml(bool help) const;

private:
  Setting &add(std::string key, std::string help, std::string type);
  Setting &number(std::string key, double &field, double low, double high,
                  std::string help);
  Setting &number(std::string key, std::optional<double> &field, double low,
                  double high, std::string help);
  Setting &count(std::string key, int64_t &field, int64_t low, std::string help,
                 int64_t high = INT64_MAX);
  Setting &choice(std::string key, std::string &field,
                  std::vector<std::string> names, std::string help);
  Setting &text(std::string key, std::string &field, std::string type,
                std::string help);
  Setting &toggle(std::string key, bool &field, std::string help);
  Setting &toggle(std::string key, std::optional<bool> &field,
                  std::string help);
  /// One of two names; the field says whether it is the second.
  Setting &either(std::string key, bool &isSecond, std::string first,
                  std::string second, std::string help);
  Setting &list(std::string key, std::vector<std::string> &field,
                std::string type, std::string help);
  /// Regular expressions.
  Setting &patterns(std::string key, std::vector<std::string> &field,
                    std::string help);
  void addModel();
  void addFineTune();
  void addAdapters();
  void addLoss();
  void addOptimizer();
  void addSchedule();
  void addPrecision();
  void addAmpLevel(AmpOptions &options);
  void addAverages();
  void addRanks();
  void addMemory();
  /// What the kind of the averages leaves unread.
  Status checkAverages(const std::vector<std::string> &given) const;

  /// What a scaler for each loss needs.
  Status checkScaler() const;

  CompileOptions &options;
  std::vector<Setting> settings;
};

/// Numbers of a setting; errors have no context.
Result<double> parseNumber(const std::string &word, double low, double high);
Result<int64_t> parseCount(const std::string &word, int64_t low,
                           int64_t high = INT64_MAX);
/// The shortest text that reads back as `x`.
std::string numberText(double x);
/// A YAML scalar or list of any texts, quoted where YAML needs it.
std::string yamlText(const std::string &text);
std::string yamlText(const std::vector<std::string> &texts);

constexpr double kNoLimit = 1e300;
/// The least number above 0.
constexpr double kAboveZero = 1e-300;

} // namespace dlc
