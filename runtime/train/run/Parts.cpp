// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/run/Parts.h"

#include "runtime/base/Json.h"
#include "runtime/base/files/Atomic.h"
#include "runtime/base/process/Boundary.h"
#include "runtime/collective/Hosts.h"
#include "runtime/plan/parts/StateFiles.h"
#include "runtime/train/Agree.h"
#include "runtime/train/run/RunFolder.h"

#include <sys/stat.h>

namespace dlc {
namespace {

// Disks may be slow; the wait also ends if a rank dies or falls silent.
constexpr std::chrono::hours kWriting(1);

Status notShared(int rank, const std::string &path) {
  return failed("rank {} (its host: {}) does not see '{}', which rank 0 has "
                "made: --save=sharded needs a folder that all hosts share; "
                "--save=background lets rank 0 write all of it",
                rank, hostName(), path);
}

// A rank's report: a JSON object with its digest or its error.
std::string textOf(const Result<FileDigest> &written) {
  if (written.ok())
    return dumpJson(Json{{"size", written->size}, {"hash", written->sha256}});
  return dumpJson(Json{{"code", int(written.status().code())},
                       {"error", written.status().message()}});
}

Result<FileDigest> digestOf(const std::string &text, size_t rank) {
  DLC_ASSIGN(const Json json, parseJson(text));
  if (json.contains("error"))
    return Status(static_cast<Code>(json.value("code", 1)),
                  fmt::format("rank {}: {}", rank, json.value("error", "")));
  DLC_ASSIGN(const uint64_t size, jsonUnsigned(json, "size"));
  DLC_ASSIGN(std::string hash, jsonString(json, "hash"));
  return FileDigest{size, std::move(hash)};
}

} // namespace

Result<std::unique_ptr<Parts>> Parts::create(const std::string &run,
                                             Communicator &communicator) {
  const int rank = communicator.rank();
  std::optional<Unfinished> made;
  const auto make = [&]() -> Status {
    DLC_ASSIGN(Unfinished folder, Unfinished::create(Unfinished::Kind::Folder,
                                                     run, "parts", 0700));
    made.emplace(std::move(folder));
    return {};
  };
  DLC_TRY(agree(communicator, rank == 0 ? make() : Status()));
  DLC_ASSIGN(const auto all,
             communicator.allGather(made ? absolutePath(made->path()) : ""));
  DLC_TRY(agree(communicator,
                isFolder(all[0]) ? Status() : notShared(rank, all[0])));
  DLC_ASSIGN(auto ranks, communicator.sibling(kWriting));
  return std::unique_ptr<Parts>(new Parts(std::move(ranks)));
}

// This rank's report.
std::string Parts::attempt(const std::string &folder, const Writer &own) const {
  if (!isFolder(folder))
    return textOf(notShared(ranks_->rank(), folder));
  const auto write = [&]() -> Result<FileDigest> {
    try {
      return own(folder + "/" + plan::partName(ranks_->rank(), ranks_->size()));
    } catch (...) {
      return caughtException("writing a part of a checkpoint");
    }
  };
  return textOf(write());
}

Result<std::map<std::string, FileDigest>> Parts::write(const std::string &given,
                                                       const Writer &own) {
  const std::string folder = absolutePath(given);
  DLC_TRY(ranks_->allGather(folder).status());
  DLC_ASSIGN(const auto all, ranks_->allGather(attempt(folder, own)));
  std::map<std::string, FileDigest> parts;
  for (size_t rank = 0; rank < all.size(); ++rank) {
    const std::string name = plan::partName(int(rank), ranks_->size());
    DLC_ASSIGN(const FileDigest digest, digestOf(all[rank], rank));
    struct stat found {};
    if (::stat((folder + "/" + name).c_str(), &found) != 0 ||
        uint64_t(found.st_size) != digest.size)
      return failed("rank 0 does not see '{}' as rank {} has written it: "
                    "--save=sharded needs a folder that all hosts share",
                    name, rank);
    parts[name] = digest;
  }
  return parts;
}

Status Parts::end() { return ranks_->allGather(std::string()).status(); }

Status Parts::follow(const Writer &own) {
  while (true) {
    DLC_ASSIGN(const auto all, ranks_->allGather(std::string()));
    if (all[0].empty())
      return {};
    DLC_TRY(ranks_->allGather(attempt(all[0], own)).status());
  }
}

} // namespace dlc
