// SPDX-License-Identifier: Apache-2.0
#include "runtime/collective/Hosts.h"
#include "runtime/base/Text.h"
#include "runtime/base/process/Log.h"

#include <algorithm>
#include <map>
#include <set>
#include <unistd.h>

namespace dlc {

constexpr const char *kOption = "--hierarchical-all-reduce";

std::string hostName() {
  char name[256] = "";
  ::gethostname(name, sizeof name - 1);
  return name;
}

std::string RankFacts::text() const {
  return host + "\n" + (byHosts ? "by hosts\n" : "directly\n");
}

RankFacts RankFacts::parse(const std::string &text) {
  RankFacts facts;
  std::vector<std::string> lines;
  for (size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos;
       at = end + 1)
    lines.push_back(text.substr(at, end - at));
  if (lines.size() < 2)
    return facts;
  facts.host = printable(lines[0]);
  facts.byHosts = lines[1] == "by hosts";
  return facts;
}

Result<std::vector<std::vector<int>>>
ranksByHost(const std::vector<RankFacts> &ranks, int self) {
  std::vector<std::vector<int>> hosts;
  std::map<std::string, size_t> places;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    if (ranks[rank].byHosts != ranks[0].byHosts)
      return usageError("rank {} has {} and rank {} has not: give it to all",
                        ranks[0].byHosts ? 0 : rank, kOption,
                        ranks[0].byHosts ? rank : 0);
    const auto [place, isNew] =
        places.try_emplace(ranks[rank].host, hosts.size());
    if (isNew)
      hosts.emplace_back();
    hosts[place->second].push_back(static_cast<int>(rank));
  }
  if (ranks.empty() || !ranks[0].byHosts)
    return std::vector<std::vector<int>>();
  for (const std::vector<int> &host : hosts)
    if (host.size() != hosts[0].size()) {
      const auto nameOf = [&](const std::vector<int> &of) {
        return ranks[static_cast<size_t>(of[0])].host;
      };
      return usageError("{}: expected as many ranks on each host, found {} on "
                        "'{}' and {} on '{}': leave it out",
                        kOption, hosts[0].size(), nameOf(hosts[0]), host.size(),
                        nameOf(host));
    }
  if (hosts.size() > 1 && hosts[0].size() > 1)
    return hosts;
  if (self == 0)
    warning("{} changes nothing: {}", kOption,
            hosts.size() == 1 ? "all ranks are on one host"
                              : "each host has one rank");
  return std::vector<std::vector<int>>();
}

Result<int64_t> ranksOfEachHost(const std::vector<std::string> &hosts) {
  size_t each = 0;
  while (each < hosts.size() && hosts[each] == hosts[0])
    ++each;
  std::set<std::string> before;
  for (size_t rank = 0; rank < hosts.size(); ++rank) {
    const size_t first = rank / each * each;
    if ((rank == first && !before.insert(hosts[rank]).second) ||
        hosts[rank] != hosts[first] || first + each > hosts.size())
      return usageError("rank {} (host '{}') is not of {} consecutive ranks of "
                        "a host, as rank 0 (host '{}') is: give a number",
                        rank, printable(hosts[rank]), each,
                        printable(hosts[0]));
  }
  return static_cast<int64_t>(each);
}

} // namespace dlc
