// SPDX-License-Identifier: Apache-2.0
#include "test/fuzz/Steps.h"

#include "runtime/plan/Memory.h"
#include "runtime/plan/Types.h"
#include "runtime/train/session/Inputs.h"
#include "runtime/train/session/Session.h"

namespace dlc::fuzz {
namespace {

constexpr uint64_t kFlops = 1'000'000'000;

bool isLarge(const plan::Plan &plan) {
  uint64_t work = 0;
  for (const plan::Program &program : plan.programs())
    for (const plan::Command &command : program.commands())
      work = std::max(work, command.flops() + command.bytes());
  return totalBytes(plan) > kMemory || work > kFlops;
}

} // namespace

Status trainTwoSteps(const std::string &path) {
  DLC_ASSIGN(Model model, openModel(path));
  if (isLarge(model.artifact.plan()))
    return {};
  DLC_ASSIGN(auto session, Session::create(std::move(model), {.threads = 1}));
  const plan::Program *program = findProgram(session->plan(), "train_step");
  if (!program)
    return failed("the model has no training program");
  Batch batch;
  for (const plan::Port &port : program->inputs())
    batch.emplace_back(
        plan::bytesOf(program->buffers(static_cast<int>(port.buffer())).type())
            .value_or(0));
  for (int step = 0; step < 2; ++step)
    DLC_TRY(session->trainStep(batch).status());
  return session->save(path + "/saved.safetensors").status();
}

} // namespace dlc::fuzz
