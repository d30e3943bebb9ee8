// SPDX-License-Identifier: Apache-2.0
#include "runtime/collective/Socket.h"
#include "tools/dlc/doctor/Machine.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <unistd.h>

namespace dlc::tool {
namespace {

std::string digitsOf(const sockaddr *address) {
  char text[NI_MAXHOST] = "";
  const socklen_t size = address->sa_family == AF_INET ? sizeof(sockaddr_in)
                                                       : sizeof(sockaddr_in6);
  return ::getnameinfo(address, size, text, sizeof text, nullptr, 0,
                       NI_NUMERICHOST) == 0
             ? text
             : "";
}

Findings interfaces() {
  Findings found;
  ifaddrs *list = nullptr;
  if (::getifaddrs(&list) != 0)
    return {{"interfaces", "", "the system does not list them", true}};
  for (const ifaddrs *one = list; one; one = one->ifa_next) {
    const bool up = (one->ifa_flags & IFF_UP) != 0;
    const int family = one->ifa_addr ? one->ifa_addr->sa_family : AF_UNSPEC;
    if (!up || (family != AF_INET && family != AF_INET6))
      continue;
    const bool local = (one->ifa_flags & IFF_LOOPBACK) != 0;
    found.push_back({one->ifa_name, digitsOf(one->ifa_addr) +
                                        (local ? "  (this host only)" : "")});
  }
  ::freeifaddrs(list);
  if (found.empty())
    found.push_back({"interfaces", "",
                     "none is up: a single rank can train, but several cannot "
                     "connect; ip link set lo up",
                     true});
  return found;
}

bool isOwnOnly(const std::string &address) {
  return isLoopback(address) || address.starts_with("127.");
}

// Whether other hosts could use this one as MASTER_ADDR.
Finding hostName() {
  char name[256] = "";
  ::gethostname(name, sizeof name - 1);
  addrinfo hints = {}, *list = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  const int failed = ::getaddrinfo(name, nullptr, &hints, &list);
  if (failed)
    return {"host", name,
            fmt::format("the host's name has no address ({}): for ranks on "
                        "several hosts set MASTER_ADDR to an IP address",
                        ::gai_strerror(failed))};
  std::string addresses;
  bool reachable = false;
  for (const addrinfo *one = list; one; one = one->ai_next) {
    const std::string address = digitsOf(one->ai_addr);
    reachable |= !isOwnOnly(address);
    addresses += (addresses.empty() ? "" : ", ") + address;
  }
  ::freeaddrinfo(list);
  Finding found = {"host", fmt::format("{}: {}", name, addresses)};
  if (!reachable)
    found.problem = "the host's name has only local addresses: for ranks on "
                    "several hosts set MASTER_ADDR to an IP address";
  return found;
}

} // namespace

Findings findNetwork() {
  Findings found = interfaces();
  found.insert(found.begin(), hostName());
  return found;
}

} // namespace dlc::tool
