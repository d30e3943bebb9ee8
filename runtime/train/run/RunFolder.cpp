// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/run/RunFolder.h"

#include "runtime/base/Text.h"
#include "runtime/train/Agree.h"
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

// The first unused runs/<model>-<N>.
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

// nullopt if the name was taken meanwhile.
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

std::string absolutePath(const std::string &path) {
  std::error_code error;
  const fs::path result = fs::absolute(path, error);
  return path.empty() || error ? path : result.lexically_normal().string();
}

Status copyArtifact(const std::string &from, const std::string &to) {
  DLC_ASSIGN(const Json manifest,
             readManifest(from, kArtifactFormat, kArtifactVersion));
  DLC_TRY(makeFolder(to));
  DLC_TRY(copyFile(from + "/manifest.json", to + "/manifest.json"));
  for (const auto &[name, entry] : manifest["files"].items())
    DLC_TRY(copyFile(from + "/" + name, to + "/" + name));
  return syncFolder(to);
}

Result<RunFolder> RunFolder::open(const std::string &resume,
                                  Communicator &ranks) {
  RunFolder folder;
  folder.path_ = resume;
  const auto lock = [&]() -> Status {
    DLC_ASSIGN(RunLock taken, RunLock::take(resume));
    folder.lock_.emplace(std::move(taken));
    return {};
  };
  if (!resume.empty())
    DLC_TRY(onRoot(ranks, lock));
  return folder;
}

Status RunFolder::make(const TrainOptions &options, Communicator &ranks) {
  if (path_.empty())
    DLC_TRY(onRoot(ranks, [&] { return create(options); }));
  if (ranks.size() == 1)
    return {};
  DLC_ASSIGN(const auto paths, ranks.allGather(absolutePath(path_)));
  if (!isOwn())
    path_ = paths[0];
  return {};
}

Status RunFolder::create(const TrainOptions &options) {
  // If two runs start at the same time with the same free name, the later one
  // takes the next.
  while (true) {
    path_ = options.run.empty() ? freeRunName(options.artifact) : options.run;
    std::error_code ignored;
    if (!exists(path_) || (isFolder(path_) && fs::is_empty(path_, ignored))) {
      DLC_ASSIGN(auto lock, writeRun(path_, options));
      if (lock) {
        lock_.emplace(*std::move(lock));
        return {};
      }
    }
    if (!options.run.empty())
      return usageError(
          "run folder '{}' exists already: choose another --run, or "
          "go on with it by --resume={}",
          path_, shellQuoted(path_));
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
