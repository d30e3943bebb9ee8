// SPDX-License-Identifier: Apache-2.0
#include "runtime/collective/Socket.h"

#include "runtime/base/files/Files.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/ranges.h>
#include <ifaddrs.h>
#include <memory>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <set>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

namespace dlc {

Socket::~Socket() {
  if (descriptor_ >= 0)
    ::close(descriptor_);
}

void raiseFileLimit(int files) {
  rlimit limit{};
  const rlim_t wanted = rlim_t(files) + 1024;
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted)
    return;
  limit.rlim_cur = std::min(wanted, limit.rlim_max);
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

std::string placeText(const std::string &address, int port) {
  const bool isSix = address.find(':') != address.npos;
  return fmt::format("{}{}{}:{}", isSix ? "[" : "", address, isSix ? "]" : "",
                     port);
}

bool isLoopback(const std::string &address) {
  return address == "localhost" || address == "::1" ||
         address.starts_with("127.");
}

namespace {

// Calls visit(name, address) for each address of an interface that is up.
template <class Visit> void forEachInterface(Visit visit) {
  ifaddrs *list = nullptr;
  if (::getifaddrs(&list) != 0)
    return;
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs *)> all(list, ::freeifaddrs);
  for (const ifaddrs *entry = list; entry; entry = entry->ifa_next) {
    const int family = entry->ifa_addr ? entry->ifa_addr->sa_family : AF_UNSPEC;
    char text[NI_MAXHOST] = "";
    const socklen_t size =
        family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    if ((family == AF_INET || family == AF_INET6) &&
        (entry->ifa_flags & IFF_UP) &&
        ::getnameinfo(entry->ifa_addr, size, text, sizeof text, nullptr, 0,
                      NI_NUMERICHOST) == 0)
      visit(*entry, std::string(text));
  }
}

} // namespace

std::string addressOfHost(const std::string &interface) {
  std::string four, six;
  forEachInterface([&](const ifaddrs &entry, const std::string &address) {
    const bool runs = (entry.ifa_flags & IFF_RUNNING) && // docker0 may not
                      !(entry.ifa_flags & IFF_LOOPBACK);
    std::string &found = entry.ifa_addr->sa_family == AF_INET ? four : six;
    if (found.empty() && !address.starts_with("fe80:") &&
        (interface.empty() ? runs : interface == entry.ifa_name))
      found = address;
  });
  return !four.empty() ? four : !six.empty() ? six : "127.0.0.1";
}

std::string namesOfInterfaces() {
  std::set<std::string> names;
  forEachInterface([&](const ifaddrs &entry, const std::string &) {
    names.insert(entry.ifa_name);
  });
  return fmt::format("{}", fmt::join(names, ", "));
}

namespace {

using AddressList = std::unique_ptr<addrinfo, void (*)(addrinfo *)>;

// Null if there is none; then sets `error`.
AddressList resolve(const std::string &address, int port, int flags,
                    int &error) {
  addrinfo hints{}, *list = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  const std::string service = std::to_string(port);
  error = ::getaddrinfo(address.c_str(), service.c_str(), &hints, &list);
  return {error == 0 ? list : nullptr, ::freeaddrinfo};
}

// The address to listen on. A numeric address is this machine's; a name may
// resolve to other addresses than the machine has, so all interfaces are used.
AddressList localAddress(const std::string &address, int port, int &error) {
  const std::string digits = address == "localhost" ? "127.0.0.1" : address;
  if (AddressList found = resolve(digits, port, AI_NUMERICHOST, error))
    return found;
  bool hasFour = false, hasSix = false;
  const AddressList named = resolve(address, port, 0, error);
  for (const addrinfo *entry = named.get(); entry; entry = entry->ai_next)
    (entry->ai_family == AF_INET6 ? hasSix : hasFour) = true;
  return resolve(hasSix && !hasFour ? "::" : "0.0.0.0", port, AI_NUMERICHOST,
                 error);
}

} // namespace

Result<Socket> Socket::listen(const std::string &address, int port) {
  int unknown = 0;
  const AddressList local = localAddress(address, port, unknown);
  if (!local)
    return failed("rank 0 cannot listen on {}: {}", placeText(address, port),
                  ::gai_strerror(unknown));
  Socket listener(::socket(local->ai_family,
                           SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (listener.descriptor() < 0)
    return systemError("open a socket on", address);
  int on = 1;
  ::setsockopt(listener.descriptor(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(listener.descriptor(), local->ai_addr, local->ai_addrlen) != 0 ||
      ::listen(listener.descriptor(), SOMAXCONN) != 0)
    return failed("rank 0 cannot listen on {}: {}", placeText(address, port),
                  std::strerror(errno));
  return listener;
}

static Status noAnswer(const std::string &address, int port,
                       const char *reason) {
  return peerLost("rank 0 does not answer at {}: {}", placeText(address, port),
                  reason);
}

// The error of a connection in progress, once it is established or has failed.
static int errorOf(const Socket &socket, bool begun) {
  if (!begun)
    return errno;
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(socket.descriptor(), SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

Result<Socket> Socket::connect(const std::string &address, int port,
                               Clock::time_point deadline) {
  int error = 0;
  const AddressList found = resolve(address, port, 0, error);
  if (!found)
    return noAnswer(address, port, ::gai_strerror(error));
  error = EHOSTUNREACH;
  for (const addrinfo *entry = found.get(); entry; entry = entry->ai_next) {
    Socket socket(::socket(entry->ai_family,
                           SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (socket.descriptor() < 0)
      continue;
    const bool begun = ::connect(socket.descriptor(), entry->ai_addr,
                                 entry->ai_addrlen) == 0 ||
                       errno == EINPROGRESS;
    if (begun && !socket.wait(POLLOUT, deadline)) {
      error = ETIMEDOUT;
      continue;
    }
    error = errorOf(socket, begun);
    int on = 1;
    if (error == 0) {
      ::setsockopt(socket.descriptor(), IPPROTO_TCP, TCP_NODELAY, &on,
                   sizeof on);
      socket.noticeVanishedPeer();
      return socket;
    }
  }
  return noAnswer(address, port, std::strerror(error));
}

int Socket::port() const {
  sockaddr_storage local{};
  socklen_t size = sizeof local;
  ::getsockname(descriptor_, reinterpret_cast<sockaddr *>(&local), &size);
  return ntohs(local.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6 &>(local).sin6_port
                   : reinterpret_cast<const sockaddr_in &>(local).sin_port);
}

static std::string addressBy(decltype(::getsockname) ask, int descriptor) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  char text[NI_MAXHOST] = "";
  if (ask(descriptor, reinterpret_cast<sockaddr *>(&address), &size) == 0)
    ::getnameinfo(reinterpret_cast<sockaddr *>(&address), size, text,
                  sizeof text, nullptr, 0, NI_NUMERICHOST);
  return text;
}

std::string Socket::address() const {
  return addressBy(::getsockname, descriptor_);
}

std::string Socket::peerAddress() const {
  return addressBy(::getpeername, descriptor_);
}

bool Socket::waitToReceive(Clock::time_point deadline) const {
  return wait(POLLIN, deadline);
}

bool Socket::wait(short events, Clock::time_point deadline) const {
  for (;;) {
    const auto left = Clock::sliceUntil(deadline);
    if (left.count() <= 0)
      return false;
    pollfd entry{descriptor_, events, 0};
    const int ready = ::poll(&entry, 1, static_cast<int>(left.count()));
    if (ready > 0)
      return true;
    if (ready < 0 && errno != EINTR)
      return false;
  }
}

// Calls `transfer` with the remaining bytes until none remain.
template <class Byte, class Transfer>
bool Socket::transferAll(short events, Byte *next, size_t size,
                         Clock::time_point deadline,
                         Transfer &&transfer) const {
  while (size > 0) {
    if (!wait(events, deadline))
      return false;
    const ssize_t count = transfer(next, size);
    if (count < 0 && (errno == EINTR || errno == EAGAIN))
      continue;
    if (count <= 0)
      return false;
    next += count;
    size -= static_cast<size_t>(count);
  }
  return true;
}

bool Socket::send(const void *data, size_t size,
                  Clock::time_point deadline) const {
  return transferAll(POLLOUT, static_cast<const char *>(data), size, deadline,
                     [this](const char *from, size_t left) {
                       return ::send(descriptor_, from, left, MSG_NOSIGNAL);
                     });
}

bool Socket::receive(void *data, size_t size,
                     Clock::time_point deadline) const {
  return transferAll(POLLIN, static_cast<char *>(data), size, deadline,
                     [this](char *to, size_t left) {
                       return ::recv(descriptor_, to, left, 0);
                     });
}

void Socket::noticeVanishedPeer(std::chrono::milliseconds within) const {
  const int unsent = static_cast<int>(
      std::clamp<int64_t>(within.count(), 20'000, 100'000'000));  // ms
  const int on = 1, idle = 5, between = unsent / 4000, tries = 3; // s
  ::setsockopt(descriptor_, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  ::setsockopt(descriptor_, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
  ::setsockopt(descriptor_, IPPROTO_TCP, TCP_KEEPINTVL, &between,
               sizeof between);
  ::setsockopt(descriptor_, IPPROTO_TCP, TCP_KEEPCNT, &tries, sizeof tries);
  ::setsockopt(descriptor_, IPPROTO_TCP, TCP_USER_TIMEOUT, &unsent,
               sizeof unsent);
}

} // namespace dlc
