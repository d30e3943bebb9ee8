// SPDX-License-Identifier: Apache-2.0
// Low-rank adapters, passed from compilation to export in adapters.json.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "runtime/base/files/Safetensors.h"
#include <deque>

namespace dlc {

/// A frozen weight, [out, in...] or with inputs first [in, out], and its
/// trained update scale * b a: a is [rank, in...], b [out, rank, 1...].
struct Adapter {
  std::string weight, a, b; // names of states
  double scale = 1;
  bool inputsFirst = false;
};

/// The text of adapters.json for the adapters that dlc-insert-lora recorded in
/// the module; empty without adapters.
std::string adaptersJson(mlir::ModuleOp module);

/// Code::Corrupt if the text is malformed.
Result<std::vector<Adapter>> parseAdapters(std::string_view json);

/// Tensors by name.
using NamedTensors = std::map<std::string, NamedTensor>;

/// Adds each adapter to its weight, in f64; new values are stored in `buffers`.
/// Code::Corrupt if a tensor is missing or shapes do not match.
Status mergeAdapters(const std::vector<Adapter> &adapters,
                     NamedTensors &tensors,
                     std::deque<std::vector<std::byte>> &buffers);

} // namespace dlc
