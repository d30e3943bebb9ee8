// SPDX-License-Identifier: Apache-2.0
// The state of an artifact or of a checkpoint, as one safetensors file or one
// file per rank.
//
// Each rank's file is a complete safetensors file: a tensor that is whole has
// its name; of other tensors it has elements [BEGIN, END), row-major, as a
// tensor NAME[BEGIN:END] of one dimension, and in the file's __metadata__,
// under the same name, the shape of the whole tensor, as "64,3,7".
//
// A checkpoint omits tensors that no step changes: "dlc.frozen" in __metadata__
// is a JSON list of tensors that are only in ../model.dlc/state.safetensors.
#pragma once

#include "runtime/base/Json.h"
#include "runtime/base/files/Safetensors.h"

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace dlc::plan {

// "state-00002-of-00003.safetensors" of rank 1 of 3.
std::string partName(int rank, int ranks);
// The name of elements [begin, end) of a tensor.
std::string sliceName(const std::string &tensor, uint64_t begin, uint64_t end);
std::string extentsText(std::span<const int64_t> shape);

// Records that these tensors, if any, are in the artifact.
void setFrozen(std::map<std::string, std::string> &metadata,
               const std::set<std::string> &names);

// The files of parts in a checkpoint's manifest, by rank; empty if the state is
// one file. Code::Corrupt if one is missing.
Result<std::vector<std::string>> partsOf(const Json &manifest);

class StateFiles {
public:
  // Opens a file, or a checkpoint's folder, whose manifest lists its parts, and
  // the artifact if they omit tensors. Code::Corrupt as for SafetensorsFile, or
  // if parts do not make up a tensor; Code::Failed without the artifact.
  static Result<StateFiles> open(const std::string &path);

  std::vector<std::string> names() const;
  // A view, valid as long as this object, or of `copy`, which is filled.
  std::optional<NamedTensor> find(const std::string &name,
                                  std::vector<std::byte> &copy) const;

private:
  struct Tensor {
    dlc::DType dtype = dlc::DType::F32;
    std::vector<int64_t> shape;
    std::map<uint64_t, NamedTensor> pieces; // by offset of the first byte
  };
  Status add(const SafetensorsFile &file);
  Status addFrozen(const std::string &path, const std::string &names);
  Status check() const;

  std::vector<SafetensorsFile> files_;
  std::map<std::string, Tensor> tensors_;
};

} // namespace dlc::plan
