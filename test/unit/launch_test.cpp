// SPDX-License-Identifier: Apache-2.0
// runtime/collective/launch: what flags and a launcher's variables make of a
// process; and how local ranks end.
#include "runtime/collective/Launcher.h"
#include "runtime/collective/Socket.h"
#include "runtime/collective/launch/Launch.h"

#include <gtest/gtest.h>

#include <csignal>
#include <map>
#include <thread>
#include <unistd.h>

using namespace dlc;
using namespace std::chrono_literals;

extern char **environ;

namespace {

using Variables = std::map<std::string, std::string>;

// In an environment of these variables alone.
Result<Launch> meet(const Variables &variables, const LaunchFlags &flags = {}) {
  char **const before = environ;
  std::vector<std::string> texts;
  for (const auto &[name, value] : variables)
    texts.push_back(name + "=" + value);
  std::vector<char *> pointers;
  for (std::string &text : texts)
    pointers.push_back(text.data());
  pointers.push_back(nullptr);
  environ = pointers.data();
  auto found = findLaunch(flags, 1s);
  environ = before;
  return found;
}

const Variables kRank = {{"RANK", "1"},
                         {"WORLD_SIZE", "2"},
                         {"MASTER_ADDR", "127.0.0.1"},
                         {"MASTER_PORT", "29500"}};

Variables with(Variables variables, const Variables &others) {
  for (const auto &[name, value] : others)
    variables[name] = value;
  return variables;
}

TEST(Launch, NoneIsNoRank) {
  for (const Variables &variables :
       {Variables{}, {{"WORLD_SIZE", "1"}}, {{"MASTER_PORT", "1"}}}) {
    const auto none = meet(variables);
    ASSERT_TRUE(none.ok()) << none.status().message();
    EXPECT_FALSE(none->isRank());
  }
}

TEST(Launch, RankAndWorldSize) {
  const auto found = meet(kRank);
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(found->rendezvous.rank, 1);
  EXPECT_EQ(found->rendezvous.size, 2);
  EXPECT_EQ(found->rendezvous.address, "127.0.0.1");
  EXPECT_EQ(found->rendezvous.port, 29500);
  EXPECT_TRUE(found->rendezvous.notice.ifTaken);
  EXPECT_FALSE(found->localRank);
}

// Ranks that are left of a job keep their LOCAL_RANK.
TEST(Launch, ALocalRankBeyondTheirNumber) {
  EXPECT_TRUE(
      meet(with(kRank, {{"LOCAL_RANK", "2"}, {"LOCAL_WORLD_SIZE", "2"}})).ok());
}

TEST(Launch, WhatIsWrongIsNamed) {
  const std::vector<std::pair<Variables, std::string>> cases = {
      {{{"RANK", "1"}}, "WORLD_SIZE is not"},
      {{{"WORLD_SIZE", "4"}}, "WORLD_SIZE is 4 and RANK is not set"},
      {{{"RANK", ""}, {"WORLD_SIZE", "2"}}, "RANK is '', expected a whole"},
      {with(kRank, {{"RANK", "one"}}), "RANK is 'one'"},
      {with(kRank, {{"RANK", "1 "}}), "RANK is '1 '"},
      {with(kRank, {{"RANK", "-1"}}), "RANK is '-1'"},
      {with(kRank, {{"RANK", "4294967297"}}), "RANK is '4294967297'"},
      {with(kRank, {{"RANK", "2"}}), "expected less than WORLD_SIZE = 2"},
      {with(kRank, {{"WORLD_SIZE", "0"}}), "WORLD_SIZE is '0'"},
      {with(kRank, {{"MASTER_ADDR", ""}}), "MASTER_ADDR is empty"},
      {with(kRank, {{"MASTER_PORT", ""}}), "MASTER_PORT is ''"},
      {with(kRank, {{"MASTER_PORT", "0"}}), "expected a whole number of 1 to"},
      {with(kRank, {{"MASTER_PORT", "65536"}}), "1 to 65535"},
      {with(kRank, {{"MASTER_PORT", "70000"}}), "MASTER_PORT is '70000'"},
      {with(kRank, {{"MASTER_PORT", "-5"}}), "MASTER_PORT is '-5'"},
      {with(kRank, {{"MASTER_PORT", "http"}}), "MASTER_PORT is 'http'"},
      {with(kRank, {{"MASTER_PORT", "\x1b[2J"}}), "\\x1b"},
      {with(kRank, {{"LOCAL_RANK", "x"}}), "LOCAL_RANK is 'x'"},
      {with(kRank, {{"LOCAL_WORLD_SIZE", "3"}}), "at most WORLD_SIZE = 2"},
      {with(kRank, {{"DLC_JOB_TOKEN", ""}}), "DLC_JOB_TOKEN has 0 characters"},
      {with(kRank, {{"DLC_JOB_TOKEN", "short"}}), "has 5 characters, expected"},
      {with(kRank, {{"DLC_RENDEZVOUS", ""}}), "DLC_RENDEZVOUS is ''"},
      {with(kRank, {{"DLC_RENDEZVOUS", "/tmp/x"}}), "expected ADDRESS:PORT"},
      {with(kRank, {{"DLC_RENDEZVOUS", "a:0"}}), "expected ADDRESS:PORT"},
      {with(kRank, {{"DLC_RENDEZVOUS", "a:65536"}}), "expected ADDRESS:PORT"},
      {with(kRank, {{"RANK", "0"},
                    {"DLC_RENDEZVOUS", "a:1"},
                    {"DLC_JOB_LISTENER", "9"}}),
       "not a listening socket"},
  };
  for (const auto &[variables, message] : cases) {
    const Status status = meet(variables).status();
    EXPECT_EQ(status.code(), Code::Usage) << message;
    EXPECT_NE(status.message().find(message), std::string::npos)
        << status.message();
  }
}

// A launcher's variables, and where its ranks meet.
struct Known {
  Variables variables;
  std::string launcher;
  int rank, size;
  std::string place; // ADDRESS:PORT, or that of a notice
  int localRank = -1, localSize = -1, restarts = 0;
};

const Variables kSlurm = {{"SLURM_JOB_ID", "1234567"},
                          {"SLURM_STEP_ID", "0"},
                          {"SLURM_PROCID", "3"},
                          {"SLURM_NTASKS", "8"},
                          {"SLURM_STEP_NUM_TASKS", "8"},
                          {"SLURM_LOCALID", "0"},
                          {"SLURM_NODEID", "1"},
                          {"SLURM_STEP_TASKS_PER_NODE", "3(x2),2"},
                          {"SLURM_STEP_NODELIST", "node[01-03,7]"}};
const Variables kOpenMpi = {{"OMPI_COMM_WORLD_SIZE", "2"},
                            {"OMPI_COMM_WORLD_RANK", "1"},
                            {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                            {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                            {"PMIX_RANK", "1"},
                            {"PMIX_NAMESPACE", "77"},
                            {"PMIX_SERVER_TMPDIR", "/tmp/ompi"}};
const Variables kMaster = {{"MASTER_ADDR", "node0"}, {"MASTER_PORT", "29500"}};
const Variables kTorchrun =
    with(kRank, {{"TORCHELASTIC_RUN_ID", "job"},
                 {"TORCHELASTIC_RESTART_COUNT", "2"},
                 {"TORCHELASTIC_USE_AGENT_STORE", "True"},
                 {"LOCAL_RANK", "1"},
                 {"LOCAL_WORLD_SIZE", "2"}});

const Variables kTrainJob = {{"PET_NODE_RANK", "1"},
                             {"PET_NNODES", "2"},
                             {"PET_NPROC_PER_NODE", "1"},
                             {"PET_MASTER_ADDR", "net-node-0-0.net"},
                             {"PET_MASTER_PORT", "29400"}};

const std::vector<Known> kKnown = {
    {kTorchrun, "torchrun", 1, 2, "/dlc/job/2/store at 127.0.0.1:29500", 1, 2,
     2},
    {with(kTorchrun, {{"TORCHELASTIC_USE_AGENT_STORE", "False"}}), "torchrun",
     1, 2, "127.0.0.1:29500", 1, 2, 2},
    {with(kTorchrun, {{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "4"}}),
     "torchrun", 1, 2, "/dlc/job/2/store at 127.0.0.1:29500", 1, 2, 2},
    {with(kRank, {{"RAY_JOB_ID", "01000000"}, {"LOCAL_RANK", "1"}}),
     "Ray Train", 1, 2, "127.0.0.1:29500", 1},
    {with(kRank, {{"KUBERNETES_SERVICE_HOST", "10.0.0.1"}}),
     "Kubeflow PyTorchJob", 1, 2, "127.0.0.1:29500", 0, 1},
    {kSlurm, "Slurm", 3, 8, "node01:22954", 0, 3},
    {with(kSlurm, {{"SLURM_STEP_NODELIST", "node7"}, {"SLURM_STEP_ID", "2"}}),
     "Slurm", 3, 8, "127.0.0.1:17202", 0, 3},
    {with(kSlurm, {{"SLURM_RESTART_COUNT", "1"}}), "Slurm", 3, 8,
     "node01:18636", 0, 3, 1},
    {with(kSlurm, {{"PMI_RANK", "3"}, {"PMI_SIZE", "8"}}), "Slurm", 3, 8,
     "node01:22954", 0, 3},
    {with(with(kSlurm, kOpenMpi), {{"SLURM_STEP_NUM_TASKS", "1"}}), "Open MPI",
     1, 2, "/tmp/ompi/dlc-77", 1, 2},
    {with(kSlurm, kOpenMpi), "Open MPI", 1, 2, "/tmp/ompi/dlc-77", 1, 2},
    {with(kSlurm, kMaster), "Slurm", 3, 8, "node0:29500", 0, 3},
    {kOpenMpi, "Open MPI", 1, 2, "/tmp/ompi/dlc-77", 1, 2},
    {with(with(kOpenMpi, kMaster), {{"OMPI_COMM_WORLD_LOCAL_SIZE", "1"}}),
     "Open MPI", 1, 2, "node0:29500", 1, 1},
    {with(kMaster, {{"PMI_SIZE", "2"},
                    {"PMI_RANK", "0"},
                    {"MPI_LOCALRANKID", "0"},
                    {"MPI_LOCALNRANKS", "1"}}),
     "MPICH", 0, 2, "node0:29500", 0, 1},
    {{{"PMI_SIZE", "2"}, {"PMI_RANK", "0"}, {"PMI_FD", "7"}},
     "MPICH",
     0,
     2,
     "MPICH's process manager"},
    {with(kMaster,
          {{"MV2_COMM_WORLD_SIZE", "8"}, {"MV2_COMM_WORLD_RANK", "5"}}),
     "MVAPICH", 5, 8, "node0:29500"},
    {with(kMaster, {{"MPIRUN_NPROCS", "2"}, {"MPIRUN_RANK", "0"}}), "MVAPICH",
     0, 2, "node0:29500"},
    {with(kMaster, {{"FLUX_JOB_SIZE", "2"},
                    {"FLUX_TASK_RANK", "0"},
                    {"FLUX_TASK_LOCAL_ID", "0"}}),
     "Flux", 0, 2, "node0:29500", 0},
    {with(kMaster, {{"JSM_NAMESPACE_SIZE", "2"}, {"JSM_NAMESPACE_RANK", "1"}}),
     "jsrun", 1, 2, "node0:29500"},
    {kTrainJob, "Kubeflow TrainJob", 1, 2, "net-node-0-0.net:29400", 0, 1},
    {with(kTrainJob, kTorchrun), "torchrun", 1, 2,
     "/dlc/job/2/store at 127.0.0.1:29500", 1, 2, 2},
    {with(with(kTrainJob, kRank), {{"KUBERNETES_SERVICE_HOST", "10.0.0.1"}}),
     "Kubeflow PyTorchJob", 1, 2, "127.0.0.1:29500", 0, 1},
    {with(kMaster, {{"WORLD_SIZE", "4"}, {"JOB_COMPLETION_INDEX", "3"}}),
     "an indexed Job", 3, 4, "node0:29500"},
    {with(kTrainJob, {{"WORLD_SIZE", "2"}, {"JOB_COMPLETION_INDEX", "1"}}),
     "Kubeflow TrainJob", 1, 2, "net-node-0-0.net:29400", 0, 1},
};

std::string placeOf(const Rendezvous &rendezvous) {
  const Notice &notice = rendezvous.notice;
  if (notice.empty() || notice.ifTaken)
    return fmt::format("{}:{}", rendezvous.address, rendezvous.port);
  return notice.port == 0 ? notice.place
                          : fmt::format("{} at {}:{}", notice.place,
                                        notice.address, notice.port);
}

TEST(Launch, LaunchersAndWhereTheirRanksMeet) {
  for (const Known &known : kKnown) {
    const auto found = meet(known.variables);
    ASSERT_TRUE(found.ok()) << known.launcher << found.status().message();
    EXPECT_EQ(found->launcher, known.launcher);
    EXPECT_EQ(found->rendezvous.rank, known.rank) << known.launcher;
    EXPECT_EQ(found->rendezvous.size, known.size) << known.launcher;
    EXPECT_EQ(placeOf(found->rendezvous), known.place) << known.launcher;
    EXPECT_EQ(found->localRank.value_or(-1), known.localRank) << known.launcher;
    EXPECT_EQ(found->localSize.value_or(-1), known.localSize) << known.launcher;
    EXPECT_EQ(found->restarts, known.restarts) << known.launcher;
  }
}

LaunchFlags flags(std::optional<int64_t> rank, std::optional<int64_t> size,
                  const std::string &init) {
  return {rank, size, {}, init, {}};
}

// Its ranks meet no other's, even if they find its store.
TEST(Launch, EachStepOfSlurmHasATokenAndPorts) {
  const auto one = meet(kSlurm);
  ASSERT_TRUE(one.ok()) << one.status().message();
  EXPECT_EQ(one->rendezvous.otherPorts.size(), 7U);
  Variables same = with(kSlurm, {{"SLURM_PROCID", "4"}});
  EXPECT_EQ(meet(same)->rendezvous.token, one->rendezvous.token);
  EXPECT_EQ(meet(same)->rendezvous.otherPorts, one->rendezvous.otherPorts);
  for (const auto &[name, value] :
       {std::pair("SLURM_JOB_ID", "1234568"), std::pair("SLURM_STEP_ID", "1"),
        std::pair("SLURM_CLUSTER_NAME", "other"),
        std::pair("SLURM_RESTART_COUNT", "1")}) {
    const auto other = meet(with(kSlurm, {{name, value}}));
    EXPECT_NE(other->rendezvous.token, one->rendezvous.token) << name;
    EXPECT_NE(other->rendezvous.port, one->rendezvous.port) << name;
  }
  // One that is given counts.
  const std::string own(16, 's');
  EXPECT_EQ(meet(with(kSlurm, {{"DLC_JOB_TOKEN", own}}))->rendezvous.token,
            own);
  EXPECT_NE(meet(with(kSlurm, kMaster))->rendezvous.token, "");
}

TEST(Launch, TheInterface) {
  LaunchFlags given = flags(0, 2, "tcp://node0:5");
  given.interface = "lo";
  EXPECT_EQ(meet({}, given)->rendezvous.interface, "lo");
  EXPECT_EQ(
      meet(with(kRank, {{"GLOO_SOCKET_IFNAME", "lo"}}))->rendezvous.interface,
      "lo");
  given.interface = "none7";
  const Status status = meet({}, given).status();
  EXPECT_EQ(status.code(), Code::Usage);
  EXPECT_NE(status.message().find("--interface is 'none7', which has no "
                                  "address here: expected one of "),
            std::string::npos)
      << status.message();
  EXPECT_EQ(addressOfHost("lo"), "127.0.0.1");
}

TEST(Launch, Flags) {
  const std::vector<std::pair<LaunchFlags, std::string>> cases = {
      {flags(1, 4, "tcp://node0:5"), "node0:5"},
      {flags(1, 4, "tcp://[fd00::1]:5"), "fd00::1:5"},
      {flags(1, 4, "file:///shared/meet"), "/shared/meet"},
      {flags(1, 4, "store://node0:5"), "/dlc/store at node0:5"},
  };
  for (const auto &[given, place] : cases)
    for (const Variables &variables : {Variables{}, kRank, kSlurm, kTorchrun}) {
      Variables others = variables;
      if (others.count("TORCHELASTIC_RUN_ID"))
        others.erase("TORCHELASTIC_RUN_ID");
      const auto found = meet(others, given);
      ASSERT_TRUE(found.ok()) << found.status().message();
      EXPECT_EQ(found->rendezvous.rank, 1);
      EXPECT_EQ(found->rendezvous.size, 4);
      EXPECT_EQ(placeOf(found->rendezvous), place);
    }
  // Those that say less are completed.
  const auto place = meet(kOpenMpi, flags({}, {}, "tcp://node0:5"));
  ASSERT_TRUE(place.ok()) << place.status().message();
  EXPECT_EQ(place->rendezvous.rank, 1);
  EXPECT_EQ(placeOf(place->rendezvous), "node0:5");
  const auto size = meet({{"PMIX_RANK", "1"}}, flags({}, 2, "tcp://node0:5"));
  ASSERT_TRUE(size.ok()) << size.status().message();
  EXPECT_EQ(size->rendezvous.size, 2);
  const auto master = meet(kMaster, flags(0, 2, ""));
  ASSERT_TRUE(master.ok()) << master.status().message();
  EXPECT_EQ(placeOf(master->rendezvous), "node0:29500");
}

TEST(Launch, ContradictionsNameTheVariables) {
  struct Case {
    Variables variables;
    LaunchFlags given;
    std::vector<std::string> named;
  };
  const std::vector<Case> cases = {
      {with(kRank, {{"SLURM_PROCID", "3"}, {"SLURM_STEP_NUM_TASKS", "4"}}),
       {},
       {"RANK=1 of WORLD_SIZE=2 (the environment)",
        "SLURM_PROCID=3 of SLURM_STEP_NUM_TASKS=4 (Slurm)", "--world-size"}},
      {with(kRank,
            {{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "2"}}),
       {},
       {"RANK=1 of WORLD_SIZE=2", "OMPI_COMM_WORLD_RANK=0"}},
      {with(kOpenMpi, {{"PMI_RANK", "1"}, {"PMI_SIZE", "4"}}),
       {},
       {"OMPI_COMM_WORLD_RANK=1 of OMPI_COMM_WORLD_SIZE=2",
        "PMI_RANK=1 of PMI_SIZE=4"}},
      {{{"OMPI_COMM_WORLD_SIZE", "2"}},
       {},
       {"OMPI_COMM_WORLD_RANK is not set"}},
      {with(kOpenMpi, {{"OMPI_COMM_WORLD_RANK", "2"}, {"PMIX_RANK", "2"}}),
       {},
       {"OMPI_COMM_WORLD_RANK is 2, expected less than OMPI_COMM_WORLD_SIZE"}},
      {{{"OMPI_COMM_WORLD_SIZE", "2"},
        {"OMPI_COMM_WORLD_RANK", "1"},
        {"OMPI_COMM_WORLD_LOCAL_SIZE", "1"}},
       {},
       {"on several hosts (OMPI_COMM_WORLD_LOCAL_SIZE=1)",
        "PMIX_NAMESPACE is not set", "MASTER_ADDR", "--init"}},
      {{{"PMI_SIZE", "2"}, {"PMI_RANK", "0"}},
       {},
       {"MPICH has started rank 0 of 2", "MASTER_PORT"}},
      {{{"PMIX_RANK", "1"}, {"SLURM_STEP_NUM_TASKS", "1"}},
       {},
       {"PMIX_RANK=1 of PMIx", "--world-size"}},
      {{{"PALS_RANKID", "0"}}, {}, {"PALS_RANKID=0 of PALS"}},
      {{{"PMI_SIZE", "many"}}, {}, {"PMI_SIZE is 'many'"}},
      {{{"SLURM_PROCID", "1"}, {"SLURM_JOB_ID", "7"}},
       {},
       {"SLURM_PROCID=1 of Slurm", "--world-size"}},
      {with(kSlurm, {{"SLURM_STEP_NODELIST", "node[1-"}}),
       {},
       {"SLURM_STEP_NODELIST is 'node[1-'", "node[01-03,7]"}},
      {{{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "2"}},
       {},
       {"SLURM_JOB_NODELIST is not set", "--init"}},
      {with(kRank,
            {{"KUBERNETES_SERVICE_HOST", "x"}, {"PET_NPROC_PER_NODE", "4"}}),
       {},
       {"PET_NPROC_PER_NODE=4", "torchrun --no-python"}},
      {with(kTrainJob, {{"PET_NPROC_PER_NODE", "auto"}}),
       {},
       {"PET_NPROC_PER_NODE=auto, but PET_NODE_RANK=1 is", "torchrun"}},
      {with(kTrainJob, {{"PET_NNODES", "1:4"}}), {}, {"PET_NNODES is '1:4'"}},
      {{{"WORLD_SIZE", "2"}, {"JOB_COMPLETION_INDEX", "1"}},
       {},
       {"an indexed Job has started rank 1 of 2", "MASTER_PORT"}},
      {{}, flags(1, {}, ""), {"--rank needs --world-size"}},
      {{}, flags({}, 2, ""), {"--world-size needs --rank"}},
      {{}, flags({}, {}, "env://"), {"--init needs --rank"}},
      {{}, flags(1, 2, ""), {"--rank needs --init"}},
      {{}, flags(2, 2, "tcp://a:1"), {"--rank is 2, expected less than"}},
      {{}, flags(1, 2, "env://"), {"MASTER_ADDR is not"}},
      {{}, flags(1, 2, "tcp://a:0"), {"--init is 'tcp://a:0'", "1 to 65535"}},
      {{}, flags(1, 2, "tcp://a"), {"--init is 'tcp://a'"}},
      {{}, flags(1, 2, "tcp://::1:5"), {"--init is 'tcp://::1:5'", "IPv6 as"}},
      {{}, flags(1, 2, "file://relative"), {"--init is 'file://relative'"}},
      {{}, flags(1, 2, "udp://a:1"), {"--init is 'udp://a:1'"}},
      {{}, flags(1, 2, "\x1b[2J"), {"\\x1b"}},
  };
  for (const Case &c : cases) {
    const Status status = meet(c.variables, c.given).status();
    EXPECT_EQ(status.code(), Code::Usage) << c.named[0];
    for (const std::string &named : c.named)
      EXPECT_NE(status.message().find(named), std::string::npos)
          << status.message() << " lacks " << named;
  }
}

TEST(Launch, OneTaskOfThemIsNot) {
  const std::vector<Variables> cases = {
      // A shell of salloc, the script of sbatch, a step of one task.
      {{"SLURM_JOB_ID", "7"}, {"SLURM_NTASKS", "4"}},
      {{"SLURM_JOB_ID", "7"}, {"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "0"}},
      {{"SLURM_JOB_ID", "7"},
       {"SLURM_STEP_ID", "0"},
       {"SLURM_NTASKS", "4"},
       {"SLURM_PROCID", "0"},
       {"SLURM_STEP_NUM_TASKS", "1"}},
      {{"SLURM_NTASKS", "1"}, {"SLURM_PROCID", "0"}, {"SLURM_STEP_ID", "0"}},
      {{"SLURM_STEP_NUM_TASKS", "1"},
       {"SLURM_PROCID", "0"},
       {"PMIX_RANK", "0"}},
      {{"OMPI_COMM_WORLD_SIZE", "1"},
       {"OMPI_COMM_WORLD_RANK", "0"},
       {"PMIX_RANK", "0"}},
      {{"PMI_SIZE", "1"}, {"PMI_RANK", "0"}},
      // Pods that are one job each.
      {{"JOB_COMPLETION_INDEX", "3"}},
      {{"PET_NODE_RANK", "0"},
       {"PET_NNODES", "1"},
       {"PET_NPROC_PER_NODE", "4"}},
  };
  for (const Variables &variables : cases) {
    const auto found = meet(variables);
    ASSERT_TRUE(found.ok()) << found.status().message();
    EXPECT_FALSE(found->isRank());
  }
  // Nor are ranks by hand within a step of Slurm.
  EXPECT_TRUE(
      meet(with(kRank, {{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "2"}})).ok());
}

// A rank of what follows; this program is run again for each.
TEST(LocalRanks, DISABLED_ARank) {
  const std::string what =
      std::getenv("RANK") + std::string(" ") + std::getenv("DLC_TEST_WHAT");
  if (what == "0 stopped 0" || what == "1 stopped 1")
    ::raise(SIGSTOP);
  if (what == "0 writes")
    std::this_thread::sleep_for(1s);
  ::_exit(0);
}

// After the last step the store has gone: nobody but the launcher misses it.
TEST(LocalRanks, OneThatIsStoppedWhenAnotherHasEndedWell) {
  LostRanks lost;
  lost.patience = 200ms;
  for (const auto &[what, code] :
       {std::pair("stopped 0", 7), std::pair("stopped 1", 7),
        std::pair("writes", 0)}) {
    ::setenv("DLC_TEST_WHAT", what, 1);
    testing::internal::CaptureStderr();
    const auto ended =
        runLocalRanks(2,
                      {"unit-launch", "--gtest_also_run_disabled_tests",
                       "--gtest_filter=LocalRanks.DISABLED_ARank"},
                      lost);
    const std::string said = testing::internal::GetCapturedStderr();
    ASSERT_TRUE(ended.ok()) << ended.status().message();
    EXPECT_EQ(*ended, code) << said;
    if (code)
      EXPECT_NE(said.find(fmt::format("rank {} (process ", what[8])),
                std::string::npos)
          << said;
    else
      EXPECT_EQ(said, "");
  }
}

} // namespace
