// SPDX-License-Identifier: Apache-2.0
#include "compiler/lower/memory/FitMemory.h"
#include "compiler/lower/Labels.h"
#include "compiler/lower/memory/Activations.h"
#include "compiler/lower/memory/Placement.h"
#include "runtime/base/Bytes.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace dlc {
namespace {

/// Segment sizes that are tried: all recomputable bytes, a half, ...
constexpr int kHalvings = 7;
/// Shares of the candidates that are tried, and refinements between two shares.
constexpr int kShares = 8, kRefinements = 3;
constexpr size_t kNamed = 12;

/// FLOPs of a cluster: one per element of each op.
int64_t flopsOf(Operation *command) {
  if (auto library = dyn_cast<ir::FlopsInterface>(command))
    return library.countFlops();
  int64_t n = 0;
  for (Operation &op : cast<ir::FusedOp>(command).getBody().front())
    if (isa<ir::ElementwiseInterface>(op))
      n += ir::tensorType(op.getResult(0)).getNumElements();
  return n;
}

/// A forward command whose results are stored for the backward part.
struct Recomputable {
  int64_t command, bytes;
  double flops; // of it and of its inputs that are not stored
  double worth() const { return bytes / (flops + 1); }
};

struct Cost {
  int64_t bytes = INT64_MAX; // of all regions
  int64_t flops = 0;         // repeated
};

/// Fits one function, together with those without activations. Functions share
/// their scratch memory, so if each fits, all do.
class Fitter {
public:
  Fitter(ModuleOp module, func::FuncOp step, int64_t budget)
      : module(module), step(step), budget(budget), activations(step),
        layout(layoutStates(module)) {
    for (auto [region, bytes] : layout.bytes)
      stateBytes += bytes;
    for (auto f : module.getOps<func::FuncOp>())
      if (Activations(f).commands().empty()) {
        Placement places(f, layout);
        if (!onlyPredicts(f.getName()))
          otherScratch = std::max(otherScratch, places.scratchBytes());
        otherGradient = std::max(otherGradient, places.gradientBytes());
      }
    findCandidates();
  }

  void run() {
    int64_t before = bytesOf(step);
    if (before <= budget || candidates.empty())
      return;
    search();
    if (!fitting && least >= before) // computing again would save nothing
      return;
    report(before, activations.recompute(fitting ? *fitting : smallest));
  }

private:
  int64_t bytesOf(func::FuncOp f) {
    Placement places(f, layout);
    return stateBytes + std::max(otherGradient, places.gradientBytes()) +
           std::max(otherScratch, places.scratchBytes());
  }

  void findCandidates() {
    std::vector<double> flops(activations.commands().size());
    std::vector<int64_t> kept(flops.size());
    for (auto [i, op] : llvm::enumerate(activations.commands())) {
      flops[i] = flopsOf(op);
      for (Value v : op->getOperands())
        if (auto from = activations.find(v);
            from && !activations.items()[*from].kept)
          flops[i] += flops[activations.items()[*from].command];
    }
    for (const Activations::Item &item : activations.items())
      if (item.kept && !item.stays)
        kept[item.command] += item.bytes();
    for (auto [i, bytes] : llvm::enumerate(ArrayRef(kept).drop_back()))
      if (bytes)
        candidates.push_back({(int64_t)i, bytes, flops[i]});
    llvm::stable_sort(candidates,
                      [](const Recomputable &a, const Recomputable &b) {
                        return a.worth() > b.worth();
                      });
  }

  /// The `count` best candidates, and their inputs that are not stored, in
  /// segments of about `segment` bytes.
  llvm::BitVector choose(size_t count, int64_t segment) {
    llvm::BitVector command(activations.commands().size());
    for (const Recomputable &c : ArrayRef(candidates).take_front(count))
      command.set(c.command);
    llvm::BitVector chosen(activations.items().size());
    for (auto [i, item] : llvm::enumerate(activations.items()))
      chosen[i] = !item.kept || command[item.command];
    std::vector<int64_t> borders = findBorders(chosen, segment);
    for (auto [i, item] : llvm::enumerate(activations.items()))
      if (auto border = llvm::lower_bound(borders, item.command);
          border != borders.end() && *border < item.lastUse)
        chosen.reset(i);
    return chosen;
  }
  /// Commands after which a segment ends: where little would have to be stored.
  std::vector<int64_t> findBorders(const llvm::BitVector &chosen,
                                   int64_t segment) {
    size_t n = activations.commands().size();
    std::vector<int64_t> made(n), crossing(n + 1), borders;
    for (unsigned i : chosen.set_bits()) {
      const Activations::Item &item = activations.items()[i];
      if (item.kept)
        made[item.command] += item.bytes();
      if (item.lastUse > item.command) {
        crossing[item.command] += item.bytes();
        crossing[item.lastUse] -= item.bytes();
      }
    }
    for (size_t i = 1; i < n; ++i)
      crossing[i] += crossing[i - 1];
    size_t half = 0; // first command in the segment's second half
    int64_t bytes = 0, second = 0;
    for (size_t i = 0; i < n; ++i) {
      bytes += made[i];
      second += made[i];
      while (half < i && second > segment / 2)
        second -= made[half++];
      if (bytes <= segment)
        continue;
      size_t border = half;
      for (size_t j = half; j <= i; ++j)
        if (crossing[j] <= crossing[border])
          border = j;
      borders.push_back(border);
      half = border + 1;
      bytes = second = 0;
      for (size_t j = half; j <= i; ++j)
        second = bytes += made[j];
    }
    return borders;
  }

  /// Evaluates a choice and remembers the best.
  Cost tryOut(size_t count, int64_t segment) {
    llvm::BitVector chosen = choose(count, segment);
    auto copy = cast<func::FuncOp>(step->clone());
    module.push_back(copy);
    Cost cost;
    cost.flops = 0;
    for (Operation *op : Activations(copy).recompute(chosen))
      cost.flops += flopsOf(op);
    cost.bytes = bytesOf(copy);
    copy.erase();
    if (cost.bytes < least) {
      least = cost.bytes;
      smallest = chosen;
    }
    if (cost.bytes <= budget && (!fitting || cost.flops < fewest)) {
      fewest = cost.flops;
      fitting = chosen;
    }
    return cost;
  }
  void search() {
    int64_t all = 0;
    for (const Recomputable &c : candidates)
      all += c.bytes;
    for (int halving = 0; halving < kHalvings; ++halving) {
      size_t below = 0;
      for (int share = 1; share <= kShares; ++share) {
        size_t count = candidates.size() * share / kShares;
        if (count == below)
          continue;
        Cost cost = tryOut(count, all >> halving);
        if (cost.bytes <= budget) {
          refine(below, count, all >> halving);
          break;
        }
        if (fitting && cost.flops > fewest)
          break;
        below = count;
      }
    }
  }
  void refine(size_t below, size_t fits, int64_t segment) {
    for (int i = 0; i < kRefinements && fits - below > 1; ++i) {
      size_t middle = below + (fits - below) / 2;
      bool enough = tryOut(middle, segment).bytes <= budget;
      (enough ? fits : below) = middle;
    }
  }

  void report(int64_t before, ArrayRef<Operation *> copies) {
    int64_t repeated = 0, whole = 0;
    for (Operation *op : copies)
      repeated += flopsOf(op);
    for (Operation &op : step.front())
      if (isa<ir::FlopsInterface, ir::FusedOp>(op))
        whole += flopsOf(&op);
    std::string names;
    for (Operation *op : ArrayRef(copies).take_front(kNamed))
      names += (names.empty() ? "" : ", ") +
               llvm::join(nodeNames(op->getLoc()), "; ");
    if (copies.size() > kNamed)
      names += ", ...";
    step.emitRemark() << fmt::format(
        "{} instead of {}: {} of {} forward commands are computed again, "
        "{:.3g} "
        "GFLOP a step ({:.1f} % of all): {}",
        roundBytes(bytesOf(step)), roundBytes(before), copies.size(),
        activations.commands().size(), repeated * 1e-9,
        100.0 * repeated / std::max<int64_t>(whole, 1), names);
  }

  ModuleOp module;
  func::FuncOp step;
  int64_t budget;
  Activations activations;
  StateLayout layout;
  int64_t stateBytes = 0, otherScratch = 0, otherGradient = 0;
  std::vector<Recomputable> candidates; // the best first
  llvm::BitVector smallest;
  int64_t least = INT64_MAX, fewest = INT64_MAX;
  std::optional<llvm::BitVector> fitting;
};

} // namespace

void fitMemory(ModuleOp module, int64_t budget) {
  for (auto f : llvm::to_vector(module.getOps<func::FuncOp>()))
    if (!Activations(f).commands().empty())
      Fitter(module, f, budget).run();
}

} // namespace dlc
