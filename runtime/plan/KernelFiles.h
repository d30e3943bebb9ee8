// SPDX-License-Identifier: Apache-2.0
// The generated kernels of a plan, for a device to load.
#pragma once

#include "runtime/base/Status.h"

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace dlc {

// A file, or the kernel files of an artifact as listed in its manifest when it
// was opened.
class KernelFiles {
public:
  KernelFiles() = default; // a plan without generated kernels
  KernelFiles(std::string file) : path_(std::move(file)) {}
  KernelFiles(const char *file) : path_(file) {}
  KernelFiles(std::string folder, const nlohmann::json &manifest);
  // The files of a folder with an artifact's manifest, as it is now.
  static Result<KernelFiles> ofFolder(const std::string &folder);

  bool empty() const { return path_.empty(); }
  const std::string &path() const { return path_; } // the file or the folder
  bool isArtifact() const { return manifest_ != nullptr; }

  // For an artifact: the files whose names begin with "kernels.".
  std::vector<std::string> names() const;
  bool has(const std::string &name) const;

  // A private copy of the file, or of file `name` of an artifact; the hash is
  // computed from the copy. Code::Corrupt if it differs from the manifest's.
  Result<std::string> read(const std::string &name = {}) const;

private:
  std::string path_;
  std::shared_ptr<const nlohmann::json> manifest_;
};

} // namespace dlc
