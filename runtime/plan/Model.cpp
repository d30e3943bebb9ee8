#include "runtime/plan/Model.h"

#include "runtime/base/Boundary.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

namespace fs = std::filesystem;

namespace dlc {
namespace {

constexpr std::string_view kPrefix = "checkpoint-";
constexpr char kArtifactFolder[] = "/model.dlc";

// The step in "checkpoint-<step>"; nothing for any other name.
std::optional<int64_t> stepOf(std::string_view name) {
  if (!name.starts_with(kPrefix))
    return std::nullopt;
  name.remove_prefix(kPrefix.size());
  int64_t step = 0;
  auto [end, error] =
      std::from_chars(name.data(), name.data() + name.size(), step);
  if (error != std::errc() || end != name.data() + name.size() || step < 0)
    return std::nullopt;
  return step;
}

Result<Model> openCheckpoint(const std::string &run, Checkpoint checkpoint,
                             Artifact::Use use) {
  DLC_ASSIGN(Artifact artifact, Artifact::open(run + kArtifactFolder, use));
  DLC_TRY(checkCheckpoint(checkpoint.path, artifact.hash()));
  std::string state = checkpoint.path + "/state.safetensors";
  return Model{std::move(artifact), std::move(checkpoint), std::move(state)};
}

} // namespace

std::vector<Checkpoint> listCheckpoints(const std::string &run) {
  std::vector<Checkpoint> found;
  std::error_code ignored;
  for (const auto &entry : fs::directory_iterator(run, ignored))
    if (auto step = stepOf(entry.path().filename().string()))
      found.push_back({entry.path().string(), *step});
  std::sort(found.begin(), found.end(),
            [](auto &a, auto &b) { return a.step > b.step; });
  return found;
}

Status checkCheckpoint(const std::string &checkpoint,
                       const std::string &artifactHash) try {
  DLC_ASSIGN(Json manifest,
             checkManifest(checkpoint, kCheckpointFormat, kCheckpointVersion));
  DLC_ASSIGN(std::string artifact, jsonString(manifest, "artifact"));
  if (artifact != artifactHash)
    return incompatible("'{}' was written by another compilation of a model "
                        "({}) than the run's artifact ({})",
                        checkpoint, artifact, artifactHash);
  for (const char *name : {"state.safetensors", "trainer.json"})
    if (!manifest["files"].contains(name))
      return corrupt("'{}' has no {}", checkpoint, name);
  return {};
} catch (...) {
  return caughtException(checkpoint);
}

Result<Model> openModel(const std::string &path, Artifact::Use use) try {
  fs::path folder = fs::path(path).lexically_normal();
  if (folder.filename().empty())
    folder = folder.parent_path();
  if (isFolder(path + kArtifactFolder)) {
    std::vector<Checkpoint> checkpoints = listCheckpoints(path);
    if (checkpoints.empty())
      return failed("run '{}' has no checkpoint yet", path);
    return openCheckpoint(path, checkpoints[0], use);
  }
  std::string run = folder.has_parent_path() ? folder.parent_path().string()
                                             : std::string(".");
  std::optional<int64_t> step = stepOf(folder.filename().string());
  if (step && isFolder(run + kArtifactFolder)) {
    if (!isFolder(path))
      return failed("run '{}' has no checkpoint of step {}", run, *step);
    return openCheckpoint(run, {folder.string(), *step}, use);
  }
  if (isFolder(path) && !exists(path + "/manifest.json"))
    return corrupt("'{}' is no artifact, run or checkpoint: it has no "
                   "manifest.json",
                   path);
  DLC_ASSIGN(Artifact artifact, Artifact::open(path, use));
  std::string state = artifact.statePath();
  return Model{std::move(artifact), std::nullopt, std::move(state)};
} catch (...) {
  return caughtException(path);
}

} // namespace dlc
