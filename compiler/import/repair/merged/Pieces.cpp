// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/repair/torch/Restoring.h"
#include <algorithm>
#include <cmath>
#include <cstring>

namespace dlc::import {
namespace {

/// Properties of an element's mantissa that make it distinctive.
struct Digits {
  uint64_t low;   // bits that are 0 in a number of few digits
  double numbers; // count of about equally likely ones
};

Digits digitsOf(DType dtype) {
  switch (dtype) {
  case DType::F64:
    return {(uint64_t(1) << 40) - 1, 0x1p50};
  case DType::F32:
    return {(uint64_t(1) << 12) - 1, 0x1p22};
  case DType::F16:
    return {(uint64_t(1) << 5) - 1, 0x1p10};
  default:
    return {(uint64_t(1) << 2) - 1, 0x1p7};
  }
}

/// Hash of a run of adjacent elements in a piece.
struct Run {
  uint64_t hash;
  uint32_t piece;
  bool operator<(const Run &other) const {
    return std::pair(hash, piece) < std::pair(other.hash, other.piece);
  }
  bool operator==(const Run &other) const = default;
};

uint64_t mixed(uint64_t bits) {
  bits = (bits ^ bits >> 32) * 0xd6e8feb86659fd93;
  bits = (bits ^ bits >> 29) * 0xd6e8feb86659fd93;
  return bits ^ bits >> 32;
}

/// Adds the runs of `length` elements that all have many digits, sampled by
/// hash to one in `share`.
void addRuns(const Weight &weight, uint32_t piece, size_t length,
             uint64_t share, std::vector<Run> &runs) {
  const size_t size = sizeOf(weight.dtype);
  const uint64_t low = digitsOf(weight.dtype).low;
  std::vector<uint64_t> last(length);
  size_t telling = 0; // adjacent elements of many digits so far
  for (size_t i = 0; i < weight.bytes / size; ++i) {
    uint64_t bits = 0;
    std::memcpy(&bits, weight.at(i), size);
    last[i % length] = bits;
    telling = (bits & low) ? telling + 1 : 0;
    if (telling < length)
      continue;
    uint64_t hash = 0;
    for (size_t back = length; back-- > 0;)
      hash = mixed(hash ^ last[(i - back) % length]);
    if (hash % share == 0)
      runs.push_back({hash, piece});
  }
}

class PieceFinder {
public:
  explicit PieceFinder(Restoring &work) : work(work) {}

  Pieces run() {
    std::map<std::string, std::vector<std::string>> groups;
    for (const auto &[name, sources] : work.sources)
      if (sources.parameters.size() == 1 && !sources.computes && isRead(name) &&
          isFloat(work.edit.weight(name)->dtype))
        groups[*sources.parameters.begin()].push_back(name);
    for (const auto &[parameter, names] : groups) {
      if (isRead(parameter))
        for (const std::string &name : names)
          pieces.overlapping[name] = parameter;
      else if (names.size() > 1)
        compare(names);
    }
    return std::move(pieces);
  }

private:
  bool isRead(const std::string &name) const {
    return work.edit.weight(name) && !work.edit.uses(name).empty();
  }

  void compare(const std::vector<std::string> &names) {
    pieces.several.insert(names.begin(), names.end());
    size_t bytes = 0;
    for (const std::string &name : names)
      bytes += work.edit.weight(name)->bytes;
    if (!work.spend(1 + bytes / kComparedAtOnce))
      return;
    compare(names, 1, 1 + bytes / kCompared);
    compare(names, 4, 1 + bytes / kCompared);
  }

  /// `length` is 1 for columns, which share single elements, and more for rows,
  /// which share runs.
  void compare(const std::vector<std::string> &names, size_t length,
               uint64_t share) {
    std::vector<Run> runs;
    for (size_t i = 0; i < names.size(); ++i)
      addRuns(*work.edit.weight(names[i]), uint32_t(i), length, share, runs);
    std::sort(runs.begin(), runs.end());
    std::map<std::pair<uint32_t, uint32_t>, double> common;
    for (size_t first = 0, end = 0; first < runs.size(); first = end) {
      std::vector<uint32_t> once; // pieces with exactly one such run
      while (end < runs.size() && runs[end].hash == runs[first].hash) {
        const size_t begin = end;
        while (end < runs.size() && runs[end] == runs[begin])
          ++end;
        if (end == begin + 1)
          once.push_back(runs[begin].piece);
      }
      for (size_t i = 1; i < once.size(); ++i)
        ++common[{once[i - 1], once[i]}];
    }
    for (const auto &[pair, count] : common)
      judge(names[pair.first], names[pair.second], length,
            double(share) * count);
  }

  void judge(const std::string &one, const std::string &other, size_t length,
             double common) {
    const Weight &a = *work.edit.weight(one), &b = *work.edit.weight(other);
    const double chance = double(a.elements()) * double(b.elements()) /
                          std::pow(digitsOf(a.dtype).numbers, double(length));
    const double most = // explained by chance
        chance < kNoChance ? 0 : 1 + 8 * chance + 8 * std::sqrt(chance);
    if (a.dtype != b.dtype || common <= most)
      return;
    pieces.overlapping[one] = other;
    pieces.overlapping[other] = one;
  }

  static constexpr double kNoChance = 1e-4;
  static constexpr size_t kComparedAtOnce = 256;       // bytes per step
  static constexpr size_t kCompared = size_t(1) << 23; // bytes; above: samples
  Restoring &work;
  Pieces pieces;
};

} // namespace

Pieces findPieces(Restoring &work) { return PieceFinder(work).run(); }

} // namespace dlc::import
