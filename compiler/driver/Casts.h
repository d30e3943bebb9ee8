// SPDX-License-Identifier: Apache-2.0
// What the user says about autocast, checked, and what autocast has to report.
#pragma once

#include "passes/autocast/CastLists.h"
#include "runtime/base/Status.h"

namespace dlc {

/// Code::Usage for a name in a list of autocast that is neither an op of dlc
/// nor an ONNX operator that the importer knows, with the nearest one.
Status checkCastName(const std::string &name);

/// Names by list:
///
///   allow: [Gemm, Conv]
///   deny:                # or infer, clear
///     - HardSwish
///
/// Code::Usage names file, line and column of an unknown key or op, of one that
/// is on two lists, and of bad syntax; Code::Failed if it cannot be read.
Result<std::map<std::string, std::vector<std::string>>>
readCastLists(const std::string &path);

/// Code::Usage for a rule of --amp-node that fits no node of the model, with
/// the nearest name.
Status checkNodeRules(mlir::ModuleOp module, const CastLists &lists);

/// The report that autocast left in the module; it is gone from there then.
std::vector<std::string> takeCastReport(mlir::ModuleOp module);

} // namespace dlc
