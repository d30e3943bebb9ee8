#include "runtime/device/TuneChoices.h"

namespace dlc {

void TuneChoices::add(const TuneKey &key, Choice choice) {
  made_[key.id()] = {key, std::move(choice)};
}

const TuneChoices::Choice *TuneChoices::find(const TuneKey &key) const {
  const auto found = made_.find(key.id());
  return found == made_.end() ? nullptr : &found->second.choice;
}

std::string TuneChoices::toText() const {
  Json all = Json::array();
  for (const auto &[id, made] : made_)
    all.push_back({{"key", made.key.fields()},
                   {"entry", made.choice ? tuneText(made.key, *made.choice)
                                         : std::string()}});
  return dumpJson(all);
}

Status TuneChoices::adopt(std::string_view text) {
  DLC_ASSIGN(const Json all, parseJson(text));
  if (!all.is_array())
    return corrupt("the choices of another rank are no list");
  for (const Json &item : all) {
    DLC_ASSIGN(const std::string entry, jsonString(item, "entry"));
    if (!item.contains("key") || !item["key"].is_object())
      return corrupt("a choice of another rank has no key");
    TuneKey key;
    for (const auto &[name, value] : item["key"].items())
      key.add(name, value);
    Choice choice;
    if (!entry.empty()) {
      Json ignored;
      DLC_ASSIGN(choice, parseTuneText(entry, ignored));
    }
    add(key, std::move(choice));
  }
  adopted_ = true;
  return {};
}

} // namespace dlc
