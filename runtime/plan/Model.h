// Where a trained or untrained model is: an artifact, a checkpoint or a run.
#pragma once

#include "runtime/plan/Artifact.h"

#include <optional>
#include <string>
#include <vector>

namespace dlc {

// A run folder holds model.dlc/, config.yaml, metrics.jsonl and checkpoints.
// A checkpoint folder holds state.safetensors, trainer.json and manifest.json.
struct Checkpoint {
  std::string path;
  int64_t step = 0; // steps done; also in its name, checkpoint-<step>
};

// A run's checkpoints, newest first, by their names only.
std::vector<Checkpoint> listCheckpoints(const std::string &run);

// Checks every hash (Code::Corrupt, naming the file) and that it belongs to the
// artifact (Code::Incompatible).
Status checkCheckpoint(const std::string &checkpoint,
                       const std::string &artifactHash);

// What `path` means to a command that wants a model.
struct Model {
  Artifact artifact;
  std::optional<Checkpoint> checkpoint; // none: as compiled
  std::string statePath;                // the state to use
};

// `path` is an artifact, a checkpoint inside a run, or a run, which means its
// newest checkpoint. Everything is checked, nothing is executed.
Result<Model> openModel(const std::string &path,
                        Artifact::Use use = Artifact::Use::Run);

// Manifests of checkpoints.
constexpr char kCheckpointFormat[] = "dlc-checkpoint";
constexpr uint32_t kCheckpointVersion = 1;

} // namespace dlc
