#include "tools/dlc-compile/SettingFlags.h"

#include <sstream>

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
};

std::vector<std::string> splitAtCommas(const std::string &text) {
  std::vector<std::string> words;
  std::istringstream stream(text);
  for (std::string word; std::getline(stream, word, ',');)
    words.push_back(word);
  return words;
}

// Says for which values of another setting this one is read.
std::string helpOf(const Setting &setting) {
  if (setting.values.empty() || setting.values[0] == "true")
    return setting.help;
  return fmt::format("{} ({})", setting.help, fmt::join(setting.values, ", "));
}

} // namespace

void SettingFlags::addFlag(CLI::App &command, const Setting &setting) {
  auto given = std::make_unique<Given>(Given{&setting, nullptr, {}});
  const std::string help = helpOf(setting);
  if (setting.type.empty()) {
    given->option = command.add_flag(setting.flag)->description(help);
  } else {
    given->option =
        command.add_option(setting.flag, given->words, help)
            ->type_name(setting.optionalWord ? "[" + setting.type + "]"
                                             : setting.type)
            ->expected(setting.optionalWord ? 0 : 1, 1)
            ->allow_extra_args(false);
    if (setting.repeats)
      given->option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    const std::string value = setting.get();
    if (!setting.optionalWord && value != "null" && value != "[]")
      given->option->default_str(value);
  }
  const std::string section = setting.key.substr(0, setting.key.find('.'));
  given->option->group(kGroups.at(section));
  given_.push_back(std::move(given));
}

void SettingFlags::addFilesTo(CLI::App &command) {
  command.add_option("--config", files_, "YAML files of settings, in order")
      ->type_name("FILE")
      ->allow_extra_args(false);
  command.add_option("overrides", overrides_,
                     "settings by key, as in train.lr=0.1");
}

void SettingFlags::addTo(CLI::App &command) {
  addFilesTo(command);
  for (const Setting &setting : settings_.all())
    addFlag(command, setting);
}

Status SettingFlags::applyFlag(const Given &given) {
  const Setting &setting = *given.setting;
  std::vector<std::string> words = given.words;
  // A bare flag; CLI11 stands an empty word for none.
  if (setting.type.empty() ||
      (setting.optionalWord &&
       (words.empty() || words == std::vector<std::string>{""})))
    words = {"true"};
  if (setting.commas) {
    std::vector<std::string> split;
    for (const std::string &word : words)
      for (std::string &part : splitAtCommas(word))
        split.push_back(std::move(part));
    words = std::move(split);
  }
  return settings_.set(setting, words, setting.flag);
}

Status SettingFlags::apply() {
  for (const std::string &file : files_) {
    DLC_ASSIGN(Config config, readConfig(file));
    DLC_TRY(settings_.apply(config));
  }
  std::vector<std::string> keys;
  for (const std::string &text : overrides_) {
    DLC_ASSIGN(auto entry, parseOverride(text));
    DLC_TRY(settings_.apply({entry}));
    if (settings_.find(entry.first))
      keys.push_back(entry.first);
  }
  for (const auto &given : given_)
    if (given->option->count() > 0) {
      DLC_TRY(applyFlag(*given));
      keys.push_back(given->setting->key);
    }
  return settings_.check(keys);
}

} // namespace dlc::tool
