// SPDX-License-Identifier: Apache-2.0
// TCP sockets whose calls have deadlines.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/base/process/RunningClock.h"

#include <chrono>
#include <string>
#include <utility>

namespace dlc {

// "10.0.0.1:29500", "[fd00::1]:29500"
std::string placeText(const std::string &address, int port);
// localhost, 127.0.0.1, ::1.
bool isLoopback(const std::string &address);
// An address of this host for other hosts: that of the interface, or if it is
// empty of the first running one; IPv6 if there is no IPv4 address and this one
// is valid beyond its link. Falls back to the loopback address.
std::string addressOfHost(const std::string &interface);
// The names of interfaces that are up: "eth0, lo".
std::string namesOfInterfaces();

// Raises the limit of open files to this number and some more, if permitted.
void raiseFileLimit(int files);

// Owns a descriptor.
class Socket {
public:
  using Clock = RunningClock;

  explicit Socket(int descriptor = -1) : descriptor_(descriptor) {}
  Socket(Socket &&other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket &operator=(Socket &&other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~Socket();

  // Listens; port 0: a free one. IPv4 or IPv6, like the address. An address
  // that is neither numeric nor "localhost" means all interfaces, by IPv6 if
  // the name has only IPv6 addresses.
  static Result<Socket> listen(const std::string &address, int port);
  // Tries once; Code::PeerLost, also when the backlog stays full.
  static Result<Socket> connect(const std::string &address, int port,
                                Clock::time_point deadline);

  int descriptor() const { return descriptor_; }
  int port() const;            // local
  std::string address() const; // local, numeric
  std::string peerAddress() const;
  int release() { return std::exchange(descriptor_, -1); }

  // Transfers all `size` bytes; false if the peer closed the connection or the
  // deadline passed. For nonblocking sockets, as from connect().
  bool send(const void *data, size_t size, Clock::time_point deadline) const;
  bool receive(void *data, size_t size, Clock::time_point deadline) const;

  // Whether data, or the end of the stream, arrives before the deadline.
  bool waitToReceive(Clock::time_point deadline) const;

  // Closes the connection within this time, at least 20 s, after the peer's
  // machine or the network to it fails silently; a process that is only stopped
  // still acknowledges.
  void noticeVanishedPeer(std::chrono::milliseconds within = {}) const;

private:
  template <class Byte, class Transfer>
  bool transferAll(short events, Byte *next, size_t size,
                   Clock::time_point deadline, Transfer &&transfer) const;
  bool wait(short events, Clock::time_point deadline) const;

  int descriptor_;
};

} // namespace dlc
