// SPDX-License-Identifier: Apache-2.0
// The classes of samples on stdout: as text, CSV or JSON.
#pragma once

#include "runtime/data/Source.h"
#include "runtime/train/metrics/Ranking.h"

namespace dlc::tool {

enum class RankFormat { Text, Csv, Json };

// A sample is called by its file, or by its number where it has no name; a
// class by its name, or its number.
class RankTable {
public:
  // `classes`: their names, as far as they are known. All must outlive it.
  RankTable(RankFormat format, const Source &source, int64_t samples,
            const std::vector<std::string> &classes);

  void printHead() const;
  // A line for each rank, from 1; of JSON an object for the sample: {"file":
  // NAME or "sample": NUMBER, "classes": [{"class", "number", "probability"}]}.
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
