// SPDX-License-Identifier: Apache-2.0
// Prints the classes of samples as text, CSV or JSON.
#pragma once

#include "runtime/data/Source.h"
#include "runtime/train/metrics/Ranking.h"

namespace dlc::tool {

enum class RankFormat { Text, Csv, Json };

// Samples are identified by file, or by number if they have none; classes by
// name, or by number.
class RankTable {
public:
  // `classes`: the known names. All arguments must outlive it.
  RankTable(RankFormat format, const Source &source, int64_t samples,
            const std::vector<std::string> &classes);

  void printHead() const;
  // Prints a line for each rank, from 1; for JSON an object for the sample:
  // {"file": NAME or "sample": NUMBER, "classes": [{"class", "number",
  // "probability"}]}.
  void print(int64_t sample, const std::vector<RankedClass> &ranks) const;

private:
  std::string nameOf(int64_t sample) const;
  std::string classOf(int64_t number) const;
  const char *column() const { return isNamed_ ? "file" : "sample"; }

  RankFormat format_;
  const Source &source_;
  const std::vector<std::string> &classes_;
  bool isNamed_;
  size_t nameWidth_, classWidth_;
};

} // namespace dlc::tool
