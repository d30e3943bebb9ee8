// SPDX-License-Identifier: Apache-2.0
// What an import changes in a file before its nodes are built, as a list.
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

/// When a repair runs. Within a stage the order is that of the list.
enum class Stage {
  Source,  // what an exporter merged or folded is the source's again
  Options, // the model is the one that options ask for
  Form,    // nodes are as rows read them; roles are known by then
};

/// Whether --no-repair may name it.
enum class Skip {
  Yes,
  IfIdle, // not where it changes something: nothing else reads those nodes
  Never
};

struct Repair {
  std::string_view name, sentence;
  Stage stage;
  Skip skip;
  /// Cheap: an option. Null: always.
  bool (*when)(const ImportOptions &);
  /// Returns the number of places that it changed: inputs of nodes that read
  /// another value since and roles that are settled (Stage::Source), nodes or
  /// tensors elsewhere.
  Result<int> (*run)(Graph &, const ImportOptions &);
};

/// All, in the order in which they run.
std::span<const Repair> repairs();

/// One that has run, for --explain-import.
struct RepairRun {
  const Repair *repair;
  int places;
  double seconds;
};
/// A line each: name, places, milliseconds, sentence.
std::vector<std::string> explain(std::span<const RepairRun> runs);

/// Runs those of a stage that the options ask for and --no-repair does not
/// name; notes them in `graph`. Errors (Usage or BadModel) have no path.
Status repair(Graph &graph, Stage stage, const ImportOptions &options);

/// The model at `path` as Stage::Source leaves it without options. Errors
/// (BadModel) begin with the path.
Result<OnnxFile> loadRepaired(const std::string &path, Budget budget);

/// Code::Usage unless --no-repair may name it.
Status checkNoRepair(const std::string &name);

} // namespace dlc::import
