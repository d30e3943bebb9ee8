// SPDX-License-Identifier: Apache-2.0
// The state of an artifact or of a checkpoint, in one safetensors file or in
// one of each rank's part.
//
// A part is a file of its own that any library reads: a tensor that lies in it
// whole has its name; of another it has elements [BEGIN, END), row-major, as a
// tensor NAME[BEGIN:END] of one dimension, with the whole's shape, as "64,3,7",
// in the file's __metadata__ under the same name.
//
// A checkpoint leaves out what no step changes: "dlc.frozen" in __metadata__ is
// a JSON list of the tensors that are in ../model.dlc/state.safetensors alone.
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

// Adds that these are in the artifact; nothing for none.
void setFrozen(std::map<std::string, std::string> &metadata,
               const std::set<std::string> &names);

// The parts that a checkpoint's manifest lists, by rank; empty if its state is
// in one file. Code::Corrupt if one is not listed.
Result<std::vector<std::string>> partsOf(const Json &manifest);

class StateFiles {
public:
  // A file, or a checkpoint's folder, whose manifest lists its parts; and what
  // they leave to the artifact. Code::Corrupt as of SafetensorsFile, or if
  // parts do not make up a tensor; Code::Failed without the artifact.
  static Result<StateFiles> open(const std::string &path);

  std::vector<std::string> names() const;
  // A view that lives as long as this, or of `copy`, which is then filled.
  std::optional<NamedTensor> find(const std::string &name,
                                  std::vector<std::byte> &copy) const;

private:
  struct Tensor {
    dlc::DType dtype = dlc::DType::F32;
    std::vector<int64_t> shape;
    std::map<uint64_t, NamedTensor> pieces; // by the first byte
  };
  Status add(const SafetensorsFile &file);
  Status addFrozen(const std::string &path, const std::string &names);
  Status check() const;

  std::vector<SafetensorsFile> files_;
  std::map<std::string, Tensor> tensors_;
};

} // namespace dlc::plan
