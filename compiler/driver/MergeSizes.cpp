// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/MergeSizes.h"
#include "compiler/dialect/Dlc.h"
#include "compiler/dialect/Exec.h"
#include "compiler/lower/memory/StateLayout.h"
#include "runtime/base/Text.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/raw_ostream.h"
#include <cstring>
#include <fmt/ranges.h>

using namespace mlir;

namespace dlc {

void keepPlaces(ModuleOp module, ModuleOp other) {
  SmallVector<exec::StateOp> parameters;
  for (auto state : module.getOps<exec::StateOp>())
    if (state.getRegion() == "param")
      parameters.push_back(state);
  llvm::sort(parameters, [](exec::StateOp a, exec::StateOp b) {
    return a.getOffset() < b.getOffset();
  });
  SmallVector<Attribute> names;
  for (exec::StateOp state : parameters)
    names.push_back(state.getSymNameAttr());
  other->setAttr(kLayoutOrder, ArrayAttr::get(other.getContext(), names));
}

namespace {

/// Kernels of equal text only differ in their names.
std::string textOf(exec::KernelOp kernel) {
  const StringAttr name = kernel.getSymNameAttr();
  std::string text;
  llvm::raw_string_ostream os(text);
  kernel.setSymName("k");
  kernel->print(os, OpPrintingFlags().useLocalScope());
  kernel.setSymNameAttr(name);
  return text;
}

bool readsInputs(exec::ProgramOp program) {
  return llvm::any_of(program.getOps<exec::PortOp>(), [](exec::PortOp port) {
    return port.getDirection() == "input";
  });
}

std::string shapeOf(exec::StateOp state) {
  return fmt::format(
      "{}", fmt::join(cast<ShapedType>(state.getType()).getShape(), ", "));
}

class Merger {
public:
  Merger(import::ImportedModel &first, import::ImportedModel &other,
         int64_t number, const std::string &label)
      : first(first), other(other), module(*first.module), number(number),
        label(label), symbols(module) {}

  Status run() {
    for (auto region : module.getOps<exec::RegionOp>())
      regions[region.getSymName()] = region;
    llvm::StringSet<> found;
    for (auto state : other.module->getOps<exec::StateOp>()) {
      found.insert(state.getSymName());
      DLC_TRY(mergeState(state));
    }
    for (auto state : module.getOps<exec::StateOp>())
      if (state.getRegion() != "const" && !found.contains(state.getSymName()))
        return refused(state, "the first size", label, nullptr);
    DLC_TRY(mergeRegions());
    mergeKernels();
    for (auto program :
         llvm::make_early_inc_range(other.module->getOps<exec::ProgramOp>()))
      if (readsInputs(program)) // shared by all sizes otherwise
        DLC_TRY(add(program));
    return {};
  }

private:
  struct Moved {
    int64_t bytes, to;
  };

  std::string named(StringRef name) const { return name.str() + "@" + label; }
  Status differs(const char *what) const {
    return failed("the programs for {} have another {} than those of the "
                  "first size",
                  label, what);
  }

  Status mergeRegions() {
    for (auto region : other.module->getOps<exec::RegionOp>()) {
      if (region.getSymName() == "const")
        continue;
      exec::RegionOp mine = regions.lookup(region.getSymName());
      const bool isShared =
          region.getKind() == "scratch" || region.getKind() == "host";
      if (!mine && region.getKind() == "host")
        addHostRegion(region);
      else if (mine && isShared)
        mine.setBytes(std::max(mine.getBytes(), region.getBytes()));
      else if (!mine || mine.getBytes() != region.getBytes())
        return differs("memory");
    }
    return {};
  }
  /// If only a later size offloads.
  void addHostRegion(exec::RegionOp region) {
    exec::RegionOp mine = region.clone();
    symbols.insert(mine, std::next(regions["scratch"]->getIterator()));
    regions["host"] = mine;
  }
  exec::RegionOp constRegion() {
    exec::RegionOp &region = regions["const"];
    if (!region) {
      auto b = OpBuilder::atBlockBegin(module.getBody());
      region = exec::RegionOp::create(b, module.getLoc(), "const", "state", 0);
      symbols.insert(region);
    }
    return region;
  }

  /// The error for `state`, which differs between sizes.
  Status refused(exec::StateOp state, const std::string &here,
                 const std::string &there, exec::StateOp other) const {
    return badModel(
        "'{}' has shape [{}] at {}, but {} at {}: a size may change "
        "the samples, not what is trained or kept",
        printable(state.getSymName().str()), shapeOf(state), here,
        other ? "[" + shapeOf(other) + "] or other values" : "is not there",
        there);
  }

  Status mergeState(exec::StateOp state) {
    auto same = symbols.lookup<exec::StateOp>(state.getSymName());
    const bool isConst = state.getRegion() == "const";
    if (same && same.getType() == state.getType() && hasValueOf(same, state)) {
      if (same.getRegion() != state.getRegion() ||
          (!isConst && same.getOffset() != state.getOffset()))
        return differs("place of a state");
      if (isConst)
        consts[state.getOffset()] = {bytesOf(state), int64_t(same.getOffset())};
      return {};
    }
    if (!isConst)
      return refused(state, label, "the first size", same);
    return addConst(state);
  }
  static int64_t bytesOf(exec::StateOp state) {
    return byteSize(cast<ShapedType>(state.getType()));
  }
  bool hasValueOf(exec::StateOp mine, exec::StateOp state) const {
    auto a = dyn_cast<StringAttr>(mine.getInit()),
         b = dyn_cast<StringAttr>(state.getInit());
    if (!a || !b)
      return mine.getInit() == state.getInit();
    const import::Weight *x = first.weights.find(a.str()),
                         *y = other.weights.find(b.str());
    return x && y && x->dtype == y->dtype && x->bytes == y->bytes &&
           (x->data == y->data || std::memcmp(x->data, y->data, x->bytes) == 0);
  }
  Status addConst(exec::StateOp state) {
    exec::StateOp mine = state.clone();
    mine.setSymName(named(state.getSymName()));
    if (symbols.lookup(mine.getSymName()))
      return failed("two states are called '{}'",
                    printable(mine.getSymName().str()));
    if (auto init = dyn_cast<StringAttr>(state.getInit())) {
      const import::Weight *weight = other.weights.find(init.str());
      if (!weight)
        return differs("set of weights");
      first.weights.add(named(init), *weight);
      mine.setInitAttr(StringAttr::get(init.getContext(), named(init)));
    }
    exec::RegionOp region = constRegion();
    mine.setOffset(alignUp(region.getBytes()));
    region.setBytes(mine.getOffset() +
                    stateStride(cast<ShapedType>(mine.getType())));
    consts[state.getOffset()] = {bytesOf(state), int64_t(mine.getOffset())};
    symbols.insert(mine, module.getBody()->begin());
    mine->moveAfter(region);
    return {};
  }

  void mergeKernels() {
    llvm::StringMap<exec::KernelOp> mine;
    for (auto kernel : module.getOps<exec::KernelOp>())
      mine.try_emplace(textOf(kernel), kernel);
    for (auto kernel :
         llvm::make_early_inc_range(other.module->getOps<exec::KernelOp>())) {
      const std::string name = kernel.getSymName().str();
      auto [at, isNew] = mine.try_emplace(textOf(kernel), kernel);
      if (isNew) {
        kernel->remove();
        kernel.setSymName("s" + std::to_string(number) + "_" + name);
        symbols.insert(kernel, module.getBody()->end());
      }
      kernels[name] = at->second.getSymNameAttr();
    }
  }

  Status add(exec::ProgramOp program) {
    for (auto launch : program.getOps<exec::LaunchOp>())
      launch.setKernelAttr(
          FlatSymbolRefAttr::get(kernels.lookup(launch.getKernel())));
    for (auto buffer : program.getOps<exec::BufferOp>())
      if (buffer.getRegion() == "const")
        DLC_TRY(move(buffer));
    program->remove();
    program.setSymName(named(program.getSymName()));
    program->setAttr(
        "dlc.size",
        IntegerAttr::get(IntegerType::get(module.getContext(), 64), number));
    symbols.insert(program, module.getBody()->end());
    return {};
  }
  /// Moves a buffer to the new place of the constant that contains it.
  Status move(exec::BufferOp buffer) const {
    const int64_t offset = buffer.getOffset();
    auto at = consts.upper_bound(offset);
    if (at == consts.begin())
      return differs("set of constants");
    const auto &[begin, moved] = *std::prev(at);
    if (offset + byteSize(cast<ShapedType>(buffer.getType())) >
        begin + moved.bytes)
      return differs("set of constants");
    buffer.setOffset(moved.to + (offset - begin));
    return {};
  }

  import::ImportedModel &first, &other;
  ModuleOp module;
  int64_t number;
  const std::string &label;
  SymbolTable symbols;
  llvm::StringMap<exec::RegionOp> regions;
  std::map<int64_t, Moved> consts; // by old offset
  llvm::StringMap<StringAttr> kernels;
};

} // namespace

Status mergeSize(import::ImportedModel &first, import::ImportedModel other,
                 int64_t number, const std::string &label) {
  DLC_TRY(Merger(first, other, number, label).run());
  // Owns the data of its constants.
  first.weights.keep(
      std::make_shared<import::WeightStore>(std::move(other.weights)));
  return {};
}

} // namespace dlc
