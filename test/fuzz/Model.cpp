// SPDX-License-Identifier: Apache-2.0
// ONNX models: through the compiler, and two steps of what comes out.
#include "compiler/driver/Compiler.h"
#include "runtime/base/files/Files.h"
#include "runtime/plan/Memory.h"
#include "runtime/train/session/Session.h"
#include "test/fuzz/Prototype.h"
#include "test/fuzz/Steps.h"
#include "test/fuzz/Targets.h"

namespace dlc::fuzz {
namespace {

using google::protobuf::Message;

const Message *prototype() {
  static const Prototype model(DLC_ONNX_DESCRIPTORS, "onnx.ModelProto");
  return model.get();
}

const Message *part(const Message &message, const char *name) {
  const auto *field = message.GetDescriptor()->FindFieldByName(name);
  const auto *reflection = message.GetReflection();
  if (!field->is_repeated())
    return &reflection->GetMessage(message, field);
  return reflection->FieldSize(message, field) > 0
             ? &reflection->GetRepeatedMessage(message, field, 0)
             : nullptr;
}

// The first dimension of the first input: what --batch must be.
int64_t batchOf(const Message &model) {
  const Message *at = &model;
  for (const char *name :
       {"graph", "input", "type", "tensor_type", "shape", "dim"})
    if (!(at = part(*at, name)))
      return 0;
  return at->GetReflection()->GetInt64(
      *at, at->GetDescriptor()->FindFieldByName("dim_value"));
}

struct Mutant {
  std::string bytes;
  int64_t batch = 0; // of what it was made from
};

Result<Mutant> mutant(Job &job) {
  if (!prototype())
    return failed("no descriptors of ONNX in {}", DLC_ONNX_DESCRIPTORS);
  Mutant made{readSeed(job)};
  const std::unique_ptr<Message> model(prototype()->New()),
      donor(prototype()->New());
  const bool parses = model->ParsePartialFromString(made.bytes);
  if (parses)
    made.batch = batchOf(*model);
  if (!parses || job.random.oneIn(10)) {
    for (int i = changes(job.random); i > 0; --i)
      mutateBytes(job.random, made.bytes);
    return made;
  }
  donor->ParsePartialFromString(readSeed(job));
  for (int i = changes(job.random); i > 0; --i)
    mutateMessage(job.random, *model, *donor);
  made.bytes = model->SerializePartialAsString();
  return made;
}

// Some of what a model may be compiled with.
void choose(Random &random, CompileOptions &options) {
  options.train.optimizer.name =
      random.pick(std::vector<std::string>{"sgd", "adamw", "sgd"});
  if (random.oneIn(4))
    options.train.amp.level = "O1";
  if (random.oneIn(8))
    options.import.init.rules = {"kaiming_normal"};
}

Status compileMutant(Job &job, bool toTheEnd) {
  DLC_TRY(writeMutant(job, "weights.bin", std::string(4096, '\x3c')).status());
  CompileOptions options;
  DLC_ASSIGN(const Mutant model, mutant(job));
  DLC_ASSIGN(options.model, writeMutant(job, "mutant.onnx", model.bytes));
  options.batches = {model.batch > 0 && !job.random.oneIn(20)
                         ? model.batch
                         : 1 + static_cast<int64_t>(job.random.below(4))};
  options.output = job.folder + "/mutant.dlc";
  choose(job.random, options);
  if (!toTheEnd)
    options.stopAfter = "plan";
  DLC_TRY(compile(options).status());
  return toTheEnd ? trainTwoSteps(options.output) : Status();
}

} // namespace

Status fuzzModel(Job &job) { return compileMutant(job, true); }
Status fuzzImport(Job &job) { return compileMutant(job, false); }

} // namespace dlc::fuzz
