// SPDX-License-Identifier: Apache-2.0
// compile(model, options) -> artifact. No globals.
#pragma once

#include "compiler/driver/Options.h"
#include "runtime/base/Status.h"

namespace dlc {

struct CompileResult {
  plan::Plan plan;
  std::string program; // with stopAfter: the module's text after that phase;
                       // nothing was written
  /// With model.explain-import: a line per repair at the first size.
  std::vector<std::string> importReport;
  std::vector<std::string> castReport; // with amp.explain: a line per node
  /// With placement.explain: a line per op with several ways to be computed.
  std::vector<std::string> placementReport;
  double importSeconds = 0, passSeconds = 0, kernelSeconds = 0;
};

/// Imports the model, builds its training step and writes the artifact, whole
/// or not at all. Errors name the file and the nodes: Code::BadModel for the
/// model, Code::Usage for an option, Code::Failed when it cannot be written.
/// Equal models and options give equal artifacts. Warnings and remarks go to
/// the log.
Result<CompileResult> compile(const CompileOptions &options);

/// Bytes of all regions of the artifact's plan. Generates no kernels, writes no
/// files and prints nothing. Errors as above.
Result<uint64_t> stepBytes(const CompileOptions &options);

} // namespace dlc
