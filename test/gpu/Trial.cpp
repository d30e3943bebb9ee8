// SPDX-License-Identifier: Apache-2.0
#include "test/gpu/Trial.h"

#include "runtime/plan/Types.h"
#include "test/support/Elements.h"

#include <chrono>

namespace dlc::test {

Trial::Trial(const std::string &kind) {
  command_.set_kind(kind);
  command_.set_label("trial");
}

Operand Trial::allocate(plan::DType type, const std::vector<int64_t> &shape) {
  auto made = std::make_unique<plan::TensorType>();
  made->set_dtype(type);
  for (int64_t dim : shape)
    made->add_shape(dim);
  types_.push_back(std::move(made));
  return {*gpu().allocate(*plan::bytesOf(*types_.back()), "trial"),
          types_.back().get()};
}

void Trial::in(plan::DType type, const std::vector<int64_t> &shape) {
  inputs_.push_back(allocate(type, shape));
  const DType element = *plan::dtypeOf(type);
  const uint64_t bytes = *plan::bytesOf(*inputs_.back().type);
  std::vector<std::byte> content(bytes);
  std::mt19937 random(static_cast<unsigned>(inputs_.size()));
  for (uint64_t i = 0; i < bytes / sizeOf(element); ++i)
    writeElement(element, content.data(), static_cast<int64_t>(i),
                 static_cast<double>(random() % 256) / 128 - 1);
  (void)gpu().upload(inputs_.back().data, content.data(), bytes).ok();
}
void Trial::out(plan::DType type, const std::vector<int64_t> &shape) {
  outputs_.push_back(allocate(type, shape));
}

plan::Attribute &Trial::attribute(const char *name) {
  for (plan::Attribute &a : *command_.mutable_attributes())
    if (a.name() == name)
      return a;
  plan::Attribute &a = *command_.add_attributes();
  a.set_name(name);
  return a;
}
void Trial::ints(const char *name, std::initializer_list<int64_t> values) {
  for (int64_t value : values)
    attribute(name).mutable_ints()->add_values(value);
}

Result<std::unique_ptr<Command>> Trial::bind() {
  return gpu().bind({command_, inputs_, outputs_});
}

// Of all outputs.
Result<std::string> Trial::bytesAfterARun(Command &command) {
  DLC_TRY(command.enqueue());
  std::string all;
  for (const Operand &output : outputs_) {
    std::string bytes(*plan::bytesOf(*output.type), '\0');
    DLC_TRY(gpu().download(bytes.data(), output.data, bytes.size()));
    all += bytes;
  }
  return all;
}

Result<bool> Trial::recordedGives(Command &command, const std::string &bytes) {
  DLC_TRY(gpu().beginRecording());
  const Status enqueued = command.enqueue();
  auto recording = gpu().endRecording();
  DLC_TRY(enqueued);
  DLC_TRY(recording.status());
  bool same = true;
  for (int i = 0; i < 3; ++i) {
    for (const Operand &output : outputs_)
      DLC_TRY(gpu().fill(output.data, 0, *plan::bytesOf(*output.type)));
    DLC_ASSIGN(const std::string again, bytesAfterARun(**recording));
    same = same && again == bytes;
  }
  return same;
}

Status Trial::measure(Ordered &about) {
  DLC_ASSIGN(auto command, bind());
  DLC_ASSIGN(const std::string first, bytesAfterARun(*command));
  bool same = true;
  for (int i = 1; i < 5; ++i) {
    DLC_ASSIGN(const std::string again, bytesAfterARun(*command));
    same = same && again == first;
  }
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  for (int i = 0; i < 5; ++i)
    DLC_TRY(command->enqueue());
  DLC_TRY(gpu().synchronize());
  about["us"] =
      std::chrono::duration<double, std::micro>(Clock::now() - start).count() /
      5;
  about["same_bytes"] = same;
  const auto recorded = recordedGives(*command, first);
  if (recorded)
    about["recorded_same_bytes"] = *recorded;
  else
    about["not_recorded"] = recorded.status().message();
  return {};
}

Ordered Trial::measured(Ordered about) {
  about["type"] = plan::DType_Name(inputs_[0].type->dtype());
  if (const Status status = measure(about); !status.ok())
    about["missing"] = status.message();
  return about;
}

} // namespace dlc::test
