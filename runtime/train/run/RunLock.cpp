// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/run/RunLock.h"

#include "runtime/base/Text.h"
#include "runtime/base/files/Files.h"
#include "runtime/base/process/Log.h"
#include "runtime/collective/Hosts.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <optional>
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
      ::ftruncate(file, static_cast<off_t>(text.size())) != 0)
    (void)::ftruncate(file, 0);
}

} // namespace

RunLock::RunLock(RunLock &&other) noexcept
    : run_(std::move(other.run_)), file_(std::exchange(other.file_, -1)),
      folder_(other.folder_), lockFile_(other.lockFile_),
      files_(std::move(other.files_)) {}

RunLock::~RunLock() {
  if (file_ >= 0)
    ::close(file_);
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
  const int file =
      ::open(path.c_str(),
             O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0644);
  if (file < 0)
    return systemError("open", path);
  RunLock owner(run_); // closes it
  owner.file_ = file;
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
  file_ = std::exchange(owner.file_, std::exchange(file_, -1));
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
  if (file_ < 0 || identityOf(lockPath()) == lockFile_)
    return {};
  warning("'{}' was removed or replaced: it is made again", lockPath());
  return lock(0);
}

} // namespace dlc
