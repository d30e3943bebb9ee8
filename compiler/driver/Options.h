// SPDX-License-Identifier: Apache-2.0
// What `dlc compile` is asked for. The command line fills it; config.yaml in
// the artifact repeats it.
#pragma once

#include "compiler/import/Importer.h"
#include "compiler/lower/memory/Recompute.h"
#include "passes/Options.h"
#include "runtime/plan/plan.pb.h"

namespace dlc {

constexpr int64_t kDefaultBatch = 32;
constexpr size_t kMaxSizes = 16;

struct CompileOptions {
  std::string model;  // path of the ONNX file
  std::string output; // path of the artifact
  /// --batch=N[,N...]: rows of one rank's micro-batch; none: those that the
  /// model was exported for, or kDefaultBatch.
  std::vector<int64_t> batches;
  /// --batch=auto: the largest for which memory.budget is enough
  /// (batch/AutoBatch.h); in its place in `batches` once it is known.
  bool autoBatch = false;
  /// --dim NAME=N[,N...]: symbolic dimensions by name.
  std::map<std::string, std::vector<int64_t>> dims;
  import::ImportOptions import;
  /// --teacher=FILE: the model whose results train.distill compares with.
  std::string teacher;
  StepOptions train;
  MemoryOptions memory;
  /// --predict-only: no training step, but the model as it is.
  bool predictOnly = false;
  /// --decode: @prefill and @decode beside @predict.
  bool decode = false;
  /// --pack: rows hold several documents.
  bool pack = false;
  /// --layout=auto|nchw|nhwc: of images inside a step; auto: what is faster on
  /// the target.
  std::string layout = "auto";
  /// --stop-after=PHASE: prints the program after that phase instead of writing
  /// an artifact.
  std::string stopAfter;

  /// Every batch with every size of every dimension, the largest first; a batch
  /// of 0 is the model's own.
  std::vector<plan::Size> sizes() const;
  /// The importer's for one of them, with what it is to know of the others.
  import::ImportOptions importing(const plan::Size &size) const;
  /// With what "auto" and unset options of the step stand for.
  CompileOptions resolved() const;
  /// All options as rows, but the model, the artifact and where to stop.
  void addTo(OptionTable &table);
};

/// The options as config.yaml of the artifact, a file that --config takes;
/// defaults are resolved.
std::string toYaml(const CompileOptions &options);

/// Loss, optimizer, rate and what differs from the defaults, on one line: what
/// dlc compile prints.
std::string toLine(const CompileOptions &options);

/// The same as the plan's `schedule`, which dlc inspect shows.
void describe(const CompileOptions &options, plan::Plan &plan);
/// The rule of --schedule=plateau, which a run follows.
void describePlateau(const StepOptions &options, plan::Plan &plan);

} // namespace dlc
