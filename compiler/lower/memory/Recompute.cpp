// SPDX-License-Identifier: Apache-2.0
// Recomputes activations for the backward part instead of storing them.
//
// Runs after fusion, because the repeated command must be identical to the
// first: how products and sums are contracted and 16-bit values rounded depends
// on the other ops in the cluster. No later pass merges equal commands.
#include "compiler/lower/memory/Recompute.h"
#include "compiler/dialect/ops/Split.h"
#include "compiler/lower/Labels.h"
#include "compiler/lower/Lower.h"
#include "compiler/lower/Marks.h"
#include "compiler/lower/memory/Activations.h"
#include "compiler/lower/memory/FitMemory.h"
#include "compiler/lower/memory/StateLayout.h"
#include "mlir/Pass/Pass.h"
#include "runtime/base/options/Pattern.h"
#include <set>

using namespace mlir;

namespace dlc {

#define GEN_PASS_DEF_RECOMPUTE
#include "compiler/lower/Passes.h.inc"

namespace {

class Patterns {
public:
  static FailureOr<Patterns> parse(ArrayRef<std::string> texts,
                                   Operation *where) {
    auto parsed = parsePatterns(texts.vec());
    if (!parsed)
      return where->emitError() << "--recompute: " << parsed.status().message();
    Patterns result;
    result.patterns = std::move(*parsed);
    return result;
  }
  /// Records which patterns match one of the names.
  bool find(ArrayRef<StringRef> names) {
    bool any = false;
    for (auto [i, pattern] : llvm::enumerate(patterns))
      if (llvm::any_of(names,
                       [&](StringRef name) { return pattern.search(name); })) {
        found.insert(i);
        any = true;
      }
    return any;
  }
  bool wasFound(size_t i) const { return found.contains(i); }

private:
  std::vector<Pattern> patterns;
  llvm::DenseSet<size_t> found;
};

struct Recompute : impl::RecomputeBase<Recompute> {
  using RecomputeBase::RecomputeBase;

  void runOnOperation() final {
    auto patterns = Patterns::parse(nodes, getOperation());
    if (failed(patterns))
      return signalPassFailure();
    const SymbolTable symbols(getOperation());
    for (auto f : getOperation().getOps<func::FuncOp>()) {
      Activations activations(f);
      llvm::BitVector chosen = matching(activations, *patterns);
      chosen |= decoded(activations, symbols);
      for (auto [i, item] : llvm::enumerate(activations.items()))
        if (isOfGathered(item.value))
          chosen.set(i);
      // If all chosen values have no later reader, nothing changes.
      const bool isAny = llvm::any_of(chosen.set_bits(), [&](unsigned i) {
        return activations.items()[i].kept;
      });
      if (isAny)
        activations.recompute(chosen);
    }
    if (budget)
      fitMemory(getOperation(), budget, offload, *options.target);
  }

  /// Whether a cluster computes it only from gathered parameters, which are
  /// gathered again where it is needed again.
  static bool isOfGathered(OpResult v) {
    auto fused = dyn_cast<ir::FusedOp>(v.getOwner());
    return fused && !fused.getInputs().empty() &&
           llvm::all_of(fused.getInputs(), [&](Value input) {
             return ir::viewedBy(input).getDefiningOp<ir::AllGatherOp>();
           });
  }

  /// Values that clusters compute only from constant states with fewer bytes:
  /// dequantised weights.
  static llvm::BitVector decoded(const Activations &activations,
                                 const SymbolTable &symbols) {
    llvm::DenseMap<Value, int64_t> bytes; // of those states
    auto bytesOf = [&](Value v) -> std::optional<int64_t> {
      const int64_t own = byteSize(ir::tensorType(v));
      while (Operation *op = v.getDefiningOp()) {
        if (!isa<ir::ReshapeOp>(op) && !op->hasAttr(kInPlace))
          break;
        v = op->getOperand(0);
      }
      if (auto read = v.getDefiningOp<ir::ReadOp>()) {
        auto state = symbols.lookup<ir::StateOp>(read.getState());
        if (state.getRole() == ir::Role::constant)
          return own;
      }
      auto made = bytes.find(v);
      return made == bytes.end() ? std::nullopt : std::optional(made->second);
    };
    llvm::BitVector found(activations.items().size());
    for (auto [i, item] : llvm::enumerate(activations.items())) {
      auto fused = dyn_cast<ir::FusedOp>(item.value.getOwner());
      if (!fused || fused.getInputs().empty())
        continue;
      std::optional<int64_t> sum = 0;
      for (Value input : fused.getInputs())
        if (auto part = bytesOf(input); sum)
          sum = part ? std::optional(*sum + *part) : std::nullopt;
      if (!sum)
        continue;
      bytes[item.value] = *sum;
      found[i] = *sum < byteSize(ir::tensorType(item.value));
    }
    return found;
  }

  /// Values that no later command reads are recomputed with the matching ones
  /// that need them: storing them instead would save nothing.
  static llvm::BitVector matching(const Activations &activations,
                                  Patterns &patterns) {
    llvm::BitVector chosen(activations.items().size());
    for (auto [i, item] : llvm::enumerate(activations.items()))
      chosen[i] = patterns.find(nodesOf(item.value)) || !item.kept;
    return chosen;
  }
};

} // namespace

LogicalResult checkRecompute(ModuleOp imported, const MemoryOptions &options) {
  auto patterns = Patterns::parse(options.recompute, imported);
  if (failed(patterns))
    return failure();
  std::set<std::string> known;
  imported.walk([&](Operation *op) {
    auto names = nodeNames(op->getLoc());
    patterns->find(names);
    for (StringRef name : names)
      known.insert(name.str());
  });
  for (auto [i, text] : llvm::enumerate(options.recompute))
    if (!patterns->wasFound(i))
      return imported.emitError()
             << "--recompute=" << text << " matches no node of the model"
             << nearbyNames(text, {known.begin(), known.end()});
  return success();
}

} // namespace dlc
