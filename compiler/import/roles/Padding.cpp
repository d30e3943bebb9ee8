// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/roles/Padding.h"
#include "compiler/import/file/NodeView.h"
#include "compiler/import/file/TorchNotes.h"
#include "compiler/import/tensor/WeightStore.h"
#include "onnx-ml.pb.h"
#include "runtime/base/numbers/ParseNumber.h"
#include "runtime/base/options/Pattern.h"
#include <algorithm>
#include <fmt/format.h>
#include <set>
#include <unordered_map>

namespace dlc::import {
namespace {

struct Option {
  std::string param;
  int64_t row;
};

std::optional<int64_t> rowOf(std::string_view text) {
  const auto row = asNumber<int64_t>(text);
  return row && *row >= 0 ? row : std::nullopt;
}

/// Splits at the last colon, since names may have colons ("onnx::Gather_5").
Result<Option> parse(const std::string &text) {
  size_t colon = text.rfind(':');
  auto row = colon == std::string::npos || colon == 0
                 ? std::nullopt
                 : rowOf(std::string_view(text).substr(colon + 1));
  if (!row)
    return usageError("expected PARAM:ROW with a ROW of 0 or more, found '{}'",
                      text);
  return Option{text.substr(0, colon), *row};
}

/// The only row of a table that is all zeros; nullopt if there is none or
/// several.
std::optional<int64_t> rowOfZeros(const Weight &table) {
  const size_t bytes = table.bytes / size_t(table.shape[0]);
  std::optional<int64_t> found;
  for (int64_t row = 0; row < table.shape[0]; ++row) {
    if (!isZero(table.view().substr(size_t(row) * bytes, bytes)))
      continue;
    if (found)
      return std::nullopt;
    found = row;
  }
  return found;
}

/// A Gather along axis 0 of an initializer, with its notes.
struct Lookup {
  std::string output, table;
  const Weight *weight;
  bool noted;
  std::optional<int64_t> row;
};

class PaddingFinder {
public:
  PaddingFinder(OnnxFile &file, const std::map<std::string, Role> &roles)
      : file(file), roles(roles), notes(file.model->graph()) {
    std::unordered_map<std::string, std::string> sources;
    for (const auto *node : file.nodes) {
      if (!node->input_size() || !node->output_size())
        continue;
      auto known = sources.find(node->input(0));
      const std::string source =
          known == sources.end() ? node->input(0) : known->second;
      if (node->op_type() == "Identity" || node->op_type() == "Cast")
        sources[node->output(0)] = source;
      else if (const Weight *weight = file.weights.find(source))
        addLookup(*node, source, *weight);
    }
  }

  Status run(const std::vector<std::string> &texts) {
    for (const Lookup &lookup : lookups)
      if (lookup.row)
        set(lookup, *lookup.row, "as torch's padding_idx");
    for (const std::string &text : texts) {
      DLC_ASSIGN(Option option, parse(text));
      DLC_TRY(apply(option).withContext("--padding-idx=" + text));
    }
    for (const Lookup &lookup : lookups)
      warnOfZeros(lookup);
    return {};
  }

private:
  void addLookup(const onnx::NodeProto &node, const std::string &table,
                 const Weight &weight) {
    NodeView view(node, file.opset);
    if (node.op_type() != "Gather" || !isFloat(weight.dtype) ||
        weight.shape.size() != 2 || view.integer("axis", 0) != 0)
      return;
    const TorchCall &call = notes.call(node);
    Lookup lookup{node.output(0), table, &weight, call.known, std::nullopt};
    if (call.target == "embedding" && call.args.size() > 2)
      lookup.row = rowOf(call.args[2]);
    if (lookup.row && *lookup.row >= weight.shape[0])
      lookup.row.reset();
    lookups.push_back(lookup);
    if (call.target == "embedding" && call.args.size() > 3 &&
        call.args[3] == "True")
      file.decisions.push_back(
          {table, "frequency", "its rows' gradients are not scaled", true});
  }

  void set(const Lookup &lookup, int64_t row, const char *why) {
    file.paddings[lookup.output] = row;
    if (decided.insert(lookup.table).second)
      file.decisions.push_back(
          {lookup.table, "padding",
           fmt::format("row {} gets no gradient from the lookup '{}', {}", row,
                       lookup.output, why)});
  }

  Status apply(const Option &option) {
    const Weight *weight = file.weights.find(option.param);
    std::vector<std::string> tables;
    bool found = false;
    for (const Lookup &lookup : lookups) {
      tables.push_back(lookup.table);
      if (lookup.table != option.param)
        continue;
      found = true;
      if (option.row >= weight->shape[0])
        return usageError("'{}' has rows 0 to {}", option.param,
                          weight->shape[0] - 1);
      set(lookup, option.row, "by --padding-idx");
    }
    if (!weight)
      return usageError("the model has no initializer '{}'{}", option.param,
                        nearbyNames(option.param, tables));
    if (!found)
      return usageError("no Gather looks up rows of '{}'{}", option.param,
                        nearbyNames(option.param, tables));
    return {};
  }

  void warnOfZeros(const Lookup &lookup) {
    auto role = roles.find(lookup.table);
    if (lookup.noted || lookup.weight->shape[0] < 3 || role == roles.end() ||
        role->second != Role::Param || !decided.insert(lookup.table).second)
      return;
    if (auto row = rowOfZeros(*lookup.weight))
      file.decisions.push_back(
          {lookup.table, "zero row",
           fmt::format("row {} is all zeros; it trains as the others do", *row),
           true, fmt::format("--padding-idx={}:{}", lookup.table, *row)});
  }

  OnnxFile &file;
  const std::map<std::string, Role> &roles;
  TorchNotes notes;
  std::vector<Lookup> lookups;
  std::set<std::string> decided; // tables
};

} // namespace

Status checkPadding(const std::string &option) {
  return parse(option).status();
}

Status findPaddings(OnnxFile &file, const std::map<std::string, Role> &roles,
                    const std::vector<std::string> &options) {
  return PaddingFinder(file, roles).run(options);
}

} // namespace dlc::import
