// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/repair/torch/FoldedOps.h"
#include "compiler/import/repair/torch/Restoring.h"
#include "onnx-ml.pb.h"
#include <algorithm>
#include <cmath>
#include <fmt/ranges.h>

namespace dlc::import {
namespace {

constexpr size_t kComparedAtOnce = 64; // bytes
constexpr double kZeroMean = 1e-5;     // relative to the mean magnitude, in f32

constexpr const char *kFoldedFrom = "pkg.onnxscript.optimizer.folded_from";

class FoldedFrom : GraphRepair {
public:
  using GraphRepair::GraphRepair;

  void run() {
    std::set<std::string> settled; // notes may repeat a value
    for (const auto &value : edit.graph.value_info())
      for (const auto &entry : value.metadata_props())
        if (entry.key() == kFoldedFrom && settled.insert(value.name()).second &&
            isFolded(value.name()))
          settle(value.name(), quotedStrings(entry.value()));
  }

private:
  /// A float initializer that no note calls a parameter or buffer.
  bool isFolded(const std::string &name) const {
    const Weight *weight = edit.weight(name);
    if (!weight || !isFloat(weight->dtype) || edit.isFixed(name) ||
        work.notes.isParameterTarget(name))
      return false;
    return std::ranges::none_of(edit.uses(name), [&](const Use &use) {
      auto value = work.notes.source(*use.node, use.slot, name);
      return value && work.notes.parameter(*value);
    });
  }

  /// Equal elements may be a parameter that the exporter merged with this
  /// value, if a node's note has another name.
  bool mayBeMerged(const std::string &name) const {
    if (!isSplat(*edit.weight(name)))
      return false;
    for (const Use &use : edit.uses(name)) {
      if (work.notes.source(*use.node, use.slot, name) == name)
        continue;
      Origin origin;
      if (auto module = moduleOf(work.notes, *use.node))
        origin.scopes.insert(*module);
      if (!work.candidates(origin).empty())
        return true;
    }
    return false;
  }

  /// A value of the source named after an operator that computes values.
  static bool computes(const std::string &value) {
    return kComputing.count(operatorOf(value)) > 0;
  }

  /// Rows of mean zero, which untrained layers do not have: a weight
  /// standardised by F.batch_norm, whose result is named getitem like a slice.
  bool isStandardised(const std::string &name,
                      const std::vector<std::string> &sources) {
    const Weight &weight = *edit.weight(name);
    const bool hasItem = std::ranges::any_of(sources, [](const auto &source) {
      return source.starts_with("getitem");
    });
    if (!hasItem || weight.shape.size() < 3 || weight.shape[0] < 2 ||
        !weight.elements() || !work.spend(size_t(weight.elements())))
      return false;
    const std::vector<float> values = floatsOf(weight);
    const size_t width = values.size() / size_t(weight.shape[0]);
    for (size_t row = 0; row < values.size(); row += width) {
      double sum = 0, size = 0;
      for (size_t i = row; i < row + width; ++i) {
        sum += values[i];
        size += std::abs(values[i]);
      }
      if (std::abs(sum) > kZeroMean * size)
        return false;
    }
    return width > 2;
  }

  void settle(const std::string &name,
              const std::vector<std::string> &sources) {
    std::set<std::string> parameters;
    for (const std::string &source : sources)
      if (work.notes.isParameterTarget(source))
        parameters.insert(source);
    const auto cuts = [](const std::string &value) {
      return kCutters.count(operatorOf(value)) > 0;
    };
    if (!parameters.empty())
      work.sources[name] = {parameters,
                            std::ranges::any_of(sources, computes) ||
                                isStandardised(name, sources),
                            cuts(name) || std::ranges::any_of(sources, cuts)};
    if (!sources.empty() && parameters.empty() && !mayBeMerged(name)) {
      work.file.roles[name] = Role::Constant;
      if (edit.weight(name)->elements() > 1)
        work.decide(name, "constant",
                    "the file says what it was folded from, "
                    "and no parameter is among that");
    } else if (!repeatRow(name, sources, parameters) && !parameters.empty() &&
               !isMadeUp(work.notes, name))
      work.decide(name, "as it is",
                  fmt::format("made of {} in the source, which no longer train "
                              "through it",
                              fmt::join(parameters, ", ")),
                  true, parameters);
  }

  /// zeros x + b, such as the first step of a recurrent layer: each row is b.
  bool repeatRow(const std::string &name,
                 const std::vector<std::string> &sources,
                 const std::set<std::string> &parameters) {
    const bool zeros = std::ranges::any_of(sources, [](auto &source) {
      return source == "zeros" || source.starts_with("zeros_") ||
             source.starts_with("new_zeros");
    });
    const Weight value = *edit.weight(name);
    for (const std::string &parameter : parameters) {
      const Weight *row = edit.weight(parameter);
      if (!zeros || !row)
        continue;
      if (!work.spend(1 + value.bytes / kComparedAtOnce))
        return false;
      if (!isRowOf(*row, value))
        continue;
      replaceUses(work, name,
                  edit.add("Expand", {parameter, edit.integers(value.shape)},
                           name + "/rows"));
      work.decide(name, "tied", "each row holds the values of " + parameter);
      return true;
    }
    return false;
  }

  static bool isRowOf(const Weight &row, const Weight &value) {
    if (row.shape.size() != 1 || row.dtype != value.dtype ||
        value.shape.size() < 2 || value.shape.back() != row.shape[0] ||
        !row.bytes || !value.bytes)
      return false;
    for (size_t at = 0; at < value.bytes; at += row.bytes)
      if (value.view().substr(at, row.bytes) != row.view())
        return false;
    return true;
  }
};

} // namespace

void settleFolded(Restoring &work) { FoldedFrom(work).run(); }

} // namespace dlc::import
