// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/spool/Spool.h"

#include "runtime/base/files/CacheFolder.h"
#include "runtime/base/files/Files.h"
#include "runtime/base/numbers/Hash.h"
#include "runtime/base/options/Environment.h"
#include "runtime/base/process/Log.h"
#include "runtime/base/process/Subprocess.h"

#include <filesystem>
#include <span>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>

namespace dlc {
namespace {

namespace fs = std::filesystem;

// Version of the protocol between dlc and dlc-data (dlc_data/__init__.py).
constexpr int kDataFormat = 1;
constexpr const char *kDataProgram = "dlc-data";
constexpr std::chrono::hours kKeptFor(30 * 24);
constexpr std::string_view kPart = ".part-"; // unfinished outputs of dlc-data

Status runDataProgram(const SpoolJob &job, const std::string &output) {
  DLC_ASSIGN(const std::string program, findDataProgram(job.data));
  std::vector<std::string> words = dataProgramWords(program);
  words.push_back(job.command);
  words.insert(words.end(), job.words.begin(), job.words.end());
  words.insert(words.end(), job.places.begin(), job.places.end());
  words.push_back("--output=" + output);
  words.emplace_back("--");
  words.insert(words.end(), job.files.begin(), job.files.end());
  DLC_ASSIGN(const OwnProgramEnd end, runOwnProgram(words));
  if (end.code == 0)
    return exists(output)
               ? Status()
               : failed("'{}' produced no file from '{}'", program, job.data);
  if (end.error.empty())
    return failed("'{}': '{}' ended with exit code {}", job.data, program,
                  end.code);
  return end.code == 2 ? usageError("{}", end.error) : failed("{}", end.error);
}

std::string keyOf(const SpoolJob &job) {
  std::string text =
      fmt::format("format {}\n{}\n{}\n", kDataFormat, job.command, job.content);
  for (const std::string &word : job.words)
    text += fmt::format("{} {}\n", word.size(), word);
  return sha256(std::as_bytes(std::span(text)));
}

// Whether the file exists; updates its time of last use.
bool isThere(const std::string &path) {
  return ::utimensat(AT_FDCWD, path.c_str(), nullptr, AT_SYMLINK_NOFOLLOW) == 0;
}

void removeOld(const std::string &folder) {
  std::error_code error;
  const auto oldest = fs::file_time_type::clock::now() - kKeptFor;
  for (auto at = fs::directory_iterator(folder, error);
       !error && at != fs::directory_iterator(); at.increment(error)) {
    std::error_code ignored;
    if (at->last_write_time(ignored) >= oldest || ignored)
      continue;
    if (at->path().filename().string().find(kPart) != std::string::npos)
      fs::remove_all(at->path(), ignored);
    else if (!at->is_directory(ignored))
      fs::remove(at->path(), ignored);
  }
}

Result<std::shared_ptr<const SpooledFile>>
spoolForOneself(const SpoolJob &job, const std::string &why) {
  if (!why.empty())
    warning("'{}': {}: the result is not cached", job.data, why);
  DLC_ASSIGN(TemporaryFolder folder, TemporaryFolder::create(kDataProgram));
  const std::string path = folder.path() + "/all" + job.ending;
  DLC_TRY(runDataProgram(job, path));
  return std::make_shared<const SpooledFile>(path, std::move(folder));
}

// In bytes; others wait longer for more.
uint64_t bytesIn(const std::vector<std::string> &files) {
  uint64_t bytes = 0;
  std::error_code error;
  for (const std::string &file : files)
    if (const uint64_t size = fs::file_size(file, error); !error)
      bytes += size;
  return bytes;
}

} // namespace

Result<std::shared_ptr<const Source>>
spooledArrays(std::shared_ptr<const SpooledFile> made, std::string name,
              std::vector<std::string> classes,
              std::function<Result<std::string>(int threads)> hashOf) {
  class SpooledArrays final : public SourceOver {
  public:
    using SourceOver::SourceOver;
    std::string name() const override { return name_; }
    std::vector<std::string> classes() const override { return classes_; }
    Result<std::string> hash(int threads) const override {
      return hash_(threads);
    }

    std::shared_ptr<const SpooledFile> made_; // kept
    std::string name_;
    std::vector<std::string> classes_;
    decltype(hashOf) hash_;
  };
  DLC_ASSIGN(auto arrays, openSource(made->path(), {}));
  auto source = std::make_shared<SpooledArrays>(std::move(arrays));
  source->made_ = std::move(made), source->name_ = std::move(name);
  source->classes_ = std::move(classes), source->hash_ = std::move(hashOf);
  return source;
}

Result<std::string> findDataProgram(const std::string &data) {
  if (auto path = environment::dataProgram())
    return *std::move(path);
  const std::string path = findProgram(kDataProgram);
  if (!path.empty())
    return path;
  return usageError("'{}' is read by dlc-data: pip install 'dlc[data]', or set "
                    "DLC_DATA_PROGRAM to its path",
                    data);
}

std::vector<std::string> dataProgramWords(const std::string &program) {
  return {program, fmt::format("--format={}", kDataFormat)};
}

Result<std::shared_ptr<const SpooledFile>> spool(const std::string &folder,
                                                 const SpoolJob &job) {
  if (folder.empty())
    return spoolForOneself(job, "");
  const std::string own = folder + "/data", key = keyOf(job),
                    path = fmt::format("{}/{}{}", own, key, job.ending);
  DLC_TRY(checkCacheOwner(folder));
  DLC_TRY(checkCacheOwner(own));
  if (isThere(path))
    return std::make_shared<const SpooledFile>(path);
  if (const Status made = makeFolder(own, 0700); !made.ok())
    return spoolForOneself(job, made.message());
  const uint64_t bytes = bytesIn(job.files);
  const auto limit = job.wait + std::chrono::milliseconds(bytes / 1000);
  const auto lock = FileLock::take(fmt::format("{}/{}.lock", own, key), limit);
  if (!lock)
    return spoolForOneself(job, lock.status().message());
  if (!*lock)
    return spoolForOneself(
        job, fmt::format("another process is not done with it after {} s",
                         limit.count() / 1000));
  if (isThere(path)) // made while this process waited
    return std::make_shared<const SpooledFile>(path);
  removeOld(own);
  DLC_TRY(runDataProgram(job, path));
  if (bytes >= (4 << 20))
    info("the result for '{}' is cached as '{}'", job.data, path);
  return std::make_shared<const SpooledFile>(path);
}

} // namespace dlc
