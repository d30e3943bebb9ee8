// SPDX-License-Identifier: Apache-2.0
#include "runtime/collective/store/Notice.h"

#include "runtime/base/Text.h"
#include "runtime/base/files/Atomic.h"
#include "runtime/collective/store/Pmi.h"
#include "runtime/collective/store/Pmix.h"
#include "runtime/collective/store/StoreClient.h"

#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <fmt/ranges.h>
#include <sstream>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace dlc {
namespace {

using Clock = Socket::Clock;

constexpr char kForm[] = "dlc-store-1";
constexpr size_t kLongest = 1024; // bytes of a notice

// "dlc-store-1 127.0.0.1 41234 TOKEN"; without the token if the job has one.
std::string textOf(const Rendezvous &rendezvous, bool hasToken) {
  return fmt::format("{} {} {} {}\n", kForm, rendezvous.address,
                     rendezvous.port, hasToken ? "" : rendezvous.token);
}

Status parse(const std::string &text, Rendezvous &rendezvous) {
  std::istringstream words(text);
  std::string form, token;
  Rendezvous found = rendezvous;
  if (!(words >> form >> found.address >> found.port) || form != kForm ||
      found.port < 1 || found.port > 65535)
    return peerLost("{} says '{}', which is not a notice of rank 0",
                    rendezvous.notice.text(), printable(text, 60));
  if (found.token.empty())
    words >> found.token;
  rendezvous = found;
  return {};
}

Result<std::string> makeToken() {
  unsigned char random[32];
  if (::getentropy(random, sizeof random) != 0)
    return failed("cannot make a job's token: {}", std::strerror(errno));
  return fmt::format("{:02x}", fmt::join(random, ""));
}

std::chrono::milliseconds until(Clock::time_point deadline) {
  return std::max(
      std::chrono::milliseconds(1),
      std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()));
}

Status writeNoticeFile(const std::string &path, const std::string &text) {
  const std::filesystem::path place(path);
  const std::string folder =
      place.has_parent_path() ? place.parent_path().string() : ".";
  DLC_ASSIGN(Unfinished file,
             Unfinished::create(Unfinished::Kind::File, folder,
                                place.filename().string(), 0600));
  if (::write(file.descriptor(), text.data(), text.size()) !=
          static_cast<ssize_t>(text.size()) ||
      ::rename(file.path().c_str(), path.c_str()) != 0)
    return systemError("write", path);
  file.release();
  return {};
}

// The file's author decides to which address this rank connects: only accepts
// files that no other user can write.
Result<std::string> readNoticeFile(const std::string &path) {
  const Socket file(
      ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  struct stat info;
  if (file.descriptor() < 0)
    return peerLost("rank 0 has left no notice in '{}': {}", path,
                    std::strerror(errno));
  if (::fstat(file.descriptor(), &info) != 0 || !S_ISREG(info.st_mode) ||
      info.st_uid != ::geteuid() || (info.st_mode & (S_IWGRP | S_IWOTH)))
    return peerLost("'{}' is not a notice of rank 0: expected a file of this "
                    "user that no other user may write",
                    path);
  std::string text(kLongest, '\0');
  const ssize_t size = ::read(file.descriptor(), text.data(), text.size());
  text.resize(static_cast<size_t>(std::max<ssize_t>(size, 0)));
  return text;
}

// Retries, since the store may not listen yet.
Result<StoreClient> reach(const Notice &notice, Clock::time_point deadline) {
  for (;;) {
    auto client =
        StoreClient::connect(notice.address, notice.port, until(deadline));
    constexpr std::chrono::milliseconds kPause(100);
    if (client.ok() || Clock::now() + kPause >= deadline)
      return client;
    std::this_thread::sleep_for(kPause);
  }
}

Status listenFor(Rendezvous &rendezvous) {
  DLC_ASSIGN(Socket listener, Socket::listen(rendezvous.address, 0));
  rendezvous.port = listener.port();
  rendezvous.listener = listener.release();
  return {};
}

Result<std::string> shareByLauncher(const Rendezvous &rendezvous,
                                    const std::string &text,
                                    Clock::time_point deadline) {
  const Notice &notice = rendezvous.notice;
  return notice.pmix
             ? shareByPmix(rendezvous.rank, text, deadline)
             : shareByPmi(notice.hydra, rendezvous.rank, text, deadline);
}

Status leaveAtLauncher(Rendezvous &rendezvous, bool hasToken) {
  if (rendezvous.address.empty())
    rendezvous.address = addressOfHost(rendezvous.interface);
  DLC_TRY(listenFor(rendezvous));
  std::string text = textOf(rendezvous, hasToken);
  text.pop_back();
  std::replace(text.begin(), text.end(), ' ', ',');
  return shareByLauncher(rendezvous, text, Clock::now() + rendezvous.timeout)
      .status();
}

// Asks only once, since the exchange has a barrier.
Status readAtLauncher(Rendezvous &rendezvous, Clock::time_point deadline) {
  std::string &said = rendezvous.notice.said;
  if (said.empty()) {
    DLC_ASSIGN(said, shareByLauncher(rendezvous, "", deadline));
    std::replace(said.begin(), said.end(), ',', ' ');
  }
  return parse(std::string(said), rendezvous);
}

Status leaveInStore(Rendezvous &rendezvous, bool hasToken) {
  const Notice &notice = rendezvous.notice;
  DLC_ASSIGN(StoreClient client,
             reach(notice, Clock::now() + rendezvous.timeout));
  // On the store's host, rank 0 is reached by the store's address.
  const std::string own = client.socket().address();
  rendezvous.address =
      own == client.socket().peerAddress() ? notice.address : own;
  DLC_TRY(listenFor(rendezvous));
  DLC_TRY(client.set(notice.place, textOf(rendezvous, hasToken)));
  return client.get(notice.place).status(); // set() has no answer
}

Status leaveInFile(Rendezvous &rendezvous, bool hasToken) {
  if (rendezvous.address.empty())
    rendezvous.address = addressOfHost(rendezvous.interface);
  DLC_TRY(listenFor(rendezvous));
  return writeNoticeFile(rendezvous.notice.place, textOf(rendezvous, hasToken));
}

} // namespace

std::string Notice::text() const {
  return isLaunchers() ? place
         : port == 0   ? fmt::format("'{}'", place)
                       : fmt::format("{} in the store at {}", place,
                                     placeText(address, port));
}

Status leaveNotice(Rendezvous &rendezvous) {
  const bool hasToken = !rendezvous.token.empty();
  if (!hasToken) {
    DLC_ASSIGN(rendezvous.token, makeToken());
  }
  rendezvous.notice.said = "";
  const Notice &notice = rendezvous.notice;
  const auto leave = notice.isLaunchers() ? leaveAtLauncher
                     : notice.port == 0   ? leaveInFile
                                          : leaveInStore;
  DLC_TRY(leave(rendezvous, hasToken));
  rendezvous.notice.said = textOf(rendezvous, hasToken);
  return {};
}

Status readNotice(Rendezvous &rendezvous, Clock::time_point deadline) {
  const Notice &notice = rendezvous.notice;
  if (notice.isLaunchers())
    return readAtLauncher(rendezvous, deadline);
  if (notice.port == 0) {
    DLC_ASSIGN(const std::string text, readNoticeFile(notice.place));
    return parse(text, rendezvous);
  }
  DLC_ASSIGN(StoreClient client, reach(notice, deadline));
  DLC_ASSIGN(const std::string text, client.get(notice.place));
  return parse(text, rendezvous);
}

void removeNotice(const Rendezvous &rendezvous) {
  const Notice &notice = rendezvous.notice;
  if (notice.said.empty() || notice.isLaunchers())
    return;
  if (notice.port == 0) {
    const auto text = readNoticeFile(notice.place);
    if (text.ok() && *text == notice.said)
      ::unlink(notice.place.c_str());
    return;
  }
  auto client = StoreClient::connect(notice.address, notice.port,
                                     std::chrono::milliseconds(500));
  if (!client.ok())
    return;
  const auto there = client->check({notice.place});
  if (there.ok() && *there)
    if (const auto text = client->get(notice.place);
        text.ok() && *text == notice.said)
      (void)client->erase(notice.place).ok();
}

} // namespace dlc
