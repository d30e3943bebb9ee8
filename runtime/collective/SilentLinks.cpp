// SPDX-License-Identifier: Apache-2.0
#include "runtime/collective/SilentLinks.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>

namespace dlc {
namespace {

using std::chrono::milliseconds, std::chrono::seconds;

template <class Visit> void forEachSocket(Visit visit) {
  std::error_code error;
  for (std::filesystem::directory_iterator at("/proc/self/fd", error), end;
       !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename();
    int descriptor = -1;
    std::from_chars(name.data(), name.data() + name.size(), descriptor);
    struct stat found {};
    if (::fstat(descriptor, &found) == 0 && S_ISSOCK(found.st_mode))
      visit(descriptor, found.st_ino);
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
  // It is looked for at each probe, which may be late.
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
