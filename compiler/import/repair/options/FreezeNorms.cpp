// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/repair/options/OptionRepairs.h"
#include "compiler/import/repair/torch/Restoring.h"
#include "onnx-ml.pb.h"
#include "runtime/base/options/Pattern.h"
#include <fmt/format.h>

namespace dlc::import {

Result<int> freezeNorms(OnnxFile &file, const std::vector<std::string> &texts) {
  DLC_ASSIGN(auto patterns, parsePatterns(texts));
  const TorchNotes notes(file.model->graph());
  GraphEdit edit(file);
  std::vector<std::string> names;
  std::vector<bool> matched(patterns.size());
  int frozen = 0;
  for (const auto &node : edit.graph.node()) {
    if (operatorName(node) != "BatchNormalization" || node.input_size() < 5 ||
        !node.output_size())
      continue;
    names.push_back(withoutEnd(node.input(1), ".weight"));
    bool isFrozen = false;
    for (size_t i = 0; i < patterns.size(); ++i) {
      if (!patterns[i].search(names.back()))
        continue;
      isFrozen = matched[i] = true;
      if (!edit.weight(node.input(3)) || isMadeUp(notes, node.input(3)))
        return usageError("--freeze-bn={} matches '{}', which has no running "
                          "statistics",
                          texts[i], printable(names.back()));
    }
    if (isFrozen)
      file.inferenceNorms.insert(node.output(0)), ++frozen;
  }
  for (size_t i = 0; i < patterns.size(); ++i)
    if (!matched[i])
      return usageError(
          "--freeze-bn={} matches no batch norm{}", texts[i],
          names.empty()
              ? std::string("; the file has none (--unfold-bn: where an "
                            "exporter folded them into convolutions)")
              : nearbyNames(texts[i], names));
  file.remarks.push_back({fmt::format(
      "batch norms whose running statistics do not change, by --freeze-bn: {}",
      frozen)});
  return frozen;
}

} // namespace dlc::import
