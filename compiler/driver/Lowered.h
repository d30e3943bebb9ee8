// SPDX-License-Identifier: Apache-2.0
// Lowers a model's file to programs of commands.
#pragma once

#include "compiler/driver/Compiler.h"
#include "compiler/driver/Diagnostics.h"
#include "compiler/driver/Phases.h"
#include "compiler/import/Importer.h"

#include <chrono>

namespace dlc {

/// A model at all sizes, after the requested phases.
struct Lowered {
  CompileOptions options;
  import::ImportedModel model; // its module has the programs of all sizes
  std::vector<plan::Size> sizes;
  /// The result of the compilation so far. `plan` is made by emitPlan from the
  /// module; it is empty if compilation stopped before the last phase, and the
  /// module is then that of the first size. Without stopAfter, `program` is the
  /// module's text before lowering. Sizes are separated by "// -----".
  CompileResult result;
};

/// `context` has the dialects of registerEverything and must outlive the
/// result; `log` is its log. Errors name the file and the nodes: Code::BadModel
/// for the model, Code::Usage for an option.
Result<Lowered> lower(const CompileOptions &options, mlir::MLIRContext &context,
                      DiagnosticLog &log);

/// An error with the errors of `log`, or with `what` if there are none.
Status errorOf(const DiagnosticLog &log, Code code, const std::string &model,
               const char *what);

double secondsSince(std::chrono::steady_clock::time_point start);

} // namespace dlc
