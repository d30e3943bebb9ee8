// SPDX-License-Identifier: Apache-2.0
// A step that failed, kept as a folder that does it again.
#pragma once

#include "runtime/train/session/Session.h"

namespace dlc {

// What a bundle tells of its step, beside the state before it and the batches
// of every rank:
//   model.dlc/            the artifact
//   state.safetensors     rank 0's, before the step
//   inputs-RANK.safetensors   tensors "I/NAME": input NAME of micro-batch I
//   manifest.json         this, and a hash of each file above
struct Incident {
  int64_t step = 0;      // the first of a run is 1
  int threads = 0;       // of each rank
  int ranks = 1;         // that did it
  int group = 0;         // of them that shared out states; 0: all
  bool injected = false; // DLC_INJECT_INF made rank 0's gradient infinite
  int size = 0;          // of its batches, one of the model's
  std::string reason;
  // The step's metrics as text: "loss" -> "nan".
  std::vector<std::pair<std::string, std::string>> metrics;
};

std::vector<std::pair<std::string, std::string>>
metricTexts(const Session &session, std::span<const double> values);

// Writes the bundle, whole or not at all. The session's state is that before
// the step and `window` this rank's batches; all ranks must call it, rank 0
// writes.
Status writeBundle(const std::string &path, Session &session,
                   Communicator &communicator, std::span<const Batch> window,
                   const Incident &incident);

// An opened bundle; every hash is checked.
struct Bundle {
  std::string path;
  Model model; // with the state before the step
  Incident incident;
};
Result<Bundle> openBundle(const std::string &path);

struct ReplayResult {
  std::vector<std::pair<std::string, std::string>> metrics;
  std::string overflow; // where it begins, see findOverflow
};

// Does the step again, on as many ranks as it had: all must call it.
Result<ReplayResult> replay(const Bundle &bundle, Communicator &communicator,
                            int threads);

} // namespace dlc
