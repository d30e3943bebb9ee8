// SPDX-License-Identifier: Apache-2.0
// One artifact for several sizes: each is the model lowered by itself, and what
// they have in common is kept once.
#pragma once

#include "compiler/import/Importer.h"
#include "runtime/base/Status.h"

namespace dlc {

/// Before `other`, the same model at another size, is lowered: its parameters
/// will lie as those of `module`, which is lowered, do.
void keepPlaces(mlir::ModuleOp module, mlir::ModuleOp other);

/// Adds to `first` the programs of `other`, both lowered: they are called
/// KIND@LABEL and belong to size `number`. All use one state, one gradient
/// region and one scratch region, as large as the largest needs; equal kernels
/// are one. A constant whose value is of the size is a state NAME@LABEL.
/// Code::BadModel if another state is of the size, naming it.
Status mergeSize(import::ImportedModel &first, import::ImportedModel other,
                 int64_t number, const std::string &label);

} // namespace dlc
