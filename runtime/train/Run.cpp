#include "runtime/train/Run.h"

#include "runtime/base/Log.h"
#include "runtime/train/State.h"

#include <filesystem>
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

Json toJson(const Progress &progress) {
  return {{"step", progress.step},
          {"epoch", progress.cursor.epoch},
          {"sample", progress.cursor.sample},
          {"data_hash", progress.dataHash},
          {"samples", progress.samples},
          {"world", progress.world}};
}

Result<Progress> progressFrom(const std::string &path) {
  DLC_ASSIGN(std::string text, readFile(path, 1 << 20));
  auto read = [&]() -> Result<Progress> {
    DLC_ASSIGN(Json json, parseJson(text));
    Progress progress;
    DLC_ASSIGN(uint64_t step, jsonUnsigned(json, "step"));
    DLC_ASSIGN(uint64_t epoch, jsonUnsigned(json, "epoch"));
    uint64_t sample = UINT64_MAX;
    if (json.contains("sample")) {
      DLC_ASSIGN(sample, jsonUnsigned(json, "sample"));
    }
    DLC_ASSIGN(uint64_t samples, jsonUnsigned(json, "samples"));
    DLC_ASSIGN(uint64_t world, jsonUnsigned(json, "world"));
    DLC_ASSIGN(progress.dataHash, jsonString(json, "data_hash"));
    progress.step = static_cast<int64_t>(step);
    progress.cursor = {static_cast<int64_t>(epoch),
                       static_cast<int64_t>(sample)};
    progress.samples = static_cast<int64_t>(samples);
    progress.world = static_cast<int>(world);
    return progress;
  };
  auto progress = read();
  if (!progress)
    return progress.status().withContext(fmt::format("'{}'", path));
  return progress;
}

void removeOld(const std::string &run, int64_t keep) {
  std::vector<Checkpoint> checkpoints = listCheckpoints(run);
  std::error_code ignored;
  for (size_t i = static_cast<size_t>(keep); i < checkpoints.size(); ++i)
    fs::remove_all(checkpoints[i].path, ignored);
}

// Checkpoints of an older version have no cursor: their ranks never changed.
void findCursor(Progress &progress, const plan::Plan &plan) {
  if (progress.cursor.sample >= 0)
    return;
  const Sampling sampling{.batch = plan.batch(),
                          .window = std::max<int64_t>(1, plan.accumulate()),
                          .world = progress.world};
  progress.cursor = sampling.cursorAfter(progress.step, progress.samples);
}

// What a process that was killed while it wrote has left.
void removeUnfinished(const std::string &run) {
  std::error_code ignored;
  for (const auto &entry : fs::directory_iterator(run, ignored)) {
    std::string path = entry.path().string();
    if (size_t mark = path.rfind(".tmp-"); mark != path.npos)
      removeStale(path.substr(0, mark));
  }
}

Result<Progress> loadCheckpoint(Session &session, const std::string &path) {
  DLC_TRY(checkCheckpoint(path, session.model().artifact.hash()));
  DLC_ASSIGN(Progress progress, progressFrom(path + "/trainer.json"));
  DLC_TRY(session.load(path + "/state.safetensors"));
  findCursor(progress, session.plan());
  return progress;
}

// Whether the name was still free.
Result<bool> writeRun(const std::string &path, const TrainOptions &options) {
  DLC_ASSIGN(AtomicDirectory folder, AtomicDirectory::create(path));
  DLC_TRY(copyArtifact(options.artifact, folder.folder() + "/model.dlc"));
  DLC_TRY(writeNewFile(folder.folder() + "/config.yaml", toYaml(options)));
  return folder.commitIfFree();
}

} // namespace

Status copyArtifact(const std::string &from, const std::string &to) {
  DLC_TRY(makeFolder(to));
  std::error_code error;
  for (const auto &entry : fs::directory_iterator(from, error))
    DLC_TRY(copyFile(entry.path(), fs::path(to) / entry.path().filename()));
  if (error)
    return failed("cannot list '{}': {}", from, error.message());
  return syncFolder(to);
}

Result<std::string> createRun(const TrainOptions &options) {
  // Two runs that begin at the same time find the same name free; the later one
  // takes the next.
  while (true) {
    std::string path =
        options.run.empty() ? freeRunName(options.artifact) : options.run;
    std::error_code ignored;
    bool free =
        !exists(path) || (isFolder(path) && fs::is_empty(path, ignored));
    if (free) {
      DLC_ASSIGN(free, writeRun(path, options));
    }
    if (free)
      return path;
    if (!options.run.empty())
      return usageError(
          "run folder '{}' exists already: choose another --run, or "
          "go on with it by --resume={}",
          path, path);
  }
}

Status saveCheckpoint(Session &session, const std::string &run,
                      const Progress &progress, int64_t keep) {
  std::string path = fmt::format("{}/checkpoint-{}", run, progress.step);
  DLC_TRY(checkFinite(session.executor()).withContext("no checkpoint written"));
  DLC_ASSIGN(AtomicDirectory folder, AtomicDirectory::create(path));
  DLC_TRY(session.save(folder.folder() + "/state.safetensors"));
  DLC_TRY(writeNewFile(folder.folder() + "/trainer.json",
                       dumpJson(toJson(progress), 2) + "\n"));
  Json fields = {{"format", kCheckpointFormat},
                 {"version", kCheckpointVersion},
                 {"dlc", dlcVersion()},
                 {"artifact", session.model().artifact.hash()}};
  DLC_TRY(writeManifest(folder.folder(), std::move(fields)).status());
  DLC_TRY(folder.commit());
  removeOld(run, keep);
  return {};
}

Result<Progress> loadNewestCheckpoint(Session &session,
                                      const std::string &run) {
  removeUnfinished(run);
  std::vector<Checkpoint> checkpoints = listCheckpoints(run);
  for (size_t i = 0; i < checkpoints.size(); ++i) {
    auto progress = loadCheckpoint(session, checkpoints[i].path);
    if (progress || progress.status().code() != Code::Corrupt ||
        i + 1 == checkpoints.size())
      return progress;
    warning("{}: going back to '{}'", progress.status().message(),
            checkpoints[i + 1].path);
  }
  DLC_TRY(session.load(session.model().artifact.statePath()));
  return Progress();
}

Result<int> ranksOfRun(const std::string &run) {
  DLC_ASSIGN(Artifact artifact, Artifact::open(run + "/model.dlc"));
  for (const Checkpoint &checkpoint : listCheckpoints(run)) {
    if (!checkCheckpoint(checkpoint.path, artifact.hash()).ok())
      continue;
    DLC_ASSIGN(const Progress progress,
               progressFrom(checkpoint.path + "/trainer.json"));
    return progress.world;
  }
  return static_cast<int>(artifact.plan().world_size());
}

} // namespace dlc
