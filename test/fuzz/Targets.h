// SPDX-License-Identifier: Apache-2.0
// What is fuzzed: each target makes one mutant and gives it to the code that
// must survive it. It runs in a process of its own, which may die.
#pragma once

#include "runtime/base/Status.h"
#include "test/fuzz/Mutate.h"

#include <string>
#include <vector>

namespace dlc::fuzz {

struct Job {
  Random random;
  std::vector<std::string> seeds; // files of the corpus; some may be for others
  std::string folder;             // empty, to work in; the mutant stays in it
};

struct Target {
  const char *name;
  const char *extension; // of the seeds
  Status (*run)(Job &job);
  std::vector<Code> codes; // that a mutant may end with
};

// A model through compile(), and two training steps of what comes out; only
// through the passes, which is faster.
Status fuzzModel(Job &job);
Status fuzzImport(Job &job);
// plan.pb: verified, and two training steps.
Status fuzzPlan(Job &job);
// A folder model.dlc whose files are damaged, with or without a right manifest.
Status fuzzArtifact(Job &job);
Status fuzzNpz(Job &job);
Status fuzzSafetensors(Job &job);
// A table, all of whose columns are decoded.
// Settings of dlc compile and of a run.
Status fuzzYaml(Job &job);
// Bytes from a stranger, and from a peer, to the ranks' meeting point.
Status fuzzStore(Job &job);

std::string readSeed(Job &job);
// What every reader gets: "FOLDER/mutant.EXTENSION".
Result<std::string> writeMutant(Job &job, const std::string &name,
                                const std::string &content);
// How many changes: mostly few.
int changes(Random &random);

} // namespace dlc::fuzz
