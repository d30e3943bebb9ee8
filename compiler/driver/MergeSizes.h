// SPDX-License-Identifier: Apache-2.0
// One artifact for several sizes: each size is lowered separately, and their
// common parts are stored once.
#pragma once

#include "compiler/import/Importer.h"
#include "runtime/base/Status.h"

namespace dlc {

/// Called before `other`, the same model at another size, is lowered: gives its
/// parameters the memory order that they have in the lowered `module`.
void keepPlaces(mlir::ModuleOp module, mlir::ModuleOp other);

/// Adds the programs of `other` to `first`, both lowered: they are named
/// KIND@LABEL and have size index `number`. All sizes share the state, one
/// gradient region and one scratch region, as large as the largest needs, and
/// equal kernels. A constant whose value depends on the size becomes a state
/// NAME@LABEL. Code::BadModel, with the name, if another state depends on the
/// size.
Status mergeSize(import::ImportedModel &first, import::ImportedModel other,
                 int64_t number, const std::string &label);

} // namespace dlc
