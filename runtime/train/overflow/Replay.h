// SPDX-License-Identifier: Apache-2.0
// A folder that reproduces a failed step.
#pragma once

#include "runtime/train/session/Session.h"

namespace dlc {

// The step's description in a bundle, which has these files:
//   model.dlc/            the artifact
//   state.safetensors     rank 0's state before the step
//   inputs-RANK.safetensors   tensors "I/NAME": input NAME of micro-batch I
//   manifest.json         this struct, and a hash of each file above
struct Incident {
  int64_t step = 0;      // the first of a run is 1
  int threads = 0;       // per rank
  int ranks = 1;         // of the step
  int group = 0;         // ranks that split states; 0: all
  bool injected = false; // DLC_INJECT_INF set rank 0's gradient to infinity
  int size = 0;          // model's size of the batches
  std::string reason;
  // The step's metrics as text: "loss" -> "nan".
  std::vector<std::pair<std::string, std::string>> metrics;
};

std::vector<std::pair<std::string, std::string>>
metricTexts(const Session &session, std::span<const double> values);

// Writes the bundle atomically. The session must have the state before the
// step, and `window` this rank's batches. Collective; rank 0 writes.
Status writeBundle(const std::string &path, Session &session,
                   Communicator &communicator, std::span<const Batch> window,
                   const Incident &incident);

// An opened bundle whose hashes were verified.
struct Bundle {
  std::string path;
  Model model; // with the state before the step
  Incident incident;
};
Result<Bundle> openBundle(const std::string &path);

struct ReplayResult {
  std::vector<std::pair<std::string, std::string>> metrics;
  std::string overflow; // its location, see findOverflow
};

// Repeats the step on the original number of ranks. Collective.
Result<ReplayResult> replay(const Bundle &bundle, Communicator &communicator,
                            int threads);

} // namespace dlc
