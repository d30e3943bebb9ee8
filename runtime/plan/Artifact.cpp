// SPDX-License-Identifier: Apache-2.0
#include "runtime/plan/Artifact.h"

#include "runtime/base/Text.h"
#include "runtime/base/process/Boundary.h"

#include <filesystem>

namespace fs = std::filesystem;

namespace dlc {
namespace {

constexpr char kPlanFile[] = "plan.pb";

Result<plan::Plan> readPlan(const std::string &folder, const Json &manifest,
                            bool isVerified) {
  const std::string path = folder + "/" + kPlanFile;
  DLC_ASSIGN(const std::string bytes, readListed(folder, manifest, kPlanFile));
  plan::Plan plan;
  if (!plan.ParseFromString(bytes))
    return corrupt("'{}' is not a plan", path);
  if (isVerified)
    DLC_TRY(verifyPlan(plan).withContext(fmt::format("'{}'", path)));
  return plan;
}

// Why a folder is not an artifact, or has files that artifacts do not have; ""
// if compiling may replace it.
std::string whatElse(const std::string &path) {
  if (exists(path + "/model.dlc"))
    return "a run";
  const std::string run = path + "/..";
  if (fs::path(path).filename() == "model.dlc" && exists(run + "/config.yaml"))
    return "the artifact of a run, which its checkpoints need";
  if (!exists(path + "/manifest.json"))
    return "not an artifact: it has no manifest.json";
  auto manifest = readManifest(path, kArtifactFormat, kArtifactVersion);
  if (!manifest)
    return "not an artifact: " + manifest.status().message();
  std::error_code error;
  for (fs::directory_iterator it(path, error), end; !error && it != end;
       it.increment(error)) {
    const std::string name = it->path().filename();
    const bool listed =
        name == "manifest.json" || (*manifest)["files"].contains(name);
    if (!listed || kindOfFile(it->path()) != "a file")
      return fmt::format("an artifact, but '{}' in it was not written by dlc",
                         printable(name));
  }
  return error ? "not readable: " + error.message() : "";
}

Status checkReplaceable(std::string path) {
  DLC_TRY(AtomicDirectory::check(path));
  while (path.size() > 1 && path.back() == '/')
    path.pop_back();
  std::error_code error;
  if (kindOfFile(path) != "a folder" || fs::is_empty(path, error))
    return {};
  const std::string what = whatElse(path);
  return what.empty() ? Status()
                      : failed("'{}' exists and is {}; remove it or choose "
                               "another name",
                               path, what);
}

std::string commandOf(const Json &manifest) {
  auto command = jsonString(manifest, "command");
  return command ? printable(*command) : "dlc compile";
}

} // namespace

Result<Artifact> Artifact::open(const std::string &path, Use use) try {
  if (!exists(path))
    return failed("no artifact '{}': no such file or directory", path);
  if (!isFolder(path))
    return failed(
        "'{}' is not an artifact: expected a folder made by dlc "
        "compile{}",
        path,
        path.ends_with(".onnx")
            ? fmt::format(", as by `dlc compile {} -o model.dlc`", path)
            : "");
  Artifact artifact;
  artifact.path_ = path;
  DLC_ASSIGN(artifact.manifest_,
             checkManifest(path, kArtifactFormat, kArtifactVersion));
  artifact.hash_ = artifact.manifest_["hash"].get<std::string>();
  for (const char *name : {kPlanFile, "state.safetensors"})
    if (!artifact.has(name))
      return corrupt("'{}' has no {}", path, name);
  DLC_ASSIGN(plan::Plan plan,
             readPlan(path, artifact.manifest_, use != Use::State));
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

// Whether it calls kernels, or operators of libraries, stored with them.
static bool callsKernels(const plan::Plan &plan) {
  for (const plan::Program &program : plan.programs())
    for (const plan::Command &command : program.commands())
      if (command.kind() == "kernel" || command.kind() == "custom")
        return true;
  return false;
}

KernelFiles Artifact::kernels() const {
  // The device selects files, or reports which are missing.
  return callsKernels(*plan_) ? KernelFiles(path_, manifest_) : KernelFiles();
}

Status ArtifactWriter::check(const std::string &path) {
  return checkReplaceable(path);
}

Result<ArtifactWriter> ArtifactWriter::create(const std::string &path) {
  DLC_TRY(checkReplaceable(path));
  DLC_ASSIGN(AtomicDirectory directory, AtomicDirectory::create(path));
  return ArtifactWriter(path, std::move(directory));
}

Status ArtifactWriter::finish(const plan::Plan &plan,
                              const std::string &command) {
  DLC_TRY(verifyPlan(plan));
  std::string bytes;
  if (!plan.SerializeToString(&bytes))
    return limitExceeded("the plan is too big to be stored");
  DLC_TRY(writeNewFile(folder() + "/" + kPlanFile, bytes));
  Json fields = {
      {"format", kArtifactFormat},
      {"version", kArtifactVersion},
      {"dlc", dlcVersion()},
      {"target", plan.target()},
      {"cpu", plan.cpu()},
      {"cpu_features", std::vector<std::string>(plan.cpu_features().begin(),
                                                plan.cpu_features().end())},
      {"command", command}};
  DLC_TRY(writeManifest(folder(), std::move(fields)).status());
  DLC_TRY(checkReplaceable(path_)); // it may have changed meanwhile
  return directory_.commit();
}

} // namespace dlc
