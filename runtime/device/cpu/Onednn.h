// SPDX-License-Identifier: Apache-2.0
// oneDNN primitives as one command: all of them, their memories and scratch are
// made at bind.
#pragma once

#include "runtime/base/process/FatalAllocations.h"
#include "runtime/device/commands/Checks.h"
#include "runtime/device/cpu/CpuDevice.h"
#include "runtime/device/cpu/Half.h"

#include <dnnl.hpp>
#include <dnnl_debug.h>

namespace dlc {

const dnnl::engine &onednnEngine();
const dnnl::stream &onednnStream();

// Whether the library has bf16 on this CPU: not below AVX-512.
bool onednnHasBf16();
bool onednnHasAvx512();
bool onednnHasAmx(); // and may use it: ONEDNN_MAX_CPU_ISA

// What the library computes an element type in: f32 in itself, bf16 too where
// it can, f16 in f32; anything else throws dnnl::error.
dnnl::memory::data_type onednnType(plan::DType type);

// A chain of primitives run in order. Build it inside buildOnednn(). Halves
// that are computed in f32 are emulated: operands are widened to f32 scratch
// before the chain, results rounded once after it.
class OnednnCommand final : public Command {
public:
  using Desc = dnnl::memory::desc;
  struct Argument {
    int index; // DNNL_ARG_*
    dnnl::memory memory;
  };

  OnednnCommand(CpuDevice &device, const CommandSpec &spec)
      : device_(device), name_(describe(spec)) {}

  // A buffer of the plan that the chain reads or writes, seen as `desc`, which
  // lists its elements in the order in which the plan holds them.
  dnnl::memory source(const Desc &desc, const Operand &operand);
  dnnl::memory result(const Desc &desc, const Operand &operand);
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
  struct Conversion {
    std::byte *half;
    plan::DType type;
    dnnl::memory wide;
    int64_t count;
  };
  struct Scratch {
    dnnl::memory memory;
    uint64_t offset;
  };
  dnnl::memory buffer(const Desc &desc, const Operand &operand);
  dnnl::memory converted(std::vector<Conversion> &list, const Desc &desc,
                         const Operand &operand);
  template <class F> void convert(const std::vector<Conversion> &list, F loop);
  void moveScratch();

  CpuDevice &device_;
  std::string name_;
  std::vector<Step> steps_;
  std::vector<Conversion> widened_, narrowed_; // before and after the steps
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
// Status. An allocation that fails in it ends the program: oneDNN does not look
// at what some return, and frees twice where others throw.
template <class F>
Result<std::unique_ptr<Command>>
buildOnednn(CpuDevice &device, const CommandSpec &spec, F &&build) {
  const FatalAllocations fatal;
  try {
    auto command = std::make_unique<OnednnCommand>(device, spec);
    build(*command);
    return reserveWorkspace(device, std::move(command));
  } catch (const dnnl::error &error) {
    return onednnError(spec, error);
  }
}

} // namespace dlc
