// SPDX-License-Identifier: Apache-2.0
// ONNX out: the source model with trained values under the original names.
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

/// The serialized `source` without the data of the initializers in `states`
/// (state tensors keep those). Other initializers hold their data, also where
/// the source had it in external files: `weights` has every initializer.
Result<std::string> makeSkeleton(const onnx::ModelProto &source,
                                 const std::set<std::string> &states,
                                 const Tensors &weights);

struct ExportOptions {
  /// Above this many bytes of weights they go to `<path>.<hash>.data` beside
  /// the model (protobuf cannot hold 2 GiB). Files of that form that the new
  /// model does not need are removed.
  size_t inlineLimit = size_t(1) << 30;
};

/// Writes the model of a skeleton with the values of `states` (by initializer
/// name; names that the model lacks are ignored) to `path`, atomically. Batch
/// norm and dropout become their inference forms; names, metadata and opset
/// stay; floats of another float type are converted to the initializer's. An
/// error names a tensor whose value is missing or has another shape or type.
Status exportOnnx(const std::string &skeleton, const Tensors &states,
                  const std::string &path, const ExportOptions &options = {});

} // namespace dlc::exporter
