// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/overflow/Replay.h"

#include "runtime/base/files/MappedFile.h"
#include "runtime/base/files/Safetensors.h"
#include "runtime/base/process/Boundary.h"
#include "runtime/plan/Types.h"
#include "runtime/train/Agree.h"
#include "runtime/train/overflow/Overflow.h"
#include "runtime/train/run/RunFolder.h"
#include "runtime/train/session/Inputs.h"

#include <climits>

namespace dlc {
namespace {

constexpr char kFormat[] = "dlc-replay";
constexpr uint32_t kVersion = 2;

std::string inputsName(int rank) {
  return fmt::format("inputs-{}.safetensors", rank);
}

std::string tensorName(size_t batch, const plan::Port &port) {
  return fmt::format("{}/{}", batch, port.name());
}

Status writeInputs(const std::string &path, const plan::Program &program,
                   std::span<const Batch> window) {
  std::vector<NamedTensor> tensors;
  for (size_t i = 0; i < window.size(); ++i)
    for (size_t input = 0; input < window[i].size(); ++input) {
      const plan::TensorType &type =
          portType(program, program.inputs(int(input)));
      tensors.push_back({tensorName(i, program.inputs(int(input))),
                         *plan::dtypeOf(type.dtype()),
                         {type.shape().begin(), type.shape().end()},
                         window[i][input].data(),
                         window[i][input].size()});
    }
  return writeSafetensors(path, tensors);
}

Result<std::vector<Batch>> readInputs(const std::string &path,
                                      const plan::Program &program,
                                      int64_t count) {
  DLC_ASSIGN(SafetensorsFile file, SafetensorsFile::open(path));
  std::vector<Batch> window(static_cast<size_t>(count));
  for (size_t i = 0; i < window.size(); ++i)
    for (int input = 0; input < program.inputs_size(); ++input) {
      const std::string name = tensorName(i, program.inputs(input));
      const NamedTensor *tensor = file.find(name);
      if (!tensor)
        return corrupt("'{}' has no tensor '{}'", path, name);
      window[i].emplace_back(tensor->data, tensor->data + tensor->bytes);
    }
  DLC_TRY(mappedFilesStatus());
  return window;
}

Json toJson(const Incident &incident, const Session &session) {
  Json metrics = Json::object();
  for (const auto &[name, value] : incident.metrics)
    metrics[name] = value;
  return {{"format", kFormat},
          {"version", kVersion},
          {"dlc", dlcVersion()},
          {"artifact", session.model().artifact.hash()},
          {"step", incident.step},
          {"ranks", incident.ranks},
          {"zero_group", incident.group},
          {"threads", incident.threads},
          {"injected", incident.injected ? 1 : 0},
          {"size", incident.size},
          {"reason", incident.reason},
          {"metrics", metrics}};
}

Result<Incident> incidentFrom(const Json &json) {
  Incident incident;
  DLC_ASSIGN(const uint64_t step, jsonUnsigned(json, "step"));
  DLC_ASSIGN(const uint64_t threads, jsonUnsigned(json, "threads"));
  DLC_ASSIGN(const uint64_t ranks, jsonUnsigned(json, "ranks"));
  DLC_ASSIGN(const uint64_t injected, jsonUnsigned(json, "injected"));
  DLC_ASSIGN(incident.reason, jsonString(json, "reason"));
  incident.step = int64_t(step);
  incident.threads = int(threads);
  incident.ranks = int(ranks);
  incident.injected = injected != 0;
  DLC_ASSIGN(const uint64_t group, jsonUnsigned(json, "zero_group"));
  if (group > 0 && (group > ranks || ranks % group != 0))
    return corrupt("groups of {} do not divide {} ranks", group, ranks);
  incident.group = int(group);
  DLC_ASSIGN(const uint64_t size, jsonUnsigned(json, "size"));
  incident.size = int(std::min<uint64_t>(size, INT_MAX));
  const auto metrics = json.find("metrics");
  if (metrics == json.end() || !metrics->is_object())
    return corrupt("there are no metrics");
  for (const auto &[name, value] : metrics->items())
    if (value.is_string())
      incident.metrics.emplace_back(name, value.get<std::string>());
  return incident;
}

Status writeFiles(const std::string &folder, Session &session,
                  const std::vector<std::vector<Batch>> &windows,
                  const Incident &incident) {
  const plan::Program &program =
      *findProgram(session.plan(), "train_step", incident.size);
  DLC_ASSIGN(const FileDigest state,
             session.save(folder + "/state.safetensors"));
  for (size_t rank = 0; rank < windows.size(); ++rank)
    DLC_TRY(writeInputs(folder + "/" + inputsName(int(rank)), program,
                        windows[rank]));
  DLC_TRY(writeManifest(folder, toJson(incident, session),
                        {{"state.safetensors", state}})
              .status());
  return copyArtifact(session.model().artifact.path(), folder + "/model.dlc");
}

} // namespace

std::vector<std::pair<std::string, std::string>>
metricTexts(const Session &session, std::span<const double> values) {
  std::vector<std::pair<std::string, std::string>> texts;
  for (size_t i = 0; i < values.size(); ++i)
    texts.emplace_back(session.metricNames()[i], fmt::format("{}", values[i]));
  return texts;
}

Status writeBundle(const std::string &path, Session &session,
                   Communicator &communicator, std::span<const Batch> window,
                   const Incident &incident) {
  DLC_TRY(session.executor().gatherState(communicator));
  std::vector<std::vector<Batch>> windows;
  for (int rank = 0; rank < communicator.size(); ++rank) {
    windows.emplace_back(window.begin(), window.end());
    for (Batch &batch : windows.back())
      for (std::vector<std::byte> &input : batch)
        DLC_TRY(communicator.broadcast(input.data(), input.size(), rank));
  }
  Status written;
  if (communicator.rank() == 0)
    written = [&]() -> Status {
      DLC_ASSIGN(AtomicDirectory folder, AtomicDirectory::create(path));
      DLC_TRY(writeFiles(folder.folder(), session, windows, incident));
      return folder.commit();
    }();
  return agree(communicator, written);
}

Result<Bundle> openBundle(const std::string &path) try {
  DLC_ASSIGN(Json manifest, checkManifest(path, kFormat, kVersion));
  DLC_ASSIGN(Incident incident,
             incidentFrom(manifest).withContext("'{}'", path));
  DLC_ASSIGN(Artifact artifact, Artifact::open(path + "/model.dlc"));
  DLC_ASSIGN(const std::string hash, jsonString(manifest, "artifact"));
  if (hash != artifact.hash())
    return corrupt(
        "'{}' contains another model.dlc than the one that executed its step",
        path);
  return Bundle{path,
                {std::move(artifact), {}, path + "/state.safetensors"},
                std::move(incident)};
} catch (...) {
  return caughtException(path);
}

Result<ReplayResult> replay(const Bundle &bundle, Communicator &communicator,
                            int threads) try {
  DLC_ASSIGN(auto session,
             Session::create(bundle.model, {.threads = threads,
                                            .communicator = &communicator,
                                            .group = bundle.incident.group}));
  const int size = bundle.incident.size;
  const plan::Program *program =
      findProgram(session->plan(), "train_step", size);
  if (!program)
    return failed("'{}' has no training program", bundle.path);
  const std::string inputs =
      bundle.path + "/" + inputsName(communicator.rank());
  DLC_ASSIGN(std::vector<Batch> window,
             readInputs(inputs, *program, session->window()));
  const bool inject = bundle.incident.injected && communicator.rank() == 0;
  if (inject)
    session->executor().injectInfinity();
  std::span<const double> values;
  for (const Batch &batch : window) {
    DLC_ASSIGN(values, session->trainStep(batch, nullptr, size));
  }
  ReplayResult result{metricTexts(*session, values), {}};
  DLC_TRY(session->load(session->model().statePath));
  DLC_ASSIGN(result.overflow,
             findOverflow(*session, communicator, window, size, inject));
  return result;
} catch (...) {
  return caughtException("the replay");
}

} // namespace dlc
