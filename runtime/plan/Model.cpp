// SPDX-License-Identifier: Apache-2.0
#include "runtime/plan/Model.h"

#include "runtime/base/Text.h"
#include "runtime/base/numbers/ParseNumber.h"
#include "runtime/base/process/Boundary.h"
#include "runtime/base/process/Log.h"
#include "runtime/plan/parts/StateFiles.h"

#include <algorithm>
#include <filesystem>

namespace fs = std::filesystem;

namespace dlc {
namespace {

constexpr std::string_view kPrefix = "checkpoint-";
constexpr char kArtifactFolder[] = "/model.dlc";

constexpr char kStateFile[] = "state.safetensors";

// Checks that they exist, before all are read.
Result<std::vector<std::string>> partsIn(const std::string &checkpoint,
                                         const Json &manifest) {
  auto parts = plan::partsOf(manifest);
  if (!parts)
    return parts.status().withContext(
        fmt::format("'{}/manifest.json'", checkpoint));
  for (const std::string &part : *parts)
    if (!exists(checkpoint + "/" + part))
      return corrupt(
          "'{}/{}' is missing: each rank has written a part of this checkpoint "
          "(--save=sharded) into this folder, which hosts must share; copy the "
          "file there, or use another checkpoint",
          checkpoint, part);
  return parts;
}

// Checks that the step in trainer.json is that of the name.
Status checkStep(const std::string &checkpoint) {
  const std::string path = checkpoint + "/trainer.json";
  const std::optional<int64_t> named = stepOfCheckpoint(checkpoint);
  DLC_ASSIGN(const std::string text, readFile(path, 1 << 20));
  const auto read = [&]() -> Result<uint64_t> {
    DLC_ASSIGN(const Json json, parseJson(text));
    return jsonUnsigned(json, "step");
  };
  const auto step = read();
  if (!step)
    return step.status().withContext(fmt::format("'{}'", path));
  if (named && *step != static_cast<uint64_t>(*named))
    return corrupt("'{}' is a checkpoint of step {} under another name",
                   checkpoint, *step);
  return {};
}

Result<Model> openCheckpoint(const std::string &run, Checkpoint checkpoint,
                             Artifact::Use use) {
  DLC_ASSIGN(Artifact artifact, Artifact::open(run + kArtifactFolder, use));
  DLC_TRY(checkCheckpoint(checkpoint.path, artifact.hash()));
  std::string state = stateOf(checkpoint.path);
  return Model{std::move(artifact), std::move(checkpoint), std::move(state)};
}

// The newest checkpoint of a run.
Result<Model> openRun(const std::string &run, Artifact::Use use) {
  DLC_ASSIGN(Artifact artifact, Artifact::open(run + kArtifactFolder, use));
  DLC_ASSIGN(NewestCheckpoint newest, findNewest(run, artifact.hash()));
  if (!newest.checkpoint)
    return failed("run '{}' has no checkpoint yet", run);
  for (const auto &[damaged, why] : newest.damaged)
    warning("{}: '{}' is used instead", why.message(), newest.checkpoint->path);
  std::string state = stateOf(newest.checkpoint->path);
  return Model{std::move(artifact), *std::move(newest.checkpoint),
               std::move(state)};
}

} // namespace

bool isRun(const std::string &path) {
  return isFolder(path + kArtifactFolder) && exists(path + "/config.yaml");
}

Status checkIsRun(const std::string &path) {
  if (!isFolder(path))
    return failed("no run '{}': no such folder", path);
  if (isRun(path))
    return {};
  std::string what = "it has no config.yaml and model.dlc";
  if (stepOfCheckpoint(path))
    what = fmt::format("it is a checkpoint of '{}'", parentOf(path));
  else if (exists(path + "/plan.pb"))
    what = fmt::format("it is an artifact: dlc train {} starts one", path);
  return failed("'{}' is not a run: {}", path, what);
}

std::optional<int64_t> stepOfCheckpoint(std::string_view path) {
  std::string_view name = path.substr(path.rfind('/') + 1);
  if (!name.starts_with(kPrefix))
    return std::nullopt;
  name.remove_prefix(kPrefix.size());
  const auto step = asNumber<int64_t>(name);
  return step && *step >= 0 && name == std::to_string(*step) ? step
                                                             : std::nullopt;
}

std::string stateOf(const std::string &checkpoint) {
  const std::string file = checkpoint + "/" + kStateFile;
  return exists(file) ? file : checkpoint;
}

std::vector<Checkpoint> listCheckpoints(const std::string &run) {
  std::vector<Checkpoint> found;
  std::error_code ignored;
  for (const auto &entry : fs::directory_iterator(run, ignored))
    if (auto step = stepOfCheckpoint(entry.path().string()))
      found.push_back({entry.path().string(), *step});
  std::sort(found.begin(), found.end(),
            [](auto &a, auto &b) { return a.step > b.step; });
  return found;
}

Status checkCheckpoint(const std::string &checkpoint,
                       const std::string &artifactHash) try {
  DLC_ASSIGN(Json manifest,
             readManifest(checkpoint, kCheckpointFormat, kCheckpointVersion));
  DLC_ASSIGN(const auto parts, partsIn(checkpoint, manifest));
  DLC_TRY(checkFiles(checkpoint, manifest));
  DLC_ASSIGN(std::string artifact, jsonString(manifest, "artifact"));
  if (artifact != artifactHash)
    return corrupt("'{}' was written by another compilation of a model ({}) "
                   "than the run's artifact ({})",
                   checkpoint, printable(artifact), artifactHash);
  for (const char *name : {kStateFile, "trainer.json"})
    if (!manifest["files"].contains(name) &&
        (name != kStateFile || parts.empty()))
      return corrupt("'{}' has no {}", checkpoint, name);
  return checkStep(checkpoint);
} catch (...) {
  return caughtException(checkpoint);
}

Result<NewestCheckpoint> findNewest(const std::string &run,
                                    const std::string &artifactHash) {
  while (true) {
    NewestCheckpoint newest;
    const std::vector<Checkpoint> all = listCheckpoints(run);
    for (const Checkpoint &checkpoint : all) {
      const Status status = checkCheckpoint(checkpoint.path, artifactHash);
      if (status.ok()) {
        newest.checkpoint = checkpoint;
        return newest;
      }
      if (status.code() != Code::Corrupt)
        return status;
      newest.damaged.emplace_back(checkpoint, status);
    }
    // A run in progress may have removed it and written a newer one.
    const std::vector<Checkpoint> now = listCheckpoints(run);
    if (!now.empty() && (all.empty() || now[0].step > all[0].step))
      continue;
    if (all.empty())
      return newest;
    return corrupt("{}; no checkpoint of '{}' is intact ({} found): train "
                   "again from its artifact '{}{}'",
                   newest.damaged[0].second.message(), run, all.size(), run,
                   kArtifactFolder);
  }
}

// The checkpoint that RUN/best links to; other paths are returned unchanged.
static std::string withoutBestLink(const std::string &path) {
  fs::path folder = fs::path(path).lexically_normal();
  if (folder.filename().empty())
    folder = folder.parent_path();
  std::error_code error;
  const fs::path target = fs::read_symlink(folder, error);
  if (error || folder.filename() != "best" ||
      !stepOfCheckpoint(target.string()))
    return path;
  return (folder.parent_path() / target.filename()).string();
}

Result<Model> openModel(const std::string &given, Artifact::Use use) try {
  const std::string path = withoutBestLink(given);
  fs::path folder = fs::path(path).lexically_normal();
  if (folder.filename().empty())
    folder = folder.parent_path();
  if (isFolder(path + kArtifactFolder))
    return openRun(path, use);
  std::string run = folder.has_parent_path() ? folder.parent_path().string()
                                             : std::string(".");
  std::optional<int64_t> step = stepOfCheckpoint(folder.string());
  if (step && isFolder(run + kArtifactFolder)) {
    if (!isFolder(path))
      return failed("run '{}' has no checkpoint of step {}", run, *step);
    return openCheckpoint(run, {folder.string(), *step}, use);
  }
  if (isFolder(path) && !exists(path + "/manifest.json"))
    return corrupt(
        "'{}' is not an artifact, run or checkpoint: it has no manifest.json",
        path);
  DLC_ASSIGN(Artifact artifact, Artifact::open(path, use));
  std::string state = artifact.statePath();
  return Model{std::move(artifact), std::nullopt, std::move(state)};
} catch (...) {
  return caughtException(given);
}

} // namespace dlc
