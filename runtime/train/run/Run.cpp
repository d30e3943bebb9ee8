// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/run/Run.h"

#include "runtime/base/Text.h"
#include "runtime/train/run/Checkpoints.h"

#include <filesystem>
#include <optional>
#include <unistd.h>

namespace fs = std::filesystem;

namespace dlc {
namespace {

// "lenet" of "models/lenet.dlc/"
std::string modelName(const std::string &artifact) {
  fs::path path = fs::path(artifact).lexically_normal();
  if (path.filename().empty())
    path = path.parent_path();
  std::string name = path.stem().string();
  return name.empty() || name == "." ? "model" : name;
}

// The first runs/<model>-<N> that is free.
std::string freeRunName(const std::string &artifact) {
  for (int number = 1;; ++number) {
    std::string path = fmt::format("runs/{}-{}", modelName(artifact), number);
    if (!exists(path))
      return path;
  }
}

Status copyFile(const fs::path &from, const fs::path &to) {
  if (::link(from.c_str(), to.c_str()) == 0)
    return {};
  DLC_ASSIGN(MappedFile file, MappedFile::open(from.string()));
  return writeNewFile(to.string(), file.text());
}

// Nothing if the name was taken meanwhile.
Result<std::optional<RunLock>> writeRun(const std::string &path,
                                        const TrainOptions &options) {
  DLC_ASSIGN(AtomicDirectory folder, AtomicDirectory::create(path));
  DLC_TRY(copyArtifact(options.artifact, folder.folder() + "/model.dlc"));
  DLC_TRY(writeNewFile(folder.folder() + "/config.yaml", toYaml(options)));
  DLC_ASSIGN(RunLock lock, RunLock::take(folder.folder()));
  DLC_ASSIGN(const bool free, folder.commitIfFree());
  if (!free)
    return std::optional<RunLock>();
  lock.renamed(path);
  return std::optional<RunLock>(std::move(lock));
}

} // namespace

Status copyArtifact(const std::string &from, const std::string &to) {
  DLC_ASSIGN(const Json manifest,
             readManifest(from, kArtifactFormat, kArtifactVersion));
  DLC_TRY(makeFolder(to));
  DLC_TRY(copyFile(from + "/manifest.json", to + "/manifest.json"));
  for (const auto &[name, entry] : manifest["files"].items())
    DLC_TRY(copyFile(from + "/" + name, to + "/" + name));
  return syncFolder(to);
}

Result<NewRun> createRun(const TrainOptions &options) {
  // Two runs that begin at the same time find the same name free; the later one
  // takes the next.
  while (true) {
    std::string path =
        options.run.empty() ? freeRunName(options.artifact) : options.run;
    std::error_code ignored;
    if (!exists(path) || (isFolder(path) && fs::is_empty(path, ignored))) {
      DLC_ASSIGN(auto lock, writeRun(path, options));
      if (lock)
        return NewRun{path, *std::move(lock)};
    }
    if (!options.run.empty())
      return usageError(
          "run folder '{}' exists already: choose another --run, or "
          "go on with it by --resume={}",
          path, shellQuoted(path));
  }
}

Result<int> ranksOfRun(const std::string &run, std::optional<int64_t> step) {
  DLC_ASSIGN(Artifact artifact, Artifact::open(run + "/model.dlc"));
  if (step) {
    DLC_ASSIGN(const std::string path, checkpointOf(run, *step));
    DLC_ASSIGN(const Progress progress, readProgress(path));
    return progress.world;
  }
  DLC_ASSIGN(const NewestCheckpoint newest, findNewest(run, artifact.hash()));
  if (!newest.checkpoint)
    return static_cast<int>(artifact.plan().world_size());
  DLC_ASSIGN(const Progress progress, readProgress(newest.checkpoint->path));
  return progress.world;
}

} // namespace dlc
