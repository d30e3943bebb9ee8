// runtime/collective/Environment: what a launcher's variables make of a
// process.
#include "runtime/collective/Environment.h"

#include <gtest/gtest.h>

#include <map>

using namespace dlc;
using namespace std::chrono_literals;

extern char **environ;

namespace {

using Variables = std::map<std::string, std::string>;

// In an environment of these variables alone.
Result<std::optional<Rendezvous>> meet(const Variables &variables) {
  char **const before = environ;
  std::vector<std::string> texts;
  for (const auto &[name, value] : variables)
    texts.push_back(name + "=" + value);
  std::vector<char *> pointers;
  for (std::string &text : texts)
    pointers.push_back(text.data());
  pointers.push_back(nullptr);
  environ = pointers.data();
  auto found = rendezvousFromEnvironment(1s);
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

TEST(Environment, NoneIsNoRank) {
  for (const Variables &variables :
       {Variables{}, {{"WORLD_SIZE", "1"}}, {{"MASTER_PORT", "1"}}}) {
    const auto none = meet(variables);
    ASSERT_TRUE(none.ok()) << none.status().message();
    EXPECT_FALSE(none->has_value());
  }
}

TEST(Environment, AsTorchrunSetsIt) {
  const auto found = meet(kRank);
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ((*found)->rank, 1);
  EXPECT_EQ((*found)->size, 2);
  EXPECT_EQ((*found)->address, "127.0.0.1");
  EXPECT_EQ((*found)->port, 29501);
}

// Ranks that are left of a job keep their LOCAL_RANK.
TEST(Environment, ALocalRankBeyondTheirNumber) {
  EXPECT_TRUE(
      meet(with(kRank, {{"LOCAL_RANK", "2"}, {"LOCAL_WORLD_SIZE", "2"}})).ok());
}

TEST(Environment, WhatIsWrongIsNamed) {
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
      {with(kRank, {{"MASTER_PORT", "65535"}}), "1 to 65534"},
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
       "no socket that listens"},
  };
  for (const auto &[variables, message] : cases) {
    const Status status = meet(variables).status();
    EXPECT_EQ(status.code(), Code::Usage) << message;
    EXPECT_NE(status.message().find(message), std::string::npos)
        << status.message();
  }
}

// Each task would do the whole job.
TEST(Environment, TasksOfOtherLaunchersAreRefused) {
  const std::vector<Variables> cases = {
      {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "2"}},
      {{"SLURM_PROCID", "3"}, {"SLURM_NTASKS", "4"}},
      {{"SLURM_PROCID", "1"}, {"SLURM_JOB_ID", "7"}},
      {{"SLURM_JOB_ID", "7"},
       {"SLURM_STEP_ID", "0"},
       {"SLURM_PROCID", "0"},
       {"SLURM_NTASKS", "2"}},
      {{"SLURM_JOB_ID", "7"},
       {"SLURM_PROCID", "0"},
       {"SLURM_STEP_NUM_TASKS", "2"}},
      {{"OMPI_COMM_WORLD_SIZE", "2"}, {"OMPI_COMM_WORLD_RANK", "0"}},
      {{"OMPI_COMM_WORLD_SIZE", "2"}},
      {{"PMI_SIZE", "2"}, {"PMI_RANK", "0"}},
      {{"PMI_RANK", "1"}},
      {{"PMIX_RANK", "0"}},
      {{"PMIX_RANK", "1"}, {"SLURM_STEP_NUM_TASKS", "1"}},
      {{"MV2_COMM_WORLD_SIZE", "8"}, {"MV2_COMM_WORLD_RANK", "0"}},
      {{"MPIRUN_NPROCS", "2"}, {"MPIRUN_RANK", "0"}},
      {{"FLUX_JOB_SIZE", "2"}, {"FLUX_TASK_RANK", "0"}},
      {{"PMI_SIZE", "many"}},
  };
  for (const Variables &variables : cases) {
    const Status status = meet(variables).status();
    EXPECT_EQ(status.code(), Code::Usage) << variables.begin()->first;
  }
  const Status status = meet(cases[0]).status();
  EXPECT_NE(status.message().find("one of several tasks of Slurm "
                                  "(SLURM_PROCID=0, SLURM_NTASKS=2)"),
            std::string::npos)
      << status.message();
  EXPECT_NE(status.message().find("RANK, WORLD_SIZE, MASTER_ADDR"),
            std::string::npos);
}

TEST(Environment, OneTaskOfThemIsNot) {
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
  };
  for (const Variables &variables : cases) {
    const auto found = meet(variables);
    EXPECT_TRUE(found.ok()) << found.status().message();
  }
  // Nor are ranks as torchrun's within a step of Slurm.
  EXPECT_TRUE(
      meet(with(kRank, {{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "2"}})).ok());
}

} // namespace
