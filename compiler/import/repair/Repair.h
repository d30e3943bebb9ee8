// SPDX-License-Identifier: Apache-2.0
// The repairs: ordered changes of a model before its nodes are imported.
#pragma once
#include "compiler/import/tensor/Budget.h"
#include "runtime/base/Status.h"
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dlc::import {

struct Graph;
struct ImportOptions;
struct OnnxFile;

/// When a repair runs. Within a stage the order is that of repairs().
enum class Stage {
  Source,  // restores what an exporter merged or folded
  Options, // applies options that change the model
  Form,    // rewrites nodes to supported forms; roles are set
};

/// Whether --no-repair accepts it.
enum class Skip {
  Yes,
  IfIdle, // only if it has nothing to change, else no row reads the nodes
  Never
};

struct Repair {
  std::string_view name, sentence;
  Stage stage;
  /// Returns the number of changes: for Stage::Source inputs of nodes that read
  /// another value and roles that were set, else nodes or tensors.
  Result<int> (*run)(Graph &, const ImportOptions &);
  /// Whether the options request it, at no cost; null: always.
  bool (*when)(const ImportOptions &) = nullptr;
  Skip skip = Skip::Yes;
};

/// All repairs, in the order in which they run.
std::span<const Repair> repairs();

/// A repair that has run, for --explain-import.
struct RepairRun {
  const Repair *repair;
  int places;
  double seconds;
};
/// A line per repair: name, changes, milliseconds, sentence.
std::vector<std::string> explain(std::span<const RepairRun> runs);

/// Runs the repairs of a stage that the options request and --no-repair does
/// not name, and records them in `graph`. Errors (Code::Usage or
/// Code::BadModel) do not contain the path.
Status repair(Graph &graph, Stage stage, const ImportOptions &options);

/// The model at `path` after Stage::Source with default options. Errors
/// (Code::BadModel) begin with the path.
Result<OnnxFile> loadRepaired(const std::string &path, Budget budget);

/// Code::Usage unless --no-repair accepts the name.
Status checkNoRepair(const std::string &name);

} // namespace dlc::import
