// SPDX-License-Identifier: Apache-2.0
#include "runtime/plan/KernelFiles.h"

#include "runtime/plan/Artifact.h"

namespace dlc {

constexpr uint64_t kLargest = uint64_t(1) << 32;

KernelFiles::KernelFiles(std::string folder, const nlohmann::json &manifest)
    : path_(std::move(folder)),
      manifest_(std::make_shared<const Json>(manifest)) {}

Result<KernelFiles> KernelFiles::ofFolder(const std::string &folder) {
  DLC_ASSIGN(const Json manifest,
             readManifest(folder, kArtifactFormat, kArtifactVersion));
  return KernelFiles(folder, manifest);
}

std::vector<std::string> KernelFiles::names() const {
  std::vector<std::string> names;
  if (manifest_)
    for (const auto &[name, entry] : manifest_->at("files").items())
      if (name.starts_with("kernels."))
        names.push_back(name);
  return names;
}

bool KernelFiles::has(const std::string &name) const {
  return manifest_ && manifest_->at("files").contains(name);
}

Result<std::string> KernelFiles::read(const std::string &name) const {
  if (manifest_)
    return readListed(path_, *manifest_, name);
  auto image = readFile(path_, kLargest);
  if (!image)
    return corrupt("cannot load the kernels: {}", image.status().message());
  return image;
}

} // namespace dlc
