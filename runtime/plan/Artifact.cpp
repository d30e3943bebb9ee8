#include "runtime/plan/Artifact.h"

#include "runtime/base/Boundary.h"

#include <filesystem>

namespace fs = std::filesystem;

namespace dlc {
namespace {

constexpr char kFormat[] = "dlc-artifact";
constexpr char kPlanFile[] = "plan.pb";
constexpr char kKernelsFile[] = "kernels.so";

Result<plan::Plan> readPlan(const std::string &path) {
  DLC_ASSIGN(MappedFile file, MappedFile::open(path));
  plan::Plan plan;
  if (file.size() > INT32_MAX ||
      !plan.ParseFromArray(file.bytes().data(), static_cast<int>(file.size())))
    return corrupt("'{}' is not a plan", path);
  if (Status status = verifyPlan(plan); !status.ok())
    return status.withContext(fmt::format("'{}'", path));
  return plan;
}

std::string commandOf(const Json &manifest) {
  auto command = jsonString(manifest, "command");
  return command ? *command : "dlc compile";
}

} // namespace

Result<Artifact> Artifact::open(const std::string &path, Use use) try {
  if (!exists(path))
    return failed("no artifact '{}': no such file or directory", path);
  if (!isFolder(path))
    return failed("'{}' is not an artifact: expected a folder made by dlc "
                  "compile",
                  path);
  Artifact artifact;
  artifact.path_ = path;
  DLC_ASSIGN(artifact.manifest_,
             checkManifest(path, kFormat, kArtifactVersion));
  artifact.hash_ = artifact.manifest_["hash"].get<std::string>();
  for (const char *name : {kPlanFile, "state.safetensors"})
    if (!artifact.has(name))
      return corrupt("'{}' has no {}", path, name);
  DLC_ASSIGN(plan::Plan plan, readPlan(artifact.filePath(kPlanFile)));
  if (use == Use::Run)
    DLC_TRY(checkCpuFeatures(plan, commandOf(artifact.manifest_))
                .withContext(fmt::format("'{}'", path)));
  artifact.plan_ = std::make_shared<const plan::Plan>(std::move(plan));
  return artifact;
} catch (...) {
  return caughtException(path);
}

bool Artifact::has(const std::string &name) const {
  return manifest_["files"].contains(name);
}

std::string Artifact::kernelsPath() const {
  if (plan_->target() == "cuda")
    return path_; // the device finds its own kernels in it
  return has(kKernelsFile) ? filePath(kKernelsFile) : "";
}

Result<ArtifactWriter> ArtifactWriter::create(const std::string &path) {
  std::error_code ignored;
  if (isFolder(path) && !exists(path + "/manifest.json") &&
      !fs::is_empty(path, ignored))
    return failed("'{}' exists and is not an artifact: remove it or choose "
                  "another name",
                  path);
  DLC_ASSIGN(AtomicDirectory directory, AtomicDirectory::create(path));
  return ArtifactWriter(std::move(directory));
}

Status ArtifactWriter::finish(const plan::Plan &plan,
                              const std::string &command) {
  DLC_TRY(verifyPlan(plan));
  std::string bytes;
  if (!plan.SerializeToString(&bytes))
    return limitExceeded("the plan is too big to be stored");
  DLC_TRY(writeNewFile(folder() + "/" + kPlanFile, bytes));
  Json fields = {
      {"format", kFormat},
      {"version", kArtifactVersion},
      {"dlc", dlcVersion()},
      {"target", plan.target()},
      {"cpu", plan.cpu()},
      {"cpu_features", std::vector<std::string>(plan.cpu_features().begin(),
                                                plan.cpu_features().end())},
      {"command", command}};
  DLC_TRY(writeManifest(folder(), std::move(fields)).status());
  return directory_.commit();
}

} // namespace dlc
