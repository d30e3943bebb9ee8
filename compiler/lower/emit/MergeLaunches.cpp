// SPDX-License-Identifier: Apache-2.0
// Merges launches of the same elementwise kernel on consecutive buffers into
// one launch over all of them: the update of all parameters is one kernel over
// flat arrays.
//
// A launch joins the group of an earlier one if both compute the same with the
// same scalars and attributes, each of its buffers follows the other's at the
// same distance in elements, and no command in between accesses what the group
// reads or writes. Gaps between states, and between gradients, hold zeros that
// are not used.
//
// The same applies to sums of the rows of zero-padded arrays (PartSums.cpp),
// whose order does not matter: the flat array then has as many rows as all
// arrays had.
#include "compiler/dialect/Dlc.h"
#include "compiler/dialect/Exec.h"
#include "compiler/dialect/Expr.h"
#include "compiler/lower/Lower.h"
#include "compiler/lower/Marks.h"
#include "compiler/lower/emit/Commands.h"
#include "compiler/lower/emit/Shapeless.h"
#include "compiler/lower/memory/StateLayout.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using dlc::ir::tensorType;

namespace dlc {

#define GEN_PASS_DEF_MERGELAUNCHES
#include "compiler/lower/Passes.h.inc"

namespace {

/// Multiple of the length of rows that are summed.
constexpr int64_t kSumRow = 64;

int64_t elementBytes(Value buffer) {
  return (cast<MemRefType>(buffer.getType()).getElementTypeBitWidth() + 7) / 8;
}
bool isScalar(Value v) { return cast<ShapedType>(v.getType()).getRank() == 0; }

} // namespace

std::string shapelessForm(Block &body) {
  ArrayRef<int64_t> full;
  llvm::DenseMap<Value, int64_t> number;
  std::string form;
  llvm::raw_string_ostream os(form);
  auto describe = [&](Value v) {
    auto t = tensorType(v);
    if (t.getRank() && full.empty())
      full = t.getShape();
    os << (t.getRank() ? "t" : "s") << t.getElementType() << " ";
    number[v] = number.size();
    return !t.getRank() || t.getShape() == full;
  };
  for (Value arg : body.getArguments())
    if (!describe(arg))
      return "";
  for (Operation &op : body) {
    os << op.getName() << "(";
    for (Value v : op.getOperands())
      os << number[v] << ",";
    os << ")";
    if (auto constant = dyn_cast<ir::ConstantOp>(op)) {
      auto value = dyn_cast<DenseElementsAttr>(constant.getValue());
      if (!value || !value.isSplat())
        return "";
      os << value.getSplatValue<Attribute>();
    } else if (isa<ir::ElementwiseInterface>(op)) {
      os << op.getAttrDictionary();
    } else if (!isa<ir::YieldOp>(op)) {
      return "";
    }
    for (Value r : op.getResults())
      if (!describe(r))
        return "";
  }
  return full.empty() ? "" : form;
}

namespace {

/// The reshape to rows that is the first op of such a kernel; null if it is
/// another kernel.
ir::ReshapeOp rowsOf(Block &body) {
  auto pads = body.getOps<ir::PadOp>();
  auto sums = body.getOps<ir::ReduceSumOp>();
  if (!llvm::hasSingleElement(pads) || !llvm::hasSingleElement(sums) ||
      body.getNumArguments() != 1)
    return {};
  ir::PadOp pad = *pads.begin();
  ir::ReduceSumOp sum = *sums.begin();
  auto rows = pad->hasOneUse() ? dyn_cast<ir::ReshapeOp>(*pad->user_begin())
                               : ir::ReshapeOp();
  const auto type = tensorType(pad.getX());
  const bool isFlat = ir::viewedBy(pad.getX()) == body.getArgument(0) &&
                      type.getRank() == 1 && pad.getLow()[0] == 0 &&
                      pad.getInterior()[0] == 0 && pad.getValue().isPosZero();
  return isFlat && rows && tensorType(rows.getResult()).getRank() == 2 &&
                 sum.getAxes() == ir::Ints({1}) &&
                 body.getTerminator()->getOperands() == sum->getResults()
             ? rows
             : nullptr;
}
/// A text for what is computed per element, and for the reduction.
std::string formOfSums(Block &body) {
  ir::ReshapeOp rows = rowsOf(body);
  if (!rows)
    return "";
  std::string form = "sums ";
  llvm::raw_string_ostream os(form);
  llvm::DenseMap<Value, int64_t> number{{rows.getResult(), 0}};
  os << ir::elementType(rows.getResult());
  for (Operation &op :
       llvm::make_range(std::next(rows->getIterator()), body.end())) {
    if (!isa<ir::ElementwiseInterface, ir::ConstantOp, ir::ReduceSumOp,
             ir::YieldOp>(op) ||
        llvm::any_of(op.getOperands(),
                     [&](Value v) { return !number.contains(v); }))
      return "";
    os << op.getName() << op.getAttrDictionary() << "(";
    for (Value v : op.getOperands())
      os << number[v] << ",";
    os << ")";
    for (Value r : op.getResults()) {
      os << ir::elementType(r);
      number.try_emplace(r, number.size());
    }
  }
  return form;
}

struct Group {
  SmallVector<exec::LaunchOp> launches;
  SmallVector<BufferRange> reads, writes; // bounding ranges
};

class Merger {
public:
  explicit Merger(ModuleOp module) : module(module), symbols(module) {}

  void run(exec::ProgramOp program) {
    SmallVector<std::unique_ptr<Group>> done;
    // Scattered gradients are split, which dlc-number-parts handles.
    hasParts = llvm::any_of(
        program.getBody().front().getOps<exec::CallOp>(),
        [](exec::CallOp call) { return call.getKind() == "reduce_scatter"; });
    for (Operation &op : program.getBody().front()) {
      if (isa<exec::BufferOp, exec::PortOp>(op))
        continue;
      auto launch = dyn_cast<exec::LaunchOp>(op);
      std::string key = launch ? keyOf(launch) : "";
      auto mine = key.empty() ? open.end() : open.find(key);
      if (mine != open.end() &&
          !follows(launch, mine->second->launches.back())) {
        done.push_back(std::move(mine->second));
        open.erase(mine);
        mine = open.end();
      }
      closeTouched(&op, mine == open.end() ? nullptr : mine->second.get(),
                   done);
      if (!key.empty())
        join(launch, mine == open.end()
                         ? *(open[key] = std::make_unique<Group>())
                         : *mine->second);
    }
    for (auto &[key, group] : open)
      done.push_back(std::move(group));
    open.clear();
    for (auto &group : done)
      if (group->launches.size() > 1)
        merge(*group);
  }

private:
  /// Launches with equal keys compute the same with the same scalars; empty:
  /// never merged.
  std::string keyOf(exec::LaunchOp launch) {
    auto [it, isNew] = forms.try_emplace(launch.getKernel());
    if (isNew) {
      Block &body = bodyOf(launch);
      it->second = shapelessForm(body);
      if (it->second.empty())
        it->second = formOfSums(body);
    }
    if (it->second.empty())
      return "";
    if (it->second.starts_with("sums "))
      return hasParts ? "" : it->second;
    std::string key = it->second;
    llvm::raw_string_ostream(key) << launch->getDiscardableAttrDictionary();
    for (Value v : launch->getOperands()) {
      if (isScalar(v)) {
        BufferRange r = rangeOf(v);
        key += (" " + r.region + "+" + Twine(r.begin)).str();
      } else if (rangeOf(v).region == "scratch") {
        return "";
      }
    }
    for (Value v : launch.getOutputs())
      if (isScalar(v))
        return "";
    return key;
  }
  Block &bodyOf(exec::LaunchOp launch) const {
    return symbols.lookup<exec::KernelOp>(launch.getKernel()).getBody().front();
  }
  bool follows(exec::LaunchOp next, exec::LaunchOp last) const {
    if (rowsOf(bodyOf(last))) {
      const BufferRange sums = rangeOf(last.getOutputs().front()),
                        more = rangeOf(next.getOutputs().front()),
                        from = rangeOf(last.getInputs().front()),
                        to = rangeOf(next.getInputs().front());
      return sums.region == more.region && sums.end == more.begin &&
             from.region == to.region && endOf(last) == to.begin;
    }
    std::optional<int64_t> distance;
    for (auto [a, b] : llvm::zip(last->getOperands(), next->getOperands())) {
      if (isScalar(a))
        continue;
      BufferRange ra = rangeOf(a), rb = rangeOf(b);
      int64_t d = (rb.begin - ra.begin) / elementBytes(a);
      auto type = cast<MemRefType>(a.getType());
      if (ra.region != rb.region || ra.begin + stateStride(type) != rb.begin ||
          (distance && *distance != d))
        return false;
      distance = d;
    }
    return true;
  }
  /// The end of its first input, including the gap after it.
  static int64_t endOf(exec::LaunchOp launch) {
    Value v = launch.getInputs().front();
    return rangeOf(v).begin + stateStride(cast<MemRefType>(v.getType()));
  }
  void closeTouched(Operation *op, Group *except,
                    SmallVectorImpl<std::unique_ptr<Group>> &done) {
    for (auto it = open.begin(); it != open.end();) {
      bool touched = it->second.get() != except && conflicts(op, *it->second);
      if (touched)
        done.push_back(std::move(it->second));
      it = touched ? open.erase(it) : std::next(it);
    }
  }
  static bool conflicts(Operation *op, Group &group) {
    auto hits = [](ArrayRef<BufferRange> ranges, BufferRange r) {
      return llvm::any_of(ranges,
                          [&](const BufferRange &o) { return o.overlaps(r); });
    };
    for (Value v : op->getOperands())
      if (hits(group.writes, rangeOf(v)))
        return true;
    ValueRange outs =
        op->getOperands(); // waits and all-reduces write their operand
    if (auto launch = dyn_cast<exec::LaunchOp>(op))
      outs = launch.getOutputs();
    if (auto call = dyn_cast<exec::CallOp>(op))
      outs = call.getOutputs();
    return llvm::any_of(outs,
                        [&](Value v) { return hits(group.reads, rangeOf(v)); });
  }
  static void join(exec::LaunchOp launch, Group &group) {
    group.launches.push_back(launch);
    auto extend = [](SmallVectorImpl<BufferRange> &hulls, ValueRange values) {
      for (auto [i, v] : llvm::enumerate(values)) {
        BufferRange r = rangeOf(v);
        if (i >= hulls.size())
          hulls.push_back(r);
        hulls[i].end = std::max(hulls[i].end, r.end);
      }
    };
    extend(group.reads, launch.getInputs());
    extend(group.writes, launch.getOutputs());
  }

  /// Merges sums of rows into those of the flat array.
  void mergeSums(Group &group) {
    exec::LaunchOp first = group.launches.front(), last = group.launches.back();
    const BufferRange sums = group.writes.front();
    Value from = first.getInputs().front(), to = first.getOutputs().front();
    const int64_t n = (group.reads.front().end - group.reads.front().begin) /
                      elementBytes(from),
                  rows = (sums.end - sums.begin) / elementBytes(to);
    OpBuilder b(last);
    auto buffer = [&](Value v, int64_t size) -> Value {
      auto op = v.getDefiningOp<exec::BufferOp>();
      OpBuilder before(op);
      return exec::BufferOp::create(
          before, op.getLoc(),
          MemRefType::get({size},
                          cast<MemRefType>(v.getType()).getElementType()),
          op.getRegion(), op.getOffset());
    };
    Value in = buffer(from, n), out = buffer(to, rows);
    exec::LaunchOp::create(b, last.getLoc(),
                           sumsKernel(first, n, rows).getSymName(), in, out);
    for (exec::LaunchOp launch : group.launches)
      launch.erase();
  }
  exec::KernelOp sumsKernel(exec::LaunchOp launch, int64_t n, int64_t rows) {
    auto from = symbols.lookup<exec::KernelOp>(launch.getKernel());
    ir::ReshapeOp old = rowsOf(bodyOf(launch));
    OpBuilder b(from);
    auto kernel = exec::KernelOp::create(
        b, from.getLoc(), (from.getSymName() + "_flat" + Twine(count++)).str());
    symbols.insert(kernel);
    Block *body = b.createBlock(&kernel.getBody());
    const auto type = tensorType(old.getResult());
    const int64_t length = llvm::alignTo(llvm::divideCeil(n, rows), kSumRow),
                  none[] = {0}, missing[] = {rows * length - n};
    ir::Expr x(b, from.getLoc(),
               body->addArgument(type.clone({n}), from.getLoc()));
    x = x.make<ir::PadOp>(x.v, ArrayRef(none), ArrayRef(missing),
                          ArrayRef(none), APFloat(0.0));
    IRMapping map;
    map.map(old.getResult(), x.reshape({rows, length}).v);
    for (Operation &op : llvm::make_range(std::next(old->getIterator()),
                                          old->getBlock()->end())) {
      Operation *made = b.clone(op, map);
      for (Value r : made->getResults())
        if (auto of = tensorType(r); of.getRank() == 2)
          r.setType(of.clone({rows, length}));
        else if (of.getRank() == 1)
          r.setType(of.clone({rows}));
    }
    return kernel;
  }

  void merge(Group &group) {
    exec::LaunchOp first = group.launches.front(), last = group.launches.back();
    if (rowsOf(bodyOf(first)))
      return mergeSums(group);
    Value sample = first.getOutputs().front();
    int64_t bytes =
        rangeOf(last.getOutputs().front()).end - rangeOf(sample).begin;
    int64_t n = bytes / elementBytes(sample);
    exec::KernelOp kernel =
        flatKernel(symbols.lookup<exec::KernelOp>(first.getKernel()), n);
    OpBuilder b(last);
    llvm::DenseMap<Value, Value> flats; // outputs may alias inputs
    auto flat = [&](Value v) -> Value {
      if (isScalar(v))
        return v;
      auto [it, isNew] = flats.try_emplace(v);
      auto buffer = v.getDefiningOp<exec::BufferOp>();
      OpBuilder before(buffer);
      auto type =
          MemRefType::get({n}, cast<MemRefType>(v.getType()).getElementType());
      if (isNew)
        it->second =
            exec::BufferOp::create(before, buffer.getLoc(), type,
                                   buffer.getRegion(), buffer.getOffset());
      return it->second;
    };
    SmallVector<Value> ins, outs;
    for (Value v : first.getInputs())
      ins.push_back(flat(v));
    for (Value v : first.getOutputs())
      outs.push_back(flat(v));
    exec::LaunchOp::create(b, last.getLoc(), kernel.getSymName(), ins, outs)
        ->setDiscardableAttrs(first->getDiscardableAttrDictionary());
    for (exec::LaunchOp launch : group.launches)
      launch.erase();
  }

  /// The kernel for tensors of n elements.
  exec::KernelOp flatKernel(exec::KernelOp from, int64_t n) {
    OpBuilder b(from);
    auto kernel = exec::KernelOp::create(
        b, from.getLoc(), (from.getSymName() + "_flat" + Twine(count++)).str());
    symbols.insert(kernel);
    Block *body = b.createBlock(&kernel.getBody());
    auto flat = [&](Type t) -> Type {
      auto tensor = cast<RankedTensorType>(t);
      return tensor.getRank() ? tensor.clone(ArrayRef<int64_t>{n}) : tensor;
    };
    IRMapping map;
    for (BlockArgument arg : from.getBody().front().getArguments())
      map.map(arg, body->addArgument(flat(arg.getType()), arg.getLoc()));
    for (Operation &op : from.getBody().front()) {
      if (auto constant = dyn_cast<ir::ConstantOp>(op)) {
        auto value = cast<DenseElementsAttr>(constant.getValue());
        auto type = cast<RankedTensorType>(flat(constant.getType()));
        map.map(
            constant.getResult(),
            ir::ConstantOp::create(b, op.getLoc(), type,
                                   cast<ElementsAttr>(value.resizeSplat(type)))
                .getResult());
        continue;
      }
      Operation *clone = b.clone(op, map);
      for (Value r : clone->getResults())
        r.setType(flat(r.getType()));
    }
    return kernel;
  }

  ModuleOp module;
  SymbolTable symbols;
  llvm::StringMap<std::string> forms;
  std::map<std::string, std::unique_ptr<Group>> open;
  int64_t count = 0;
  bool hasParts = false;
};

} // namespace

void eraseUnused(ModuleOp module) {
  llvm::StringSet<> used;
  module.walk([&](exec::LaunchOp launch) { used.insert(launch.getKernel()); });
  for (auto kernel :
       llvm::make_early_inc_range(module.getOps<exec::KernelOp>()))
    if (!used.contains(kernel.getSymName()))
      kernel.erase();
  module.walk([](exec::BufferOp buffer) {
    if (buffer->use_empty())
      buffer.erase();
  });
}

namespace {

struct MergeLaunches : impl::MergeLaunchesBase<MergeLaunches> {
  using MergeLaunchesBase::MergeLaunchesBase;

  void runOnOperation() final {
    Merger merger(getOperation());
    for (auto program : getOperation().getOps<exec::ProgramOp>())
      merger.run(program);
    eraseUnused(getOperation());
  }
};

} // namespace

} // namespace dlc
