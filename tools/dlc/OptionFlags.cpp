// SPDX-License-Identifier: Apache-2.0
#include "tools/dlc/OptionFlags.h"

#include "runtime/base/Text.h"
#include "runtime/base/process/Log.h"

namespace dlc::tool {
namespace {

const std::map<std::string, std::string> kGroups = {
    {"model", "Model"},
    {"train", "Training"},
    {"amp", "Mixed precision"},
    {"ema", "Moving averages"},
    {"ddp", "Data parallelism"},
    {"memory", "Memory"},
    {"lora", "Low-rank adapters"},
    {"run", "Run"},
};

bool isUnset(const Option &option) {
  const std::string value = option.yaml();
  return value == "null" || value == "[]" || value == "\"\"";
}

// Help of an option, with the value of another one that enables it, and a line
// for each argument of its values.
std::string helpOf(const Option &option, const OptionTable &table) {
  std::string text = option.help;
  if (!option.values.empty() && option.values[0] != "true")
    text += fmt::format(" ({})", fmt::join(option.values, ", "));
  for (const Option *row : table.argumentsOf(option))
    text += fmt::format("\n{}({}={}): {}", fmt::join(row->argumentKinds, "|"),
                        row->argument, isUnset(*row) ? row->type : row->yaml(),
                        row->help);
  return text;
}

} // namespace

void OptionFlags::addFlag(CLI::App &command, const Option &option) {
  auto given = std::make_unique<Given>(Given{&option, nullptr, {}});
  const std::string help = helpOf(option, table_);
  const std::string names =
      option.alias.empty() ? option.flag : option.alias + "," + option.flag;
  if (option.type.empty()) {
    given->flag = command.add_flag(names)->description(help);
  } else if (option.optionalWord) {
    // A flag for CLI11, so that it never consumes the following word.
    given->flag = command.add_flag(names)
                      ->description(help)
                      ->type_name("[" + option.type + "]")
                      ->multi_option_policy(CLI::MultiOptionPolicy::Throw);
  } else {
    given->flag = command.add_option(names, given->words, help)
                      ->type_name(option.type)
                      ->expected(1)
                      ->allow_extra_args(false);
    if (!isUnset(option))
      given->flag->default_str(option.yaml());
  }
  if (option.repeats)
    given->flag->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  // Values like the first one may have arguments.
  if (const auto rows = table_.argumentsOf(option); !rows.empty())
    given->flag->type_name(given->flag->get_type_name() + kArgumentsType);
  const std::string section = option.key.substr(0, option.key.find('.'));
  if (option.isArgument())
    given->flag->group("");
  else if (option.flag.starts_with("-"))
    given->flag->group(option.group.empty() ? kGroups.at(section)
                                            : option.group);
  given_.push_back(std::move(given));
}

void OptionFlags::addFilesTo(CLI::App &command) {
  command.add_option("--config", files_, "YAML files of settings, in order")
      ->type_name("FILE")
      ->allow_extra_args(false);
}

void OptionFlags::addOverridesTo(CLI::App &command) {
  command.add_option("overrides", overrides_,
                     "settings by key, as in train.lr=0.1");
}

void OptionFlags::addTo(CLI::App &command) {
  for (const Option &option : table_.all())
    addFlag(command, option);
}

/// A flag is not accepted as a value, as in `--loss --amp`.
Status OptionFlags::checkWords(const Given &given, const Words &words) {
  for (const std::string &word : words)
    for (const auto &other : given_)
      if (word.starts_with("--") && word == other->option->flag)
        return usageError("{}: expected {}, found the flag '{}'",
                          given.option->flag, given.option->type, word);
  return {};
}

Status OptionFlags::applyFlag(const Given &given) {
  const Option &option = *given.option;
  Words words = given.words;
  // CLI11 gives a flag without value "true".
  if (option.type.empty())
    words = {given.flag->results().back()};
  else if (option.optionalWord)
    words = given.flag->results();
  DLC_TRY(checkWords(given, words));
  if (option.commas) {
    Words split;
    for (const std::string &word : words)
      for (std::string &part : splitAtCommas(word))
        split.push_back(std::move(part));
    words = std::move(split);
  }
  if (option.isArgument())
    warning("{} is an older spelling of {}; the next version removes it",
            option.flag, table_.spelling(option));
  return table_.set(option, words, option.flag, &set_);
}

Status OptionFlags::applyConfig(const Config &config) {
  return table_.apply(config, own_, &set_);
}

Status OptionFlags::apply() {
  for (const std::string &file : files_) {
    DLC_ASSIGN(Config config, readConfig(file));
    DLC_TRY(applyConfig(config));
  }
  const size_t ofFiles = set_.size();
  for (const std::string &text : overrides_) {
    DLC_ASSIGN(auto entry, parseOverride(text));
    DLC_TRY(applyConfig({entry}));
  }
  for (const auto &given : given_)
    if (given->flag->count() > 0)
      DLC_TRY(applyFlag(*given));
  DLC_TRY(table_.settle(set_));
  return table_.check({set_.begin() + ptrdiff_t(ofFiles), set_.end()});
}

Option &addModel(OptionTable &table, std::string key, std::string &path) {
  return table
      .text(std::move(key), path, "TEXT",
            "a run (its newest checkpoint), a checkpoint, RUN/best or an "
            "artifact")
      .named("model");
}

Option &addThreads(OptionTable &table, std::string key,
                   std::optional<int64_t> &threads, std::string help) {
  return table.count(std::move(key), threads, 1, std::move(help), 4096);
}

Option &addOutput(OptionTable &table, std::string key, std::string &path,
                  std::string help) {
  Option &row = table.text(std::move(key), path, "FILE", std::move(help))
                    .named("--output");
  row.alias = "-o";
  return row;
}

} // namespace dlc::tool
