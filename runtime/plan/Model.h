// SPDX-License-Identifier: Apache-2.0
// Locates a trained or untrained model: an artifact, a checkpoint or a run.
#pragma once

#include "runtime/plan/Artifact.h"

#include <optional>
#include <string>
#include <vector>

namespace dlc {

// A run folder contains model.dlc/, config.yaml, metrics.jsonl and checkpoints.
// A checkpoint folder contains state.safetensors, or one file per rank with its
// part of the state (parts/StateFiles.h), trainer.json and manifest.json.
struct Checkpoint {
  std::string path;
  int64_t step = 0; // steps done; also in its name, checkpoint-<step>
};

bool isRun(const std::string &path);
// An error if it is not, which names what it is.
Status checkIsRun(const std::string &path);

// The step in "folder/checkpoint-<step>"; nothing for any other name.
std::optional<int64_t> stepOfCheckpoint(std::string_view path);

// A run's checkpoints, newest first, by their names only.
std::vector<Checkpoint> listCheckpoints(const std::string &run);

// Checks every hash, that the step matches the name, and that the checkpoint
// belongs to the artifact (Code::Corrupt, naming the file). Incompatible if
// another version of dlc wrote it.
Status checkCheckpoint(const std::string &checkpoint,
                       const std::string &artifactHash);

// The state's file, or the checkpoint itself if ranks wrote parts of it.
std::string stateOf(const std::string &checkpoint);

// The newest intact checkpoint, and the newer ones, newest first.
struct NewestCheckpoint {
  std::optional<Checkpoint> checkpoint; // none: the run has none at all
  std::vector<std::pair<Checkpoint, Status>> damaged;
};

// Code::Corrupt if there are checkpoints, but no intact one.
Result<NewestCheckpoint> findNewest(const std::string &run,
                                    const std::string &artifactHash);

// The meaning of `path` for a command that needs a model.
struct Model {
  Artifact artifact;
  std::optional<Checkpoint> checkpoint; // none: as compiled
  std::string statePath;                // the state to use
};

// `path` is an artifact, a checkpoint inside a run, RUN/best, which links to
// one, or a run, which means its newest intact checkpoint; a warning names
// newer ones. Everything is checked, nothing is executed.
Result<Model> openModel(const std::string &path,
                        Artifact::Use use = Artifact::Use::Run);

// Manifests of checkpoints. The state of version 2 is one file, that of version
// 3 is split into parts; version 4 allows both, and omits tensors that the
// artifact has.
constexpr char kCheckpointFormat[] = "dlc-checkpoint";
constexpr uint32_t kWholeCheckpointVersion = 2, kPartsCheckpointVersion = 3,
                   kCheckpointVersion = 4;

} // namespace dlc
