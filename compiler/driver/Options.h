// SPDX-License-Identifier: Apache-2.0
// Options of `dlc compile`, from the command line or a file; config.yaml in the
// artifact records them.
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
  /// --batch=N[,N...]: rows of one rank's micro-batch; empty: those of the
  /// exported model, or kDefaultBatch.
  std::vector<int64_t> batches;
  /// --batch=auto: the largest batch that fits into memory.budget
  /// (batch/AutoBatch.h), which then replaces this in `batches`.
  bool autoBatch = false;
  /// --dim NAME=N[,N...]: sizes of symbolic dimensions.
  std::map<std::string, std::vector<int64_t>> dims;
  import::ImportOptions import;
  /// --teacher=FILE: the model whose results train.distill compares with.
  std::string teacher;
  StepOptions train;
  MemoryOptions memory;
  /// --predict-only: inference only, no training step.
  bool predictOnly = false;
  /// --decode: adds @prefill and @decode to @predict.
  bool decode = false;
  /// --pack: rows hold several documents.
  bool pack = false;
  /// --layout=auto|nchw|nhwc: layout of images in a step; auto: the target's
  /// preferred one.
  std::string layout = "auto";
  /// --stop-after=PHASE: prints the program after that phase instead of writing
  /// an artifact.
  std::string stopAfter;

  /// All combinations of batches and dimensions, the largest first; a batch of
  /// 0 means the model's own.
  std::vector<plan::Size> sizes() const;
  /// The importer's options for one size, including what it must know about the
  /// other sizes.
  import::ImportOptions importing(const plan::Size &size) const;
  /// A copy in which "auto" and unset options of the step are replaced.
  CompileOptions resolved() const;
  /// Adds rows for all options except the model, the artifact and stopAfter.
  void addTo(OptionTable &table);
};

/// Options as config.yaml, which --config accepts; defaults are resolved.
std::string toYaml(const CompileOptions &options);

/// Loss, optimizer, rate and options that differ from their defaults, on one
/// line, as `dlc compile` prints it.
std::string toLine(const CompileOptions &options);

/// Writes the same line to the plan's `schedule`, which `dlc inspect` shows.
void describe(const CompileOptions &options, plan::Plan &plan);
/// Writes the rule of --schedule=plateau to the plan; training applies it.
void describePlateau(const StepOptions &options, plan::Plan &plan);

} // namespace dlc
