// SPDX-License-Identifier: Apache-2.0
// The program of a repaired model, built node by node.
#pragma once
#include "compiler/import/CustomOps.h"
#include "compiler/import/repair/RepairGraph.h"
#include "mlir/IR/OwningOpRef.h"

namespace dlc::import {

/// The module of ImportedModel, with the graph's inputs, of its live nodes.
/// Failures are diagnostics; the status has their code alone.
Result<mlir::OwningOpRef<mlir::ModuleOp>> translate(Graph &graph,
                                                    CustomOps &custom);

} // namespace dlc::import
