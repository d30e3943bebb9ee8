// SPDX-License-Identifier: Apache-2.0
// The generated kernels of a plan, for a device to load.
#pragma once

#include "runtime/base/Status.h"

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace dlc {

// A file, or those of an artifact as its manifest was when it was opened.
class KernelFiles {
public:
  KernelFiles() = default; // a plan without generated kernels
  KernelFiles(std::string file) : path_(std::move(file)) {}
  KernelFiles(const char *file) : path_(file) {}
  KernelFiles(std::string folder, const nlohmann::json &manifest);
  // Of a folder with an artifact's manifest, as it is now.
  static Result<KernelFiles> ofFolder(const std::string &folder);

  bool empty() const { return path_.empty(); }
  const std::string &path() const { return path_; } // of the file or folder
  bool isArtifact() const { return manifest_ != nullptr; }

  // Of an artifact: those whose name begins with "kernels.".
  std::vector<std::string> names() const;
  bool has(const std::string &name) const;

  // A copy of the file, or of that one of an artifact, which nobody can change:
  // of its bytes the hash was taken. Code::Corrupt if it is not the manifest's.
  Result<std::string> read(const std::string &name = {}) const;

private:
  std::string path_;
  std::shared_ptr<const nlohmann::json> manifest_;
};

} // namespace dlc
