// SPDX-License-Identifier: Apache-2.0
// The safetensors format: u64 header length, JSON header, contiguous tensors.
// Reading validates everything; every tensor is within the file.
#pragma once

#include "runtime/base/files/Files.h"
#include "runtime/base/numbers/DType.h"
#include "runtime/base/numbers/Hash.h"

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace dlc {

// A named, row-major array. Does not own its bytes.
struct NamedTensor {
  std::string name;
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  const std::byte *data = nullptr;
  uint64_t bytes = 0; // product(shape) * sizeOf(dtype)
  // The file's type, if `dtype` is a wider type that can hold it and the file
  // has fewer bytes: I8, I16, U16 (i32), U32 (i64). Only set by open() with
  // `narrow`.
  std::string_view stored = {};
};

// A mapped file; its views are valid as long as this object.
class SafetensorsFile {
public:
  // Code::Corrupt: the header is over 100 MB or invalid; a tensor's dtype,
  // shape and range are inconsistent; ranges overlap or leave gaps; a key is
  // repeated. `narrow`: accepts integer types that dlc's tensors do not have.
  static Result<SafetensorsFile> open(const std::string &path,
                                      bool narrow = false);

  const std::vector<NamedTensor> &tensors() const { return tensors_; }
  const NamedTensor *find(const std::string &name) const;
  const std::map<std::string, std::string> &metadata() const {
    return metadata_;
  }

private:
  MappedFile file_;
  std::vector<NamedTensor> tensors_; // in the order of their bytes
  std::unordered_map<std::string, size_t> index_;
  std::map<std::string, std::string> metadata_;
};

// Replaces the file atomically, and syncs it. Tensors are stored in the given
// order.
Status
writeSafetensors(const std::string &path,
                 const std::vector<NamedTensor> &tensors,
                 const std::map<std::string, std::string> &metadata = {});
// Writes into a file that the caller syncs; updates `hash`.
Status writeSafetensors(FileWriter &file,
                        const std::vector<NamedTensor> &tensors,
                        const std::map<std::string, std::string> &metadata = {},
                        Sha256 *hash = nullptr);

} // namespace dlc
