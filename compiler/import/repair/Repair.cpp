// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/repair/Repair.h"
#include "compiler/import/file/GraphCheck.h"
#include "compiler/import/repair/RepairGraph.h"
#include "onnx-ml.pb.h"
#include "runtime/base/options/Nearest.h"
#include <algorithm>
#include <chrono>
#include <fmt/ranges.h>

namespace dlc::import {

Restoring &Graph::opened() {
  if (!work)
    work = std::make_unique<Restoring>(file);
  return *work;
}

Status Graph::close() {
  if (!work)
    return {};
  work->close();
  const bool isSorted = work->edit.isAsItWas();
  work.reset();
  if (!isSorted) {
    DLC_ASSIGN(file.nodes, sortedNodes(file.model->graph()));
  }
  return {};
}

std::vector<std::string> explain(std::span<const RepairRun> runs) {
  std::vector<std::string> lines = {fmt::format(
      "{:16} {:>7} {:>12}  {}", "repair", "changes", "time", "what it does")};
  for (const RepairRun &run : runs)
    lines.push_back(fmt::format("{:16} {:>7} {:>9.3f} ms  {}", run.repair->name,
                                run.places, run.seconds * 1e3,
                                run.repair->sentence));
  return lines;
}

static double secondsNow() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Status repair(Graph &graph, Stage stage, const ImportOptions &options) {
  std::vector<std::string_view> skipped;
  for (const Repair &row : repairs()) {
    if (row.stage != stage || (row.when && !row.when(options)))
      continue;
    const bool isNamed = std::ranges::count(options.noRepairs, row.name) > 0;
    if (isNamed && row.skip == Skip::Yes) {
      skipped.push_back(row.name);
      continue;
    }
    const size_t decided = graph.file.decisions.size();
    const double start = secondsNow();
    DLC_ASSIGN(const int places, row.run(graph, options));
    graph.runs.push_back({&row, places, secondsNow() - start});
    if (isNamed && places)
      return usageError("--no-repair={}: {} node{} of the model need{} it, "
                        "which {}",
                        row.name, places, places > 1 ? "s" : "",
                        places > 1 ? "" : "s", row.sentence);
    for (size_t i = decided; i < graph.file.decisions.size(); ++i)
      graph.file.decisions[i].repair = row.name;
  }
  if (!skipped.empty())
    graph.file.remarks.push_back(
        {fmt::format("skipped by --no-repair: {}; the file's tensors and nodes "
                     "are used unchanged",
                     fmt::join(skipped, ", ")),
         true});
  return stage == Stage::Source ? graph.close() : Status();
}

Result<OnnxFile> loadRepaired(const std::string &path, Budget budget) {
  DLC_ASSIGN(OnnxFile file, loadOnnx(path, std::move(budget)));
  Graph graph(std::move(file));
  DLC_TRY(repair(graph, Stage::Source, {}).withContext(path));
  return std::move(graph.file);
}

Status checkNoRepair(const std::string &name) {
  std::vector<std::string> names;
  for (const Repair &row : repairs())
    if (row.skip != Skip::Never)
      names.emplace_back(row.name);
  if (std::ranges::count(names, name))
    return {};
  return usageError("no repair that can be left out is called '{}'{}; there "
                    "are {}",
                    name, suggestion(name, names), fmt::join(names, ", "));
}

} // namespace dlc::import
