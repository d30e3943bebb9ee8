// SPDX-License-Identifier: Apache-2.0
// Mapped tensor data: external files, restricted to the model's folder, and
// repeated elements.
#pragma once
#include "compiler/import/tensor/Budget.h"
#include "compiler/import/tensor/OnnxMessages.h"
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace dlc::import {

/// A file mapped read-only; unmapped on destruction.
class MappedData {
public:
  /// Takes ownership of `fd`, a regular file of `size` bytes.
  static Result<std::shared_ptr<MappedData>> map(int fd, size_t size,
                                                 const std::string &name);
  MappedData(const std::byte *data, size_t size) : data(data), size(size) {}
  MappedData(const MappedData &) = delete;
  ~MappedData();
  std::string_view bytes() const {
    return {reinterpret_cast<const char *>(data), size};
  }

private:
  const std::byte *data;
  size_t size;
};

/// The external data files of one model. Errors: absolute locations, "..",
/// symbolic links in any component, hard links, files that are not regular,
/// unknown or repeated keys, ranges outside the file, wrong SHA-1 checksums.
class ExternalData {
public:
  /// All locations must be in the folder of the file `modelPath`. `budget`
  /// grows by the size of each file, and is charged for bytes that several
  /// ranges share.
  ExternalData(std::string modelPath, Budget budget);
  ~ExternalData();
  ExternalData(const ExternalData &) = delete;

  struct Range {
    std::string_view bytes;
    std::shared_ptr<MappedData> file; // keeps `bytes` alive
  };
  /// The `expected` bytes of `tensor` (data_location EXTERNAL).
  Result<Range> find(const onnx::TensorProto &tensor, size_t expected);

private:
  Result<std::shared_ptr<MappedData>> open(const std::string &location,
                                           const std::string &tensor);
  std::string modelPath;
  int folder = -1;
  std::map<std::string, std::shared_ptr<MappedData>> files;
  std::map<std::string, std::string> digests;
  std::map<std::string, size_t> unused; // bytes of files not in any range
  Budget budget;
};

/// Read-only memory of `bytes` bytes that repeats `element` (1, 2, 4 or 8
/// bytes). Uses at most a few MiB of physical memory; threads may read
/// concurrently. Code::Failed if the system cannot map it.
Result<std::shared_ptr<const void>> repeated(std::string_view element,
                                             size_t bytes);

} // namespace dlc::import
