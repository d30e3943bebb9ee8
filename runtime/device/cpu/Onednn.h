// SPDX-License-Identifier: Apache-2.0
// oneDNN primitives as one command; all primitives, memories and scratch are
// allocated at bind.
#pragma once

#include "runtime/base/process/FatalAllocations.h"
#include "runtime/device/commands/Checks.h"
#include "runtime/device/cpu/CpuDevice.h"
#include "runtime/device/cpu/Half.h"

#include <dnnl.hpp>
#include <dnnl_debug.h>
#include <functional>

namespace dlc {

const dnnl::engine &onednnEngine();
const dnnl::stream &onednnStream();

// Whether the library supports bf16 on this CPU, which needs AVX-512.
bool onednnHasBf16();
bool onednnHasAvx512();
bool onednnHasAmx(); // and ONEDNN_MAX_CPU_ISA allows it

// The type in which the library computes an element type: f32 in f32, bf16 in
// bf16 if supported, f16 in f32; other types throw dnnl::error.
dnnl::memory::data_type onednnType(plan::DType type);

// A chain of primitives run in order. Build it inside buildOnednn(). 16-bit
// types that are computed in f32 are emulated: operands are converted to f32
// scratch before the chain, and results rounded once after it.
class OnednnCommand final : public Command {
public:
  using Desc = dnnl::memory::desc;
  struct Argument {
    int index; // DNNL_ARG_*
    dnnl::memory memory;
  };

  OnednnCommand(CpuDevice &device, const CommandSpec &spec)
      : device_(device), name_(describe(spec)) {}

  // A buffer of the plan that the chain reads or writes, with layout `desc`,
  // whose elements must be in the order of the buffer.
  dnnl::memory source(const Desc &desc, const Operand &operand);
  dnnl::memory result(const Desc &desc, const Operand &operand);
  // Memory that is valid while this command runs.
  dnnl::memory scratch(const Desc &desc);
  // `from` with layout `desc`: itself, or scratch that a reorder fills before
  // the next step of the chain.
  dnnl::memory input(const dnnl::memory &from, const Desc &desc);
  // Where a primitive should write a result of layout `desc`, which reorder()
  // then copies to `to`: `to` itself if the layouts are equal.
  dnnl::memory target(const dnnl::memory &to, const Desc &desc);
  // Adds a reorder, unless both are the same memory.
  void reorder(const dnnl::memory &from, const dnnl::memory &to);
  void add(const dnnl::primitive &primitive, const Desc &scratchpad,
           std::initializer_list<Argument> arguments);

  Status enqueue() override;

private:
  friend Result<std::unique_ptr<Command>>
  reserveWorkspace(CpuDevice &, std::unique_ptr<OnednnCommand>);
  using Step = std::function<dnnl_status_t()>;
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
  std::vector<dnnl::memory> memories_;         // keeps handles in steps_ alive
  std::vector<Scratch> scratch_;
  uint64_t scratchBytes_ = 0;
  std::byte *workspace_ = nullptr;
};

// Attributes of all primitives here: scratchpads are allocated by dlc.
dnnl::primitive_attr onednnAttributes();

// The activation that the command has as its epilogue. Throws dnnl::error for
// an unknown name.
dnnl::primitive_attr onednnEpilogue(const CommandSpec &spec);

Result<std::unique_ptr<Command>>
reserveWorkspace(CpuDevice &device, std::unique_ptr<OnednnCommand> command);
Status onednnError(const CommandSpec &spec, const dnnl::error &error);

// Calls build(command) and returns the command; an exception of oneDNN becomes
// a Status. A failed allocation in it ends the program: oneDNN ignores some
// null results, and double-frees after some exceptions.
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
