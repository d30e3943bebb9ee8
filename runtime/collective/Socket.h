// SPDX-License-Identifier: Apache-2.0
// TCP sockets whose calls end by a deadline.
#pragma once

#include "runtime/base/Status.h"

#include <chrono>
#include <string>
#include <utility>

namespace dlc {

// "10.0.0.1:29500", "[fd00::1]:29500"
std::string placeText(const std::string &address, int port);
// Of this host alone: localhost, 127.0.0.1, ::1.
bool isLoopback(const std::string &address);

// A descriptor that is closed with it.
class Socket {
public:
  using Clock = std::chrono::steady_clock;

  explicit Socket(int descriptor = -1) : descriptor_(descriptor) {}
  Socket(Socket &&other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket &operator=(Socket &&other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~Socket();

  // Listens; port 0: one that is free. IPv4 or IPv6, as the address is. One
  // that is neither in digits nor "localhost": all interfaces, of IPv6 if the
  // name has no other addresses.
  static Result<Socket> listen(const std::string &address, int port);
  // Tries once; Code::PeerLost. A full backlog is waited for no longer either.
  static Result<Socket> connect(const std::string &address, int port,
                                Clock::time_point deadline);

  int descriptor() const { return descriptor_; }
  int port() const;            // its own
  std::string address() const; // its own, in digits
  std::string peerAddress() const;
  int release() { return std::exchange(descriptor_, -1); }

  // All `size` bytes; false if the peer has gone or the deadline is past. Of a
  // socket that does not block, as connect() and accept4() make them.
  bool send(const void *data, size_t size, Clock::time_point deadline) const;
  bool receive(void *data, size_t size, Clock::time_point deadline) const;

  // Whether there is something to receive, or the end, before the deadline.
  bool waitToReceive(Clock::time_point deadline) const;

  // Closes within 20 s once the peer's machine or the way to it is gone, which
  // says nothing; one that is only stopped still answers.
  void noticeVanishedPeer() const;

private:
  template <class Byte, class Transfer>
  bool transferAll(short events, Byte *next, size_t size,
                   Clock::time_point deadline, Transfer &&transfer) const;
  bool wait(short events, Clock::time_point deadline) const;

  int descriptor_;
};

} // namespace dlc
