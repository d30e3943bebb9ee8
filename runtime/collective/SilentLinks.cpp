// SPDX-License-Identifier: Apache-2.0
#include "runtime/collective/SilentLinks.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string>
#include <sys/socket.h>

namespace dlc {
namespace {

using std::chrono::milliseconds, std::chrono::seconds;

// The number after `before` at the start of `text`; -1: none.
int64_t numberIn(std::string_view text, std::string_view before) {
  int64_t number = -1;
  if (text.starts_with(before))
    std::from_chars(text.data() + before.size(), text.data() + text.size(),
                    number);
  return number;
}

// Visits this process's sockets. Reads only links of /proc, since another
// thread may be closing a descriptor.
template <class Visit> void forEachSocket(Visit visit) {
  std::error_code error, gone;
  for (std::filesystem::directory_iterator at("/proc/self/fd", error), end;
       !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename(),
                      of = std::filesystem::read_symlink(at->path(), gone);
    if (const int64_t inode = numberIn(of, "socket:["); inode >= 0)
      visit(static_cast<int>(numberIn(name, "")), static_cast<ino_t>(inode));
  }
}

bool isConnection(int socket) {
  int protocol = 0;
  socklen_t size = sizeof protocol;
  sockaddr_storage peer{};
  socklen_t length = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PROTOCOL, &protocol, &size) == 0 &&
         protocol == IPPROTO_TCP &&
         ::getpeername(socket, reinterpret_cast<sockaddr *>(&peer), &length) ==
             0;
}

void setOption(int socket, int level, int option, int64_t value) {
  const int number = static_cast<int>(value);
  (void)::setsockopt(socket, level, option, &number, sizeof number);
}

} // namespace

SilentLinks::SilentLinks() {
  forEachSocket([this](int, ino_t inode) { open_.insert(inode); });
}

void SilentLinks::end(milliseconds silence) const {
  const seconds pause =
      std::max(seconds(1), std::chrono::duration_cast<seconds>(silence / 8));
  // The kernel checks the limit at each probe, which may be late.
  const milliseconds limit =
      std::max<milliseconds>(silence - 2 * pause, silence / 2);
  forEachSocket([&](int socket, ino_t inode) {
    if (open_.count(inode) || !isConnection(socket))
      return;
    setOption(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
    setOption(socket, IPPROTO_TCP, TCP_KEEPIDLE, pause.count());
    setOption(socket, IPPROTO_TCP, TCP_KEEPINTVL, pause.count());
    setOption(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, limit.count());
  });
}

} // namespace dlc
