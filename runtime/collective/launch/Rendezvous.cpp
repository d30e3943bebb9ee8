// SPDX-License-Identifier: Apache-2.0
#include "runtime/collective/launch/Rendezvous.h"

#include "runtime/base/Text.h"
#include "runtime/base/numbers/Hash.h"
#include "runtime/base/numbers/ParseNumber.h"
#include "runtime/collective/Socket.h"
#include "runtime/collective/launch/Variables.h"
#include "runtime/collective/store/Pmix.h"
#include "runtime/collective/store/Protocol.h"

#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/socket.h>

namespace dlc {
namespace {

void note(Launch &launch, std::string value, std::string from) {
  launch.facts.push_back({"rendezvous", std::move(value), std::move(from)});
}

Result<std::string> tokenOfJob() {
  const char *text = std::getenv("DLC_JOB_TOKEN");
  const std::string token = text ? text : "";
  if (!text || (token.size() >= 16 && token.size() <= store::Limits::kToken))
    return token;
  return usageError("DLC_JOB_TOKEN has {} characters, expected 16 to {}: a "
                    "secret, the same for all ranks of a job and no other",
                    token.size(), store::Limits::kToken);
}

// "host:29500", "[fd00::1]:29500"
bool parsePlace(const std::string &place, Rendezvous &rendezvous) {
  const size_t colon = place.rfind(':');
  if (colon == place.npos || colon == 0)
    return false;
  std::string address = place.substr(0, colon);
  if (address.size() > 2 && address.front() == '[' && address.back() == ']')
    address = address.substr(1, address.size() - 2);
  else if (address.find(':') != address.npos)
    return false; // IPv6 without brackets is ambiguous
  rendezvous.address = address;
  rendezvous.port = asNumber<int>(place.substr(colon + 1)).value_or(0);
  return rendezvous.port >= 1 && rendezvous.port <= 65535;
}

// Parses "127.0.0.1:29501", and takes rank 0's listener.
Status meetOwn(const Variable &place, Launch &launch) {
  Rendezvous &rendezvous = launch.rendezvous;
  if (!parsePlace(place.text, rendezvous))
    return usageError("DLC_RENDEZVOUS is '{}', expected ADDRESS:PORT, as dlc "
                      "train sets it for its own ranks",
                      printable(place.text));
  note(launch, place.text, place.name);
  DLC_ASSIGN(const auto listener, numberOf(variable("DLC_JOB_LISTENER"), 3));
  if (!listener || rendezvous.rank > 0)
    return {};
  int listens = 0;
  socklen_t size = sizeof listens;
  if (::getsockopt(*listener, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) !=
          0 ||
      !listens)
    return usageError("DLC_JOB_LISTENER is {}, which is not a listening socket",
                      *listener);
  ::fcntl(*listener, F_SETFD, FD_CLOEXEC);
  rendezvous.listener = *listener;
  return {};
}

// The key of rank 0's notice, unique for this start of the job.
std::string keyOf(const Launch &launch) {
  const Variable run = variable("TORCHELASTIC_RUN_ID");
  return run.isSet()
             ? fmt::format("/dlc/{}/{}/store", run.text, launch.restarts)
             : "/dlc/store";
}

// A launcher's store listens at the rendezvous' address.
void meetInStore(Launch &launch, const std::string &from) {
  Rendezvous &rendezvous = launch.rendezvous;
  rendezvous.notice.address = rendezvous.address;
  rendezvous.notice.port = rendezvous.port;
  rendezvous.notice.place = keyOf(launch);
  note(launch, rendezvous.notice.text(), from);
  rendezvous.address.clear();
  rendezvous.port = 0;
}

Status meetMaster(Launch &launch) {
  Rendezvous &rendezvous = launch.rendezvous;
  const char *const because = "RANK is set";
  const Variable address = variable("MASTER_ADDR|PET_MASTER_ADDR"),
                 port = variable("MASTER_PORT|PET_MASTER_PORT"),
                 agent = variable("TORCHELASTIC_USE_AGENT_STORE");
  if (address.text.empty())
    return usageError("{} and MASTER_ADDR is {}: the host of rank 0",
                      std::getenv("RANK") ? because : "MASTER_PORT is set",
                      address.isSet() ? "empty" : "not");
  DLC_ASSIGN(const auto number, numberOf(port, 1, 65535));
  if (!number)
    return usageError("{} and MASTER_PORT is not: a port of rank 0's host",
                      std::getenv("RANK") ? because : "MASTER_ADDR is set");
  rendezvous.address = address.text;
  rendezvous.port = *number;
  if (agent.text == "True") {
    meetInStore(launch, "MASTER_ADDR, MASTER_PORT, " + agent.name);
    return {};
  }
  rendezvous.notice.address = address.text;
  rendezvous.notice.port = *number;
  rendezvous.notice.place = keyOf(launch);
  rendezvous.notice.ifTaken = true;
  note(launch, placeText(address.text, *number),
       address.name + ", " + port.name);
  return {};
}

Status badInit(const std::string &init) {
  return usageError(
      "--init is '{}', expected tcp://HOST:PORT of rank 0 (a port from 1 to "
      "65535, not 0, as all ranks must know it; IPv6 as tcp://[ADDRESS]:PORT), "
      "file:///PATH, store://HOST:PORT or env://",
      printable(init));
}

Status meetInit(const std::string &init, Launch &launch) {
  Rendezvous &rendezvous = launch.rendezvous;
  const size_t colon = init.find("://");
  const std::string kind = init.substr(0, colon),
                    place = colon == init.npos ? "" : init.substr(colon + 3);
  if (kind == "env" && place.empty())
    return meetMaster(launch);
  if (kind == "file" && place.starts_with("/") && !place.ends_with("/")) {
    rendezvous.notice.place = place;
    note(launch, init, "--init");
    return {};
  }
  if ((kind != "tcp" && kind != "store") || !parsePlace(place, rendezvous))
    return badInit(init);
  if (kind == "store")
    meetInStore(launch, "--init");
  else
    note(launch, init, "--init");
  return {};
}

// Identifies one start of a Slurm step; the same for all of its ranks.
std::string stepText(const Launch &launch) {
  return fmt::format("{} {} {} {}", variable("SLURM_CLUSTER_NAME").text,
                     variable("SLURM_JOB_ID|SLURM_JOBID").text,
                     variable("SLURM_STEP_ID|SLURM_STEPID").text,
                     launch.restarts);
}

// The first host of the step, and ports by the step's hash, since other steps
// may run on the same host.
Status meetSlurm(Launch &launch) {
  const Variable list =
      variable("SLURM_STEP_NODELIST|SLURM_JOB_NODELIST|SLURM_NODELIST");
  const Variable job = variable("SLURM_JOB_ID|SLURM_JOBID");
  if (!list.isSet() || !job.isSet())
    return usageError("this is a task of Slurm, but {} is not set: give the "
                      "ranks' rendezvous by --init=tcp://HOST:PORT",
                      list.isSet() ? "SLURM_JOB_ID" : "SLURM_JOB_NODELIST");
  DLC_ASSIGN(const auto hosts, expandNodes(list.name, list.text));
  Rendezvous &rendezvous = launch.rendezvous;
  rendezvous.address = hosts.size() == 1 ? "127.0.0.1" : hosts[0];
  std::vector<int> ports;
  for (int i = 0; i < 8; ++i) {
    const std::string hash =
        hashText(fmt::format("port {} {}", i, stepText(launch)));
    ports.push_back(15000 + std::stoi(hash.substr(0, 7), nullptr, 16) % 10000);
  }
  rendezvous.port = ports[0];
  rendezvous.otherPorts.assign(ports.begin() + 1, ports.end());
  note(launch, placeText(rendezvous.address, rendezvous.port),
       fmt::format("{}, {}", list.name, job.name));
  return {};
}

// For ranks on several or unknown hosts.
Status meetByPmix(const Launcher &row, const std::string &why, Launch &launch) {
  const Variable job = variable("PMIX_NAMESPACE");
  const Status found =
      job.isSet() ? findPmix() : failed("PMIX_NAMESPACE is not set");
  if (!found.ok())
    return usageError(
        "{} has started rank {} of {}, {}, and PMIx cannot connect them ({}): "
        "set MASTER_ADDR, the host of rank 0, and MASTER_PORT for all of them "
        "(mpirun -x), or add --init=tcp://HOST:PORT",
        row.name, launch.rendezvous.rank, launch.rendezvous.size, why,
        found.message());
  launch.rendezvous.notice.place = fmt::format("{}'s PMIx server", row.name);
  launch.rendezvous.notice.pmix = true;
  note(launch, "a free port, told by " + launch.rendezvous.notice.place,
       job.name);
  return {};
}

// By a file in mpirun's folder for this job, if all ranks are on this host.
Status meetInSession(const Launcher &row, Launch &launch) {
  const Variable folder = variable("PMIX_SERVER_TMPDIR"),
                 job = variable("PMIX_NAMESPACE"),
                 local = row.localSize ? variable(row.localSize) : Variable();
  if (local.text != std::to_string(launch.rendezvous.size))
    return meetByPmix(row,
                      local.isSet()
                          ? fmt::format("on several hosts ({})", local.said())
                          : "on hosts that it does not tell",
                      launch);
  if (folder.text.empty() || job.text.empty() ||
      job.text.find('/') != std::string::npos)
    return meetByPmix(row, "but PMIX_SERVER_TMPDIR is not set", launch);
  launch.rendezvous.address = "127.0.0.1";
  launch.rendezvous.notice.place = folder.text + "/dlc-" + job.text;
  note(launch, launch.rendezvous.notice.place,
       "PMIX_SERVER_TMPDIR, PMIX_NAMESPACE");
  return {};
}

// Hydra answers only the process that it has started.
Status meetAtHydra(const Launcher &row, int descriptor, Launch &launch) {
  if (variable(row.localSize).text == std::to_string(launch.rendezvous.size))
    launch.rendezvous.address = "127.0.0.1";
  launch.rendezvous.notice.place =
      fmt::format("{}'s process manager", row.name);
  launch.rendezvous.notice.hydra = descriptor;
  note(launch, "a free port, told by " + launch.rendezvous.notice.place,
       "PMI_FD");
  return {};
}

Status needPlace(const Launcher &row, const Launch &launch) {
  return usageError(
      "{} has started rank {} of {}, which have no rendezvous: set "
      "MASTER_ADDR, the host of rank 0, and MASTER_PORT for all of them, or "
      "add --init=tcp://HOST:PORT or --init=file:///PATH",
      row.name, launch.rendezvous.rank, launch.rendezvous.size);
}

} // namespace

Status meetRanks(const std::string &init, const Launcher *row, Launch &launch) {
  DLC_ASSIGN(launch.rendezvous.token, tokenOfJob());
  if (!init.empty())
    return meetInit(init, launch);
  if (const Variable own = variable("DLC_RENDEZVOUS"); own.isSet() && row)
    return meetOwn(own, launch);
  if (launch.rendezvous.size == 1)
    return {};
  // Not secret, but ranks of other steps do not have it.
  if (row && row->meet == Meet::Slurm && launch.rendezvous.token.empty())
    launch.rendezvous.token = hashText("token " + stepText(launch));
  if (!row && !variable("MASTER_ADDR|MASTER_PORT").isSet())
    return usageError("--rank needs --init, or MASTER_ADDR and MASTER_PORT");
  if (!row || std::strcmp(row->rank, "RANK") == 0 ||
      variable("MASTER_ADDR|PET_MASTER_ADDR").isSet())
    return meetMaster(launch);
  DLC_ASSIGN(const auto hydra, numberOf(variable("PMI_FD"), 3));
  switch (row->meet) {
  case Meet::Slurm:
    return meetSlurm(launch);
  case Meet::Session:
    return meetInSession(*row, launch);
  case Meet::Hydra:
    if (hydra)
      return meetAtHydra(*row, *hydra, launch);
    break;
  case Meet::Master:
    break;
  }
  return needPlace(*row, launch);
}

} // namespace dlc
