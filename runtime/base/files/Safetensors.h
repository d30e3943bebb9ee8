// SPDX-License-Identifier: Apache-2.0
// The safetensors format: u64 header length, JSON header, contiguous tensors.
// Reading trusts nothing in the file; every tensor lies inside it.
#pragma once

#include "runtime/base/files/Files.h"
#include "runtime/base/numbers/DType.h"
#include "runtime/base/numbers/Hash.h"

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace dlc {

// A named array somewhere in memory, row-major. Does not own its bytes.
struct NamedTensor {
  std::string name;
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  const std::byte *data = nullptr;
  uint64_t bytes = 0; // product(shape) * sizeOf(dtype)
  // The type in the file, where `dtype` is what holds it and `bytes` are fewer:
  // I8, I16, U16 (i32), U32 (i64). Of open() with `narrow` only.
  std::string_view stored = {};
};

// A mapped file; its views live as long as it does.
class SafetensorsFile {
public:
  // Code::Corrupt: the header is over 100 MB or not valid, a tensor's dtype,
  // shape and range disagree, ranges overlap or leave gaps, a key repeats.
  // `narrow`: integers of types that tensors of ours do not have are taken.
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

// Replaces the file in one step, and syncs it. Tensors are stored in the order
// given.
Status
writeSafetensors(const std::string &path,
                 const std::vector<NamedTensor> &tensors,
                 const std::map<std::string, std::string> &metadata = {});
// The same into a file of the caller's, who syncs it; and into `hash`.
Status writeSafetensors(FileWriter &file,
                        const std::vector<NamedTensor> &tensors,
                        const std::map<std::string, std::string> &metadata = {},
                        Sha256 *hash = nullptr);

} // namespace dlc
