// SPDX-License-Identifier: Apache-2.0
// Artifacts: a plan that is not what the compiler wrote, files that are
// damaged.
#include "runtime/base/files/Files.h"
#include "runtime/exec/Executor.h"
#include "runtime/plan/Artifact.h"
#include "runtime/plan/Memory.h"
#include "runtime/plan/Types.h"
#include "test/fuzz/Prototype.h"
#include "test/fuzz/Steps.h"
#include "test/fuzz/Targets.h"

#include <filesystem>

namespace dlc::fuzz {
namespace {

namespace fs = std::filesystem;

bool equal(const google::protobuf::MessageLite &a,
           const google::protobuf::MessageLite &b) {
  return a.SerializeAsString() == b.SerializeAsString();
}

// What a generated kernel takes was fixed when it was made: an artifact is
// code, and a plan that hands it other buffers is another program.
bool callsKernelsAsMade(const plan::Plan &plan, const plan::Plan &made) {
  if (plan.programs_size() != made.programs_size() ||
      plan.regions_size() != made.regions_size())
    return false;
  for (int p = 0; p < plan.programs_size(); ++p) {
    const plan::Program &a = plan.programs(p), &b = made.programs(p);
    if (a.commands_size() != b.commands_size() ||
        a.buffers_size() != b.buffers_size())
      return false;
    for (int i = 0; i < a.buffers_size(); ++i)
      if (!equal(a.buffers(i), b.buffers(i)))
        return false;
    for (int i = 0; i < a.commands_size(); ++i)
      if ((a.commands(i).kind() == "kernel" ||
           b.commands(i).kind() == "kernel") &&
          !equal(a.commands(i), b.commands(i)))
        return false;
  }
  return true;
}

Status runTwice(const plan::Plan &plan, const std::string &kernels) {
  DLC_ASSIGN(auto executor,
             Executor::create(plan, kernels, nullptr, {.threads = 1}));
  for (const plan::Program &program : plan.programs())
    DLC_TRY(executor->prepare(program.name()));
  for (int step = 0; step < 2; ++step)
    for (const plan::Program &program : plan.programs()) {
      if (!program.after().empty())
        continue;
      for (const plan::Port &port : program.inputs()) {
        const std::vector<std::byte> zeros(
            plan::bytesOf(
                program.buffers(static_cast<int>(port.buffer())).type())
                .value_or(0));
        DLC_TRY(executor->setInput(program.name(), port.name(), zeros.data(),
                                   zeros.size()));
      }
      DLC_TRY(executor->run(program.name()));
    }
  return {};
}

// The seeds are folders; a copy of one, whose files are not shared.
Result<std::string> copyOfSeed(Job &job) {
  const std::string to = job.folder + "/mutant.dlc";
  std::error_code error;
  fs::copy(job.random.pick(job.seeds), to, fs::copy_options::recursive, error);
  if (error)
    return failed("cannot copy a seed: {}", error.message());
  return to;
}

} // namespace

Status fuzzPlan(Job &job) {
  const std::string &seed = job.random.pick(job.seeds);
  static const Prototype prototype(DLC_PLAN_DESCRIPTORS, "dlc.plan.Plan");
  if (!prototype.get())
    return failed("no descriptors of plans in {}", DLC_PLAN_DESCRIPTORS);
  DLC_ASSIGN(std::string text, readFile(seed + "/plan.pb", 1 << 30));
  plan::Plan made, plan;
  made.ParseFromString(text);
  const auto mutant = prototype.parse(text);
  DLC_ASSIGN(text, readFile(job.random.pick(job.seeds) + "/plan.pb", 1 << 30));
  const auto donor = prototype.parse(text);
  for (int i = changes(job.random); i > 0; --i)
    mutateMessage(job.random, *mutant, *donor);
  text = mutant->SerializeAsString();
  DLC_TRY(writeMutant(job, "mutant.pb", text).status());
  if (!plan.ParseFromString(text))
    return corrupt("no plan");
  DLC_TRY(verifyPlan(plan));
  if (totalBytes(plan) > kMemory || !callsKernelsAsMade(plan, made))
    return {};
  return runTwice(plan,
                  exists(seed + "/kernels.so") ? seed + "/kernels.so" : "");
}

Status fuzzArtifact(Job &job) {
  DLC_ASSIGN(const std::string folder, copyOfSeed(job));
  std::vector<std::string> names;
  for (const auto &entry : fs::directory_iterator(folder))
    names.push_back(entry.path().string());
  std::sort(names.begin(), names.end());
  const std::string name = job.random.pick(names);
  DLC_ASSIGN(std::string text, readFile(name, 1 << 30));
  const bool isText = name.ends_with(".json") || name.ends_with(".yaml");
  for (int i = changes(job.random); i > 0; --i)
    isText ? mutateText(job.random, text) : mutateBytes(job.random, text);
  fs::remove(name); // a new file must be new
  DLC_TRY(writeNewFile(name, text));
  return trainTwoSteps(folder);
}

} // namespace dlc::fuzz
