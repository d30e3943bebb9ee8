// oneDNN primitives as one command: all of them, their memories and scratch are
// made at bind.
#pragma once

#include "runtime/device/cpu/Checks.h"
#include "runtime/device/cpu/CpuDevice.h"

#include <dnnl.hpp>
#include <dnnl_debug.h>

namespace dlc {

const dnnl::engine &onednnEngine();

// f32 or bf16; anything else throws dnnl::error.
dnnl::memory::data_type onednnType(plan::DType type);

// A chain of primitives run in order. Build it inside buildOnednn().
class OnednnCommand final : public Command {
public:
  using Desc = dnnl::memory::desc;
  struct Argument {
    int index; // DNNL_ARG_*
    dnnl::memory memory;
  };

  OnednnCommand(CpuDevice &device, const CommandSpec &spec)
      : device_(device), name_(describe(spec)) {}

  // A buffer of the plan, seen as `desc`.
  dnnl::memory buffer(const Desc &desc, const Operand &operand);
  // Memory for the time of this command.
  dnnl::memory scratch(const Desc &desc);
  // `from` as `desc`: itself, or scratch that a reorder fills before what is
  // added next.
  dnnl::memory input(const dnnl::memory &from, const Desc &desc);
  // Where a primitive should write `desc` so that reorder() can bring it to
  // `to`: `to` itself if it can.
  dnnl::memory target(const dnnl::memory &to, const Desc &desc);
  // Nothing if both are the same.
  void reorder(const dnnl::memory &from, const dnnl::memory &to);
  void add(const dnnl::primitive &primitive, const Desc &scratchpad,
           std::initializer_list<Argument> arguments);

  Status enqueue() override;

private:
  friend Result<std::unique_ptr<Command>>
  reserveWorkspace(CpuDevice &, std::unique_ptr<OnednnCommand>);
  struct Step {
    dnnl::primitive primitive;
    std::vector<dnnl_exec_arg_t> arguments;
  };
  struct Scratch {
    dnnl::memory memory;
    uint64_t offset;
  };
  void moveScratch();

  CpuDevice &device_;
  std::string name_;
  std::vector<Step> steps_;
  std::vector<dnnl::memory> memories_; // keeps the handles in steps_ alive
  std::vector<Scratch> scratch_;
  uint64_t scratchBytes_ = 0;
  std::byte *workspace_ = nullptr;
};

// Attributes that every primitive here has: scratchpads are ours.
dnnl::primitive_attr onednnAttributes();

// The epilogue of `activation`, if the command has one. Throws dnnl::error for
// an unknown name.
dnnl::primitive_attr onednnEpilogue(const CommandSpec &spec);

Result<std::unique_ptr<Command>>
reserveWorkspace(CpuDevice &device, std::unique_ptr<OnednnCommand> command);
Status onednnError(const CommandSpec &spec, const dnnl::error &error);

// Runs build(command) and returns the command; an exception of oneDNN becomes a
// Status.
template <class F>
Result<std::unique_ptr<Command>>
buildOnednn(CpuDevice &device, const CommandSpec &spec, F &&build) {
  try {
    auto command = std::make_unique<OnednnCommand>(device, spec);
    build(*command);
    return reserveWorkspace(device, std::move(command));
  } catch (const dnnl::error &error) {
    return onednnError(spec, error);
  }
}

} // namespace dlc
