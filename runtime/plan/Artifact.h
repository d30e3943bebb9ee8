// SPDX-License-Identifier: Apache-2.0
// The folder model.dlc/: plan.pb, state.safetensors, kernels.so, config.yaml,
// model.mlir, source.onnx, and manifest.json with the hash of each of them. It
// contains native code: run only trusted artifacts. Opening executes nothing.
#pragma once

#include "runtime/base/Json.h"
#include "runtime/base/files/Atomic.h"
#include "runtime/base/numbers/Hash.h"
#include "runtime/plan/KernelFiles.h"
#include "runtime/plan/plan.pb.h"

#include <map>
#include <string>

namespace dlc {

constexpr char kArtifactFormat[] = "dlc-artifact";
constexpr uint32_t kArtifactVersion = 2; // layout of the folder
constexpr uint32_t kPlanVersion = 3;     // meaning of plan.proto

// The version of this program, "0.1.0".
std::string_view dlcVersion();

class Artifact {
public:
  enum class Use {
    Run,     // this machine must be able to run the kernels
    Inspect, // works on any machine
    State,   // as Inspect, for a plan of any version: only states are read
  };

  // Checks everything before use: the version (Code::Incompatible), the hash of
  // every file (Code::Corrupt, naming it), this machine's CPU
  // (Code::Incompatible), the plan (Code::Corrupt).
  static Result<Artifact> open(const std::string &path, Use use = Use::Run);

  const std::string &path() const { return path_; }
  const plan::Plan &plan() const { return *plan_; }
  const Json &manifest() const { return manifest_; }

  // Identity of all its content, 64 hex digits (32 if an older dlc made it).
  const std::string &hash() const { return hash_; }

  KernelFiles kernels() const;
  std::string statePath() const { return filePath("state.safetensors"); }
  std::string filePath(const std::string &name) const {
    return path_ + "/" + name;
  }
  bool has(const std::string &name) const;

private:
  std::string path_;
  std::shared_ptr<const plan::Plan> plan_;
  Json manifest_;
  std::string hash_;
};

// Writes an artifact that appears atomically:
//   DLC_ASSIGN(ArtifactWriter writer, ArtifactWriter::create("lenet.dlc"));
//   ... write files into writer.folder() ...
//   DLC_TRY(writer.finish(plan, "dlc compile lenet.onnx --amp"));
class ArtifactWriter {
public:
  // Replaces an artifact of that name that contains nothing else, or an empty
  // folder; any other folder or file is kept, and named in the error.
  static Result<ArtifactWriter> create(const std::string &path);

  // The same check without writing.
  static Status check(const std::string &path);

  const std::string &folder() const { return directory_.folder(); }

  // Verifies the plan, writes plan.pb and the manifest, syncs every file and
  // makes the folder visible. Messages suggest `command` when the artifact does
  // not fit a machine.
  Status finish(const plan::Plan &plan, const std::string &command);

private:
  ArtifactWriter(std::string path, AtomicDirectory directory)
      : path_(std::move(path)), directory_(std::move(directory)) {}

  std::string path_;
  AtomicDirectory directory_;
};

// The manifest of a folder: {"format", "version", "files": {name: {"size",
// "hash"}}, ..., "hash"}. Also used for checkpoints and replays. Hashes are
// SHA-256; those of version 1 of each format are XXH3-128, and still read.
//
// Writes and syncs manifest.json for all files in `folder`, adding `fields`.
// Returns the manifest's own hash. Files in `known`, by name, are synced
// already and not read again.
Result<std::string>
writeManifest(const std::string &folder, Json fields,
              const std::map<std::string, FileDigest> &known = {});

// Reads manifest.json and checks format, version (at most `version`) and its
// own hash, but no other file.
Result<Json> readManifest(const std::string &folder, std::string_view format,
                          uint32_t version);

// Also checks the hash of every file; none may be missing.
Result<Json> checkManifest(const std::string &folder, std::string_view format,
                           uint32_t version);

// The same check for a manifest that was read.
Status checkFiles(const std::string &folder, const Json &manifest);

// A copy of a file of a manifest, if the copy has its hash.
Result<std::string> readListed(const std::string &folder, const Json &manifest,
                               const std::string &name);

// Checks that every id is in range, every buffer inside its region, and states
// are consistent. Code::Corrupt, or Code::Incompatible for another version.
Status verifyPlan(const plan::Plan &plan);

// Whether this CPU has these features, by LLVM's names. DLC_HIDE_CPU_FEATURES
// (a comma-separated list) hides some, for tests.
Status checkCpuFeatures(const plan::Plan &plan, const std::string &command);

} // namespace dlc
