// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

namespace dlc {

// A port of 127.0.0.1 that no socket uses at present, or -1.
inline int freePort() {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto *any = reinterpret_cast<sockaddr *>(&address);
  int handle = ::socket(AF_INET, SOCK_STREAM, 0);
  bool named =
      ::bind(handle, any, size) == 0 && ::getsockname(handle, any, &size) == 0;
  ::close(handle);
  return named ? ntohs(address.sin_port) : -1;
}

} // namespace dlc
