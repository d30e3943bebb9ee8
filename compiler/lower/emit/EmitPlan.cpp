// SPDX-License-Identifier: Apache-2.0
#include "compiler/lower/emit/EmitPlan.h"
#include "compiler/dialect/Exec.h"
#include "compiler/dialect/ops/Ranks.h"
#include "compiler/lower/Labels.h"
#include "compiler/lower/Marks.h"
#include "compiler/lower/memory/StateLayout.h"

using namespace mlir;

namespace dlc {

plan::DType planTypeOf(Type t) {
  if (t.isF32())
    return plan::F32;
  if (t.isF16())
    return plan::F16;
  if (t.isBF16())
    return plan::BF16;
  if (t.isF64())
    return plan::F64;
  if (t.isInteger(64))
    return plan::I64;
  if (t.isInteger(32))
    return plan::I32;
  if (t.isInteger(8))
    return plan::U8;
  return t.isInteger(1) ? plan::BOOL : plan::DTYPE_INVALID;
}

namespace {

void fill(plan::TensorType *out, ShapedType type) {
  out->set_dtype(planTypeOf(type.getElementType()));
  for (int64_t d : type.getShape())
    out->add_shape(d);
}

LogicalResult fill(plan::Attribute *out, NamedAttribute attr) {
  out->set_name(attr.getName().str());
  Attribute value = attr.getValue();
  if (auto i = dyn_cast<IntegerAttr>(value))
    out->set_i(i.getInt());
  else if (auto f = dyn_cast<FloatAttr>(value))
    out->set_f(f.getValueAsDouble());
  else if (auto s = dyn_cast<StringAttr>(value))
    out->set_s(s.str());
  else if (isa<UnitAttr>(value))
    out->set_i(1);
  else if (auto ints = dyn_cast<DenseI64ArrayAttr>(value))
    for (int64_t v : ints.asArrayRef())
      out->mutable_ints()->add_values(v);
  else
    return failure();
  return success();
}

class ProgramWriter {
public:
  ProgramWriter(plan::Program &out, const SymbolTable &symbols,
                const llvm::StringMap<uint32_t> &regions)
      : out(out), symbols(symbols), regions(regions) {}

  LogicalResult emit(exec::ProgramOp program) {
    out.set_name(program.getSymName().str());
    out.set_scratch_bytes(program.getScratchBytes());
    if (auto after = program->getAttrOfType<FlatSymbolRefAttr>("dlc.after"))
      out.set_after(after.getValue().str());
    if (auto updates = program->getAttrOfType<IntegerAttr>(ir::kUpdates))
      out.set_updates(updates.getInt());
    if (auto size = program->getAttrOfType<IntegerAttr>("dlc.size"))
      out.set_size(uint32_t(size.getInt()));
    for (Operation &op : program.getBody().front())
      if (failed(emit(&op)))
        return failure();
    return success();
  }

private:
  LogicalResult emit(Operation *op) {
    if (auto buffer = dyn_cast<exec::BufferOp>(op)) {
      ids[buffer.getBuffer()] = out.buffers_size();
      plan::Buffer *b = out.add_buffers();
      b->set_region(regions.lookup(buffer.getRegion()));
      b->set_offset(buffer.getOffset());
      fill(b->mutable_type(), buffer.getType());
      return success();
    }
    if (auto port = dyn_cast<exec::PortOp>(op)) {
      plan::Port *p =
          port.getDirection() == "input" ? out.add_inputs() : out.add_outputs();
      p->set_name(port.getName().str());
      p->set_buffer(ids[port.getBuffer()]);
      p->set_limit(port.getLimit());
      p->set_from_end(port.getFromEnd());
      return success();
    }
    return command(op);
  }
  static DictionaryAttr attributesOf(exec::KernelOp kernel) {
    Builder b(kernel.getContext());
    NamedAttrList attrs;
    auto set = [&](StringRef name, int64_t n) {
      attrs.set(name, b.getI64IntegerAttr(n));
    };
    attrs.set("symbol", kernel.getSymNameAttr());
    for (auto put : kernel.getBody().front().getOps<ir::PutRowsOp>()) {
      set("puts_rows", 1);
      if (auto ranks = put.getRanks())
        set("ranks", int64_t(*ranks));
    }
    if (kernel.getThreads()) {
      const exec::Threads &threads = kernel.getThreadsAttr().getValue();
      set("grid", threads.grid);
      set("block", threads.block);
      if (threads.tile)
        set("tensor_cores", 1);
      const exec::Schedule &schedule = kernel.getScheduleAttr().getValue();
      if (kernel.getParted() && schedule.kind == exec::Schedule::Rows) {
        set("parts", 1);
      } else if (kernel.getParted()) {
        set("extent", schedule.extent());
        set("vector", threads.vector);
      }
    } else {
      const exec::Schedule &schedule = kernel.getScheduleAttr().getValue();
      set("extent", schedule.extent());
      set("grain", schedule.grain);
    }
    return attrs.getDictionary(kernel.getContext());
  }
  LogicalResult command(Operation *op) {
    plan::Command &c = *out.add_commands();
    return fillCommand(c, op);
  }
  LogicalResult fillCommand(plan::Command &c, Operation *op) {
    c.set_label(locationLabel(op->getLoc()));
    Builder b(op->getContext());
    if (auto launch = dyn_cast<exec::LaunchOp>(op)) {
      auto kernel = symbols.lookup<exec::KernelOp>(launch.getKernel());
      if (!kernel || !kernel.getSchedule())
        return launch.emitError("runs a kernel without a schedule");
      c.set_flops(kernel.getScheduleAttr().getValue().flops);
      NamedAttrList attrs(attributesOf(kernel));
      if (Attribute elements = launch->getAttr(kItem))
        attrs.set(kItem, elements);
      if (failed(finish(c, "kernel", launch.getInputs(), launch.getOutputs(),
                        attrs.getDictionary(op->getContext()))))
        return failure();
      // Of the tables only some rows are moved.
      if (llvm::any_of(kernel.getBody().front(),
                       llvm::IsaPred<ir::GatherOp, ir::PutRowsOp>))
        c.set_bytes(std::min<int64_t>(
            c.bytes(), kernel.getScheduleAttr().getValue().bytes));
      return success();
    }
    if (auto call = dyn_cast<exec::CallOp>(op)) {
      c.set_flops(call.getFlops());
      if (failed(finish(c, call.getKind(), call.getInputs(), call.getOutputs(),
                        call.getArguments())))
        return call.emitError("has an attribute that a plan cannot hold: ")
               << call.getArguments();
      if (auto moved = call->getAttrOfType<IntegerAttr>(kMoved))
        c.set_bytes(moved.getInt());
      return success();
    }
    if (auto copy = dyn_cast<exec::CopyOp>(op))
      return finish(c, "copy", copy.getFrom(), copy.getTo(),
                    b.getDictionaryAttr({}));
    auto bucket = [&](Value buffer, int64_t id, StringRef kind, StringRef how,
                      bool ahead = false) {
      NamedAttrList attrs;
      attrs.set("bucket", b.getI64IntegerAttr(id));
      if (!how.empty())
        attrs.set("op", b.getStringAttr(how));
      if (ahead)
        attrs.set("ahead", b.getI64IntegerAttr(1));
      return finish(c, kind, buffer, buffer,
                    attrs.getDictionary(op->getContext()));
    };
    if (auto reduce = dyn_cast<exec::AllReduceOp>(op))
      return bucket(reduce.getBuffer(), reduce.getBucket(), "all_reduce",
                    reduce.getOp(), reduce.getAhead());
    if (auto wait = dyn_cast<exec::WaitOp>(op))
      return bucket(wait.getBuffer(), wait.getBucket(), "wait", "");
    auto numbered = [&](StringRef kind, Value from, Value to, int64_t number) {
      return finish(c, kind, from, to,
                    b.getDictionaryAttr(
                        b.getNamedAttr("copy", b.getI64IntegerAttr(number))));
    };
    if (auto offload = dyn_cast<exec::OffloadOp>(op))
      return numbered("offload", offload.getFrom(), offload.getTo(),
                      offload.getCopy());
    if (auto fetch = dyn_cast<exec::FetchOp>(op))
      return numbered("fetch", fetch.getFrom(), fetch.getTo(), fetch.getCopy());
    if (auto wait = dyn_cast<exec::WaitCopyOp>(op))
      return numbered("wait_copy", wait.getBuffer(), wait.getBuffer(),
                      wait.getCopy());
    return op->emitError("is no command");
  }
  LogicalResult finish(plan::Command &c, StringRef kind, ValueRange ins,
                       ValueRange outs, DictionaryAttr attrs) {
    c.set_kind(kind.str());
    int64_t bytes = 0;
    for (Value v : ins) {
      c.add_inputs(ids[v]);
      bytes += byteSize(cast<MemRefType>(v.getType()));
    }
    for (Value v : outs) {
      c.add_outputs(ids[v]);
      bytes += byteSize(cast<MemRefType>(v.getType()));
    }
    c.set_bytes(bytes);
    for (NamedAttribute attr : attrs)
      if (failed(fill(c.add_attributes(), attr)))
        return failure();
    return success();
  }

  plan::Program &out;
  const SymbolTable &symbols;
  const llvm::StringMap<uint32_t> &regions;
  llvm::DenseMap<Value, uint32_t> ids;
};

void fill(plan::Kernel &out, exec::KernelOp kernel) {
  out.set_symbol(kernel.getSymName().str());
  const auto bytesOf = [](Value v) {
    return byteSize(cast<ShapedType>(v.getType()));
  };
  Block &body = kernel.getBody().front();
  for (Value input : body.getArguments())
    out.add_inputs(bytesOf(input));
  for (Value output : body.getTerminator()->getOperands())
    out.add_outputs(bytesOf(output));
  out.set_size(kernel.getThreads()
                   ? kernel.getThreadsAttr().getValue().grid
                   : kernel.getScheduleAttr().getValue().extent());
}

/// Limits the region to what steps need; other programs get their own memory.
void fitScratch(plan::Plan &plan) {
  uint64_t steps = 0;
  for (const plan::Program &program : plan.programs())
    if (!onlyPredicts(program.name()))
      steps = std::max<uint64_t>(steps, program.scratch_bytes());
  for (plan::Region &region : *plan.mutable_regions())
    if (steps && region.kind() == plan::Region::SCRATCH)
      region.set_bytes(std::min<uint64_t>(region.bytes(), steps));
}

} // namespace

LogicalResult emitPlan(ModuleOp module, plan::Plan &plan) {
  llvm::StringMap<uint32_t> regions;
  for (auto region : module.getOps<exec::RegionOp>()) {
    regions[region.getSymName()] = plan.regions_size();
    plan::Region *r = plan.add_regions();
    r->set_name(region.getSymName().str());
    r->set_kind(region.getKind() == "state"      ? plan::Region::STATE
                : region.getKind() == "gradient" ? plan::Region::GRADIENT
                : region.getKind() == "host"     ? plan::Region::HOST
                                                 : plan::Region::SCRATCH);
    r->set_bytes(region.getBytes());
  }
  for (auto state : module.getOps<exec::StateOp>()) {
    plan::State *s = plan.add_states();
    s->set_name(state.getSymName().str());
    s->set_role(state.getRole().str());
    fill(s->mutable_type(), cast<ShapedType>(state.getType()));
    s->set_of(state.getOf().value_or("").str());
    s->set_region(regions.lookup(state.getRegion()));
    s->set_offset(state.getOffset());
    s->set_trainable(state.getTrainable());
  }
  SmallVector<exec::PartOp> parts(module.getOps<exec::PartOp>());
  llvm::sort(parts, [&](exec::PartOp a, exec::PartOp b) {
    return std::pair(regions.lookup(a.getRegion()), a.getOffset()) <
           std::pair(regions.lookup(b.getRegion()), b.getOffset());
  });
  for (exec::PartOp part : parts) {
    plan::Part *p = plan.add_parts();
    p->set_region(regions.lookup(part.getRegion()));
    p->set_offset(part.getOffset());
    p->set_bytes(part.getBytes());
    p->set_item_bytes(part.getItem());
    p->set_extent(part.getExtent());
  }
  const SymbolTable symbols(module);
  for (auto program : module.getOps<exec::ProgramOp>())
    if (failed(ProgramWriter(*plan.add_programs(), symbols, regions)
                   .emit(program)))
      return failure();
  fitScratch(plan);
  for (auto kernel : module.getOps<exec::KernelOp>())
    if (kernel.getSchedule())
      fill(*plan.add_kernels(), kernel);
  return success();
}

} // namespace dlc
