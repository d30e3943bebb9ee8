// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cpu/Onednn.h"
#include "runtime/device/Findings.h"
#include "runtime/device/commands/Activation.h"
#include "runtime/device/cpu/kernels/HalfLoops.h"
#include "runtime/device/cpu/linear/FilterReorder.h"

namespace dlc {

using dnnl::memory;

constexpr int64_t kConvertGrain = 16 << 10; // elements worth a thread

const dnnl::engine &onednnEngine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

const dnnl::stream &onednnStream() {
  static const dnnl::stream stream(onednnEngine());
  return stream;
}

bool onednnHasBf16() {
  static const bool has = [] {
    const memory::desc matrix({16, 16}, memory::data_type::bf16,
                              memory::format_tag::ab);
    return bool(dnnl::matmul::primitive_desc(onednnEngine(), matrix, matrix,
                                             matrix, dnnl::primitive_attr(),
                                             /*allow_empty=*/true));
  }();
  return has;
}

bool onednnHasAvx512() {
  return dnnl::get_effective_cpu_isa() >= dnnl::cpu_isa::avx512_core;
}

bool onednnHasAmx() {
  // The bits of an instruction set include those of its subsets.
  const auto amx = static_cast<unsigned>(dnnl::cpu_isa::avx512_core_amx);
  return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & amx) == amx;
}

memory::data_type onednnType(plan::DType type) {
  if (type == plan::F32 || type == plan::F16)
    return memory::data_type::f32;
  if (type == plan::BF16)
    return onednnHasBf16() ? memory::data_type::bf16 : memory::data_type::f32;
  throw dnnl::error(dnnl_unimplemented, "element type is not f32, f16 or bf16");
}

dnnl::primitive_attr onednnAttributes() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

dnnl::primitive_attr onednnEpilogue(const CommandSpec &spec) {
  dnnl::primitive_attr attributes = onednnAttributes();
  dnnl::post_ops epilogue;
  switch (activationOf(spec)) {
  case Activation::None:
    return attributes;
  case Activation::Relu:
    epilogue.append_eltwise(dnnl::algorithm::eltwise_relu, 0, 0);
    break;
  case Activation::GeluTanh:
    epilogue.append_eltwise(dnnl::algorithm::eltwise_gelu_tanh, 0, 0);
    break;
  case Activation::Unknown:
    throw dnnl::error(dnnl_unimplemented, "unknown activation");
  }
  attributes.set_post_ops(epilogue);
  return attributes;
}

memory OnednnCommand::buffer(const Desc &desc, const Operand &operand) {
  return memories_.emplace_back(desc, onednnEngine(), operand.data);
}

memory OnednnCommand::converted(std::vector<Conversion> &list, const Desc &desc,
                                const Operand &operand) {
  const plan::DType type = typeOf(operand);
  if (type == plan::F32 || onednnType(type) != memory::data_type::f32)
    return buffer(desc, operand);
  const memory wide = scratch(desc);
  list.push_back({operand.data, type, wide, elements(operand)});
  return wide;
}

memory OnednnCommand::source(const Desc &desc, const Operand &operand) {
  return converted(widened_, desc, operand);
}

memory OnednnCommand::result(const Desc &desc, const Operand &operand) {
  return converted(narrowed_, desc, operand);
}

template <class F>
void OnednnCommand::convert(const std::vector<Conversion> &list, F loop) {
  for (const Conversion &c : list)
    device_.threads().parallelFor(
        c.count, kConvertGrain, [&](int64_t begin, int64_t end) {
          auto *wide = static_cast<float *>(c.wide.get_data_handle());
          if (c.type == plan::F16)
            loop(reinterpret_cast<F16 *>(c.half), wide, begin, end);
          else
            loop(reinterpret_cast<Bf16 *>(c.half), wide, begin, end);
        });
}

memory OnednnCommand::scratch(const Desc &desc) {
  memory result(desc, onednnEngine(), nullptr);
  scratch_.push_back({result, scratchBytes_});
  scratchBytes_ += (desc.get_size() + 63) / 64 * 64;
  return result;
}

void OnednnCommand::reorder(const memory &from, const memory &to) {
  if (from == to)
    return;
  if (auto filters = FilterReorder::between(from.get_desc(), to.get_desc())) {
    steps_.push_back([this, filters = std::move(*filters), from, to] {
      filters.run(from.get_data_handle(), to.get_data_handle(),
                  device_.threads());
      return dnnl_success;
    });
    return;
  }
  const dnnl::reorder::primitive_desc desc(from, to, onednnAttributes());
  add(dnnl::reorder(desc), desc.scratchpad_desc(),
      {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
}

memory OnednnCommand::input(const memory &from, const Desc &desc) {
  const memory result = target(from, desc);
  reorder(from, result);
  return result;
}

memory OnednnCommand::target(const memory &to, const Desc &desc) {
  return to.get_desc() == desc ? to : scratch(desc);
}

void OnednnCommand::add(const dnnl::primitive &primitive,
                        const Desc &scratchpad,
                        std::initializer_list<Argument> arguments) {
  std::vector<dnnl_exec_arg_t> all;
  for (const Argument &argument : arguments)
    all.push_back({argument.index, argument.memory.get()});
  if (scratchpad.get_size())
    all.push_back({DNNL_ARG_SCRATCHPAD, scratch(scratchpad).get()});
  // The C function, since the C++ one allocates a vector in every call.
  steps_.push_back([primitive, all = std::move(all)] {
    return dnnl_primitive_execute(primitive.get(), onednnStream().get(),
                                  static_cast<int>(all.size()), all.data());
  });
}

void OnednnCommand::moveScratch() {
  workspace_ = device_.workspace().data();
  for (Scratch &scratch : scratch_)
    scratch.memory.set_data_handle(workspace_ + scratch.offset);
}

Status OnednnCommand::enqueue() {
  if (workspace_ != device_.workspace().data())
    moveScratch();
  convert(widened_, [](const auto *half, float *wide, int64_t begin,
                       int64_t end) { widen(half, wide, begin, end); });
  const FatalAllocations fatal;
  for (const Step &step : steps_)
    if (dnnl_status_t status = step(); status != dnnl_success)
      return failed("{}: oneDNN reports {}", name_, dnnl_status2str(status));
  convert(narrowed_, [](auto *half, const float *wide, int64_t begin,
                        int64_t end) { narrow(wide, half, begin, end); });
  return {};
}

Result<std::unique_ptr<Command>>
reserveWorkspace(CpuDevice &device, std::unique_ptr<OnednnCommand> command) {
  DLC_TRY(device.workspace().reserve(command->scratchBytes_));
  return std::unique_ptr<Command>(std::move(command));
}

Status onednnError(const CommandSpec &spec, const dnnl::error &error) {
  const std::string what =
      fmt::format("oneDNN cannot do it: {} ({})", error.what(),
                  dnnl_status2str(error.status));
  if (error.status == dnnl_out_of_memory)
    return limitExceeded("{}: {}", describe(spec), what);
  return incompatible(spec, what);
}

// Names in oneDNN's terms, from dnnl_cpu_isa_t.
static std::string isaText(dnnl::cpu_isa isa) {
  switch (isa) {
  case dnnl::cpu_isa::sse41:
    return "SSE4.1";
  case dnnl::cpu_isa::avx:
    return "AVX";
  case dnnl::cpu_isa::avx2:
    return "AVX2";
  case dnnl::cpu_isa::avx2_vnni:
    return "AVX2 with VNNI";
  case dnnl::cpu_isa::avx512_core:
    return "AVX-512";
  case dnnl::cpu_isa::avx512_core_vnni:
    return "AVX-512 with VNNI";
  case dnnl::cpu_isa::avx512_core_bf16:
    return "AVX-512 with bf16";
  case dnnl::cpu_isa::avx512_core_fp16:
    return "AVX-512 with bf16 and fp16";
  case dnnl::cpu_isa::avx512_core_amx:
    return "AVX-512 and AMX";
  case dnnl::cpu_isa::avx512_core_amx_fp16:
    return "AVX-512 and AMX with fp16";
  default:
    return fmt::format("instruction set 0x{:x} of dnnl_cpu_isa_t",
                       static_cast<unsigned>(isa));
  }
}

Findings findCpuLibraries() {
  const dnnl_version_t *version = dnnl_version();
  Findings found = {
      {"oneDNN",
       fmt::format("{}.{}.{}, uses {}{}", version->major, version->minor,
                   version->patch, isaText(dnnl::get_effective_cpu_isa()),
                   onednnHasBf16() ? "" : ", computes bf16 in f32"),
       "", false}};
  return found;
}

} // namespace dlc
