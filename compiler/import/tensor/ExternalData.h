// SPDX-License-Identifier: Apache-2.0
// External tensor data: files beside the model, opened so that nothing outside
// the model's folder can be reached, and mapped into memory.
#pragma once
#include "compiler/import/tensor/Budget.h"
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace onnx {
class TensorProto;
}

namespace dlc::import {

/// A file mapped read-only; unmapped on destruction.
class MappedData {
public:
  /// Takes over `fd`, a regular file of `size` bytes.
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

/// The data files of one model. Refused: absolute locations, "..", symbolic
/// links in any component, hard links, anything but a regular file, unknown or
/// repeated keys, a range outside the file, a wrong SHA-1 checksum.
class ExternalData {
public:
  /// `modelPath` names the model; its folder bounds every location.
  /// `budget` grows by each file, and is charged for what ranges have in
  /// common.
  ExternalData(std::string modelPath, Budget budget);
  ~ExternalData();
  ExternalData(const ExternalData &) = delete;

  struct Range {
    std::string_view bytes;
    std::shared_ptr<MappedData> file; // keeps `bytes` alive
  };
  /// The `expected` bytes that `tensor` (data_location EXTERNAL) refers to.
  Result<Range> find(const onnx::TensorProto &tensor, size_t expected);

private:
  Result<std::shared_ptr<MappedData>> open(const std::string &location,
                                           const std::string &tensor);
  std::string modelPath;
  int folder = -1;
  std::map<std::string, std::shared_ptr<MappedData>> files;
  std::map<std::string, std::string> digests;
  std::map<std::string, size_t> unused; // bytes of a file less those of ranges
  Budget budget;
};

} // namespace dlc::import
