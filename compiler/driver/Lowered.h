// SPDX-License-Identifier: Apache-2.0
// From a model's file to its programs as commands.
#pragma once

#include "compiler/driver/Compiler.h"
#include "compiler/driver/Diagnostics.h"
#include "compiler/driver/Phases.h"
#include "compiler/import/Importer.h"

#include <chrono>

namespace dlc {

/// A model at all sizes, after the phases that were asked for.
struct Lowered {
  CompileOptions options;
  import::ImportedModel model; // its module has the programs of all sizes
  std::vector<plan::Size> sizes;
  /// What a compilation returns, so far. `plan` is what emitPlan makes of the
  /// module; empty if it stopped before the last phase: then the module is that
  /// of the first size. `program` without stopAfter: the module's text before
  /// lowering. Texts of several sizes are parted by "// -----".
  CompileResult result;
};

/// `context` has registerEverything's dialects and outlives the result; `log`
/// is its log. Errors name the file and the nodes: Code::BadModel for the
/// model, Code::Usage for an option.
Result<Lowered> lower(const CompileOptions &options, mlir::MLIRContext &context,
                      DiagnosticLog &log);

/// An error that tells what `log` has heard, or `what` if that is nothing.
Status errorOf(const DiagnosticLog &log, Code code, const std::string &model,
               const char *what);

double secondsSince(std::chrono::steady_clock::time_point start);

} // namespace dlc
