// SPDX-License-Identifier: Apache-2.0
#include "tools/dlc/predict/RankTable.h"
#include "tools/dlc/Print.h"

#include <algorithm>

namespace dlc::tool {
namespace {

constexpr size_t kWidest = 60; // longer names shift the line's columns

} // namespace

RankTable::RankTable(RankFormat format, const Source &source, int64_t samples,
                     const std::vector<std::string> &classes)
    : format_(format), source_(source), classes_(classes),
      isNamed_(!source.nameOf(0).empty()), nameWidth_(6), classWidth_(5) {
  if (format != RankFormat::Text)
    return;
  for (int64_t i = 0; isNamed_ && i < samples; ++i)
    nameWidth_ = std::max(nameWidth_, nameOf(i).size());
  for (const std::string &name : classes)
    classWidth_ = std::max(classWidth_, name.size());
  nameWidth_ = std::min(nameWidth_, kWidest);
  classWidth_ = std::min(classWidth_, kWidest);
}

std::string RankTable::nameOf(int64_t sample) const {
  return isNamed_ ? source_.nameOf(sample) : std::to_string(sample);
}

std::string RankTable::classOf(int64_t number) const {
  return size_t(number) < classes_.size() ? classes_[size_t(number)]
                                          : std::to_string(number);
}

void RankTable::printHead() const {
  if (format_ == RankFormat::Csv)
    printOut("{},rank,class,probability\n", column());
  else if (format_ == RankFormat::Text)
    printOut("{:<{}}  rank  {:<{}}  probability\n", column(), nameWidth_,
             "class", classWidth_);
}

void RankTable::print(int64_t sample,
                      const std::vector<RankedClass> &ranks) const {
  nlohmann::ordered_json object;
  if (isNamed_)
    object[column()] = nameOf(sample);
  else
    object[column()] = sample;
  for (size_t i = 0; i < ranks.size(); ++i) {
    const auto &[number, probability] = ranks[i];
    if (format_ == RankFormat::Json)
      object["classes"].push_back({{"class", classOf(number)},
                                   {"number", number},
                                   {"probability", probability}});
    else if (format_ == RankFormat::Csv)
      printOut("{},{},{},{}\n", csvField(nameOf(sample)), i + 1,
               csvField(classOf(number)), probability);
    else
      printOut("{:<{}}  {:>4}  {:<{}}  {:>11.4f}\n", nameOf(sample), nameWidth_,
               i + 1, classOf(number), classWidth_, probability);
  }
  if (format_ == RankFormat::Json)
    printJson(object);
}

} // namespace dlc::tool
