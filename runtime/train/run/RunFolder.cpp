// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/run/RunFolder.h"

#include "runtime/base/Text.h"
#include "runtime/base/files/Files.h"
#include "runtime/base/process/Log.h"
#include "runtime/collective/Hosts.h"
#include "runtime/train/Agree.h"
#include "runtime/train/run/Checkpoints.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace dlc {
namespace {

namespace fs = std::filesystem;

using Clock = std::chrono::steady_clock;
using Identity = std::pair<dev_t, ino_t>;

// A killed process keeps its locks until its memory is freed.
constexpr double kPatience = 2;

// nullopt if there is no such file.
std::optional<Identity> identityOf(const std::string &path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0)
    return std::nullopt;
  return Identity{found.st_dev, found.st_ino};
}

std::optional<Identity> identityOf(int file) {
  struct stat found {};
  if (::fstat(file, &found) != 0 || !S_ISREG(found.st_mode))
    return std::nullopt;
  return Identity{found.st_dev, found.st_ino};
}

// The file has another link, which belongs to another program.
bool isLinked(int file) {
  struct stat found {};
  return ::fstat(file, &found) == 0 && found.st_nlink > 1;
}

bool isGone(const std::string &path) {
  struct stat found {};
  return ::stat(path.c_str(), &found) != 0 &&
         (errno == ENOENT || errno == ENOTDIR);
}

// May fail on a full disk; then messages cannot name the holder.
void writeHolder(int file) {
  const std::string text = fmt::format("{} {}\n", ::getpid(), hostName());
  if (::pwrite(file, text.data(), text.size(), 0) < 0 ||
      ::ftruncate(file, off_t(text.size())) != 0)
    (void)::ftruncate(file, 0);
}

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
    return int(artifact.plan().world_size());
  DLC_ASSIGN(const Progress progress, readProgress(newest.checkpoint->path));
  return progress.world;
}

Result<RunLock> RunLock::take(const std::string &run) {
  RunLock lock(run);
  const auto folder = identityOf(run);
  if (!folder)
    return systemError("open", run);
  lock.folder_ = *folder;
  DLC_TRY(lock.lock(kPatience));
  lock.listFiles();
  return lock;
}

Status RunLock::lock(double patienceSeconds) {
  const Clock::time_point start = Clock::now();
  while (true) {
    const double waited =
        std::chrono::duration<double>(Clock::now() - start).count();
    auto locked = tryLock();
    if (!locked && waited < patienceSeconds &&
        locked.status().code() == Code::Limit)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    else if (!locked)
      return Status(Code::Failed, locked.status().message());
    else if (*locked)
      return {};
  }
}

// False if the file was replaced meanwhile. Code::Limit if it is locked.
Result<bool> RunLock::tryLock() {
  const std::string path = lockPath();
  Descriptor opened(
      ::open(path.c_str(),
             O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0644));
  const int file = opened.number();
  if (file < 0)
    return systemError("open", path);
  const auto own = identityOf(file);
  if (!own)
    return failed("'{}' is not a plain file", path);
  while (::flock(file, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK)
      return inUse(file);
    if (errno == EINTR)
      continue;
    warning("cannot lock '{}': {}: take care that no other process writes into "
            "this run",
            path, std::strerror(errno));
    return true;
  }
  if (identityOf(path) != own)
    return false;
  if (isLinked(file)) {
    ::unlink(path.c_str());
    return false;
  }
  writeHolder(file);
  lockFile_ = *own;
  file_ = std::move(opened);
  return true;
}

Status RunLock::inUse(int file) const {
  std::array<char, 512> text{};
  const ssize_t size = ::pread(file, text.data(), text.size() - 1, 0);
  std::string_view holder(text.data(), size > 0 ? size_t(size) : 0);
  const size_t space = holder.find(' ');
  long process = 0;
  std::from_chars(holder.data(), holder.data() + holder.size(), process);
  if (process <= 0 || space == holder.npos)
    return limitExceeded("run '{}' is in use by another process", run_);
  std::string_view host = holder.substr(space + 1);
  host = host.substr(0, host.find('\n'));
  return limitExceeded("run '{}' is in use by process {} on {}", run_, process,
                       printable(host));
}

void RunLock::listFiles() {
  std::error_code ignored;
  files_ = {"config.yaml"};
  for (const auto &entry : fs::directory_iterator(run_ + "/model.dlc", ignored))
    files_.push_back("model.dlc/" + entry.path().filename().string());
}

Status RunLock::check() {
  if (isGone(run_))
    return failed("run folder '{}' was removed or moved away while it was "
                  "trained",
                  run_);
  const auto folder = identityOf(run_);
  if (folder && *folder != folder_)
    return failed("run folder '{}' was replaced by another while it was "
                  "trained",
                  run_);
  for (const std::string &name : files_)
    if (isGone(run_ + "/" + name))
      return failed("'{}/{}' was removed or moved away while the run was "
                    "trained",
                    run_, name);
  if (!file_ || identityOf(lockPath()) == lockFile_)
    return {};
  warning("'{}' was removed or replaced: it is made again", lockPath());
  return lock(0);
}

} // namespace dlc
