// SPDX-License-Identifier: Apache-2.0
// ONNX export: the source model with trained values under the original names.
#pragma once
#include "runtime/base/Status.h"
#include "runtime/base/numbers/DType.h"
#include <map>
#include <set>
#include <string>
#include <vector>

namespace onnx {
class ModelProto;
}

namespace dlc::exporter {

/// A dense row-major tensor in the caller's memory.
struct TensorView {
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  const void *data = nullptr;
  size_t bytes = 0;
};
using Tensors = std::map<std::string, TensorView>;

/// The serialised `source` without the data of the initializers in `states`.
/// Other initializers include their data, even if the source stores it in
/// external files: `weights` has every initializer.
Result<std::string> makeSkeleton(const onnx::ModelProto &source,
                                 const std::set<std::string> &states,
                                 const Tensors &weights);

struct ExportOptions {
  /// If weights exceed this many bytes, they are stored in `<path>.<hash>.data`
  /// beside the model (protobuf is limited to 2 GiB). Files of that form that
  /// the new model does not use are removed.
  size_t inlineLimit = size_t(1) << 30;
};

/// Writes the model of a skeleton with the values of `states` (by initializer
/// name; unknown names are ignored) to `path`, atomically. Batch norm and
/// dropout become their inference forms; names, metadata and opset are
/// preserved; floats are converted to the initializer's float type. An error
/// names a tensor whose value is missing or has another shape or type.
Status exportOnnx(const std::string &skeleton, const Tensors &states,
                  const std::string &path, const ExportOptions &options = {});

} // namespace dlc::exporter
