// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/repair/merged/ScoreBias.h"
#include "onnx-ml.pb.h"
#include <cstring>
#include <set>

namespace dlc::import {

std::optional<ScoreTable> scoreTableOf(const Weight &bias) {
  const auto &shape = bias.shape;
  if (shape.size() < 3)
    return std::nullopt;
  const size_t size = sizeOf(bias.dtype);
  const size_t places = size_t(shape.end()[-1] * shape.end()[-2]);
  const size_t width = size_t(shape.end()[-3]);
  if (size_t(bias.elements()) != places * width)
    return std::nullopt;
  std::unordered_map<std::string, int64_t> known;
  ScoreTable table;
  std::string row(width * size, '\0');
  for (size_t place = 0; place < places; ++place) {
    for (size_t h = 0; h < width; ++h)
      std::memcpy(row.data() + h * size, bias.at(h * places + place), size);
    auto [it, added] = known.emplace(row, int64_t(known.size()));
    if (added)
      table.bytes += row;
    table.index.push_back(it->second);
  }
  table.rows = int64_t(known.size());
  return known.size() == places ? std::nullopt
                                : std::optional(std::move(table));
}

bool ScoreReaders::haveAll(const std::string &value, int depth) {
  if (depth > 8)
    return false;
  if (auto found = known.find(value); found != known.end())
    return found->second;
  const auto uses = edit.uses(value);
  const bool all =
      !uses.empty() && std::ranges::all_of(uses, [&](const Use &use) {
        return isOne(use, depth);
      });
  return known[value] = all;
}

bool ScoreReaders::isOne(const Use &use, int depth) {
  static const std::set<std::string> passes = {
      "Add",      "Cast",   "Reshape", "Slice", "Squeeze", "Unsqueeze",
      "Identity", "Expand", "Where",   "Div",   "Clip",    "Max"};
  const std::string &op = use.node->op_type();
  if (op == "Softmax" || op == "LogSoftmax")
    return depth > 0;
  if (op == "Attention")
    return use.slot == 3;
  return passes.count(op) && use.node->output_size() == 1 &&
         haveAll(use.node->output(0), depth + 1);
}

} // namespace dlc::import
