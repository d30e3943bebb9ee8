// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/TuneChoices.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace dlc {

static Json fastestFirst(const std::vector<TuneEntry> &measured) {
  std::vector<size_t> order(measured.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return measured[a].milliseconds < measured[b].milliseconds;
  });
  Json list = Json::array();
  for (const size_t i : order)
    if (std::isfinite(measured[i].milliseconds))
      list.push_back({{"number", i},
                      {"engine", measured[i].engine},
                      {"knobs", measured[i].knobs},
                      {"milliseconds", measured[i].milliseconds}});
  return list;
}

void TuneChoices::add(const TuneKey &key, Choice choice,
                      std::string_view command) {
  const auto [at, isNew] = made_.try_emplace(key.id());
  Made &made = at->second;
  if (isNew)
    made.number = made_.size() - 1;
  made.key = key;
  made.choice = std::move(choice);
  addCommand(key, command);
}

void TuneChoices::addCommand(const TuneKey &key, std::string_view command) {
  auto &commands = made_.at(key.id()).commands;
  if (std::find(commands.begin(), commands.end(), command) == commands.end())
    commands.emplace_back(command);
}

void TuneChoices::addMeasured(const TuneKey &key,
                              std::vector<TuneEntry> candidates) {
  made_.at(key.id()).measured = std::move(candidates);
}

Json TuneChoices::describe() const {
  std::vector<const Made *> all;
  for (const auto &[id, made] : made_)
    all.push_back(&made);
  std::sort(all.begin(), all.end(),
            [](auto *a, auto *b) { return a->number < b->number; });
  Json list = Json::array();
  for (const Made *made : all) {
    Json row = {{"commands", made->commands},
                {"op", made->key.fields().value("op", Json())},
                {"engine", nullptr}};
    if (const Choice &choice = made->choice) {
      row["engine"] = choice->engine;
      row["knobs"] = choice->knobs;
      row["milliseconds"] = choice->milliseconds;
      row["workspace"] = choice->workspace;
      row["date"] = choice->date;
    }
    if (!made->measured.empty())
      row["measured"] = fastestFirst(made->measured);
    list.push_back(std::move(row));
  }
  return list;
}

const TuneChoices::Choice *TuneChoices::find(const TuneKey &key) const {
  const auto found = made_.find(key.id());
  return found == made_.end() ? nullptr : &found->second.choice;
}

std::string TuneChoices::toText() const {
  Json all = Json::array();
  for (const auto &[id, made] : made_)
    all.push_back({{"key", made.key.fields()},
                   {"commands", made.commands},
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
    const auto commands = item.find("commands");
    if (commands == item.end() || !commands->is_array())
      return corrupt("a choice of another rank has no commands");
    for (const Json &command : *commands) {
      if (!command.is_string())
        return corrupt("a choice of another rank has a command {}",
                       dumpJson(command));
      add(key, choice, command.get<std::string>());
    }
  }
  adopted_ = true;
  return {};
}

} // namespace dlc
