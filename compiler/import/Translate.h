// SPDX-License-Identifier: Apache-2.0
// Translates a repaired model to a program, node by node.
#pragma once
#include "compiler/import/CustomOps.h"
#include "compiler/import/repair/RepairGraph.h"
#include "mlir/IR/OwningOpRef.h"

namespace dlc::import {

/// Builds ImportedModel's module from the graph's inputs and live nodes. Errors
/// are diagnostics; the returned status only has their code.
Result<mlir::OwningOpRef<mlir::ModuleOp>> translate(Graph &graph,
                                                    CustomOps &custom);

} // namespace dlc::import
