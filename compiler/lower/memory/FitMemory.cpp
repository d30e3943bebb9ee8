// SPDX-License-Identifier: Apache-2.0
#include "compiler/lower/memory/FitMemory.h"
#include "compiler/lower/Labels.h"
#include "compiler/lower/memory/Activations.h"
#include "compiler/lower/memory/Offloader.h"
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
/// Halvings of the long and the short segments that offloading is tried with.
constexpr int kOffloadHalvings = 3;
/// Shares of the idle values that are tried.
constexpr size_t kOffloadShares = 16;
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

/// Activations to recompute, and then values to offload.
struct Choice {
  llvm::BitVector recomputed;
  size_t offloaded = 0;        // the longest idle of what is left
  int64_t pending = INT64_MAX; // Offloader::insert
};

struct Cost {
  int64_t bytes = INT64_MAX; // of all regions
  int64_t flops = 0;         // repeated
  double seconds = 0;        // predicted: of repeated commands, and waits
  OffloadCost copies;
  size_t idle = 0; // values that may be offloaded
  int64_t largestIdle = 0;
};

/// Fits one function, together with those without activations. Functions share
/// their scratch memory, so if each fits, all do.
class Fitter {
public:
  Fitter(ModuleOp module, func::FuncOp step, int64_t budget, OffloadMode mode,
         const Target &target)
      : module(module), step(step), budget(budget), mode(mode), target(target),
        activations(step), layout(layoutStates(module)) {
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
    if (before <= budget)
      return;
    if (mode != OffloadMode::Only && !candidates.empty())
      search();
    if (mode != OffloadMode::Off && target.hostCopy(1) > 0)
      searchOffloads();
    // Else computing again, or copying, would save nothing.
    if (fitting || least < before)
      report(before, fitting ? *fitting : smallest);
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

  struct Applied {
    SmallVector<Operation *> copies; // of commands
    Cost cost;
  };
  Applied apply(func::FuncOp f, const Choice &choice) {
    Applied applied;
    Cost &cost = applied.cost;
    applied.copies = Activations(f).recompute(choice.recomputed);
    for (Operation *op : applied.copies) {
      cost.flops += flopsOf(op);
      cost.seconds += target.secondsOf(op);
    }
    if (mode != OffloadMode::Off && target.hostCopy(1) > 0) {
      Offloader offloader(f, target);
      cost.idle = offloader.size();
      cost.largestIdle = offloader.largest();
      cost.copies = offloader.insert(choice.offloaded, choice.pending);
      cost.seconds += cost.copies.exposed;
    }
    cost.bytes = bytesOf(f);
    return applied;
  }

  /// Evaluates a choice and remembers the best: by FLOPs among those without
  /// copies, and by time among the others and the best of the former.
  Cost tryOut(const Choice &choice) {
    auto copy = cast<func::FuncOp>(step->clone());
    module.push_back(copy);
    Cost cost = apply(copy, choice).cost;
    copy.erase();
    if (cost.bytes < least) {
      least = cost.bytes;
      smallest = choice;
    }
    const bool isBetter = !fitting || (choice.offloaded || fitting->offloaded
                                           ? cost.seconds < fastest
                                           : cost.flops < fewest);
    if (cost.bytes <= budget && isBetter) {
      fewest = cost.flops;
      fastest = cost.seconds;
      fitting = choice;
    }
    return cost;
  }
  Cost tryOut(size_t count, int64_t segment) {
    return tryOut({choose(count, segment)});
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

  /// Offloads beside some shares of the candidates; the copies of short-lived
  /// segments are few, of long ones many.
  void searchOffloads() {
    int64_t all = 0;
    for (const Recomputable &c : candidates)
      all += c.bytes;
    const bool isAlone = mode == OffloadMode::Only;
    for (int share = 0; share <= (isAlone ? 0 : kShares); ++share)
      for (int halving = 0; halving <= (share ? kOffloadHalvings : 0);
           halving += kOffloadHalvings) {
        Choice choice;
        if (share)
          choice.recomputed =
              choose(candidates.size() * share / kShares, all >> halving);
        else
          choice.recomputed.resize(activations.items().size());
        searchOffloads(choice);
      }
  }
  /// Beside what is recomputed: as few copies as suffice, without and with
  /// bounds on what is on its way, which release memory early. With too many,
  /// what is fetched ahead needs memory again, so their number grows in steps.
  void searchOffloads(Choice choice) {
    const Cost without = tryOut(choice);
    if (without.bytes <= budget)
      return;
    for (const int64_t pending :
         {INT64_MAX, 4 * without.largestIdle, without.largestIdle}) {
      choice.pending = pending;
      size_t below = 0;
      for (size_t share = 1; share <= kOffloadShares; ++share) {
        choice.offloaded = without.idle * share / kOffloadShares;
        if (choice.offloaded == below)
          continue;
        const Cost cost = tryOut(choice);
        if (cost.bytes <= budget)
          refineOffloads(choice, below);
        if (cost.bytes <= budget || (fitting && cost.seconds >= fastest))
          break;
        below = choice.offloaded;
      }
    }
  }
  void refineOffloads(Choice fits, size_t below) {
    size_t above = fits.offloaded;
    while (above - below > 1) {
      fits.offloaded = below + (above - below) / 2;
      (tryOut(fits).bytes <= budget ? above : below) = fits.offloaded;
    }
  }

  void report(int64_t before, const Choice &choice) {
    const auto [copies, cost] = apply(step, choice);
    int64_t repeated = cost.flops, whole = 0;
    for (Operation &op : step.front())
      if (isa<ir::FlopsInterface, ir::FusedOp>(op))
        whole += flopsOf(&op);
    const double recomputing = cost.seconds - cost.copies.exposed;
    std::string names;
    for (Operation *op : ArrayRef(copies).take_front(kNamed))
      names += (names.empty() ? "" : ", ") +
               llvm::join(nodeNames(op->getLoc()), "; ");
    if (copies.size() > kNamed)
      names += ", ...";
    std::string text = fmt::format("{} instead of {}", roundBytes(cost.bytes),
                                   roundBytes(before));
    if (!copies.empty() || cost.copies.tensors == 0)
      text += fmt::format(
          ": {} of {} forward commands are computed again, {:.3g} GFLOP a step "
          "({:.1f} % of all{}): {}",
          copies.size(), activations.commands().size(), repeated * 1e-9,
          100.0 * repeated / std::max<int64_t>(whole, 1),
          recomputing > 0
              ? fmt::format(", predicted: {:.3g} ms", 1e3 * recomputing)
              : "",
          names);
    if (cost.copies.tensors)
      text += fmt::format(
          "{} {} in {} tensor{} goes to the host and back, in {:.3g} ms beside "
          "other commands, which wait for {:.3g} ms of that",
          copies.empty() ? ":" : ";", roundBytes(double(cost.copies.bytes)),
          cost.copies.tensors, cost.copies.tensors == 1 ? "" : "s",
          1e3 * cost.copies.seconds, 1e3 * cost.copies.exposed);
    step.emitRemark() << text;
  }

  ModuleOp module;
  func::FuncOp step;
  int64_t budget;
  OffloadMode mode;
  const Target &target;
  Activations activations;
  StateLayout layout;
  int64_t stateBytes = 0, otherScratch = 0, otherGradient = 0;
  std::vector<Recomputable> candidates; // the best first
  Choice smallest;
  int64_t least = INT64_MAX, fewest = INT64_MAX;
  double fastest = 0; // seconds of `fitting`
  std::optional<Choice> fitting;
};

} // namespace

void fitMemory(ModuleOp module, int64_t budget, OffloadMode mode,
               const Target &target) {
  for (auto f : llvm::to_vector(module.getOps<func::FuncOp>()))
    if (!Activations(f).commands().empty())
      Fitter(module, f, budget, mode, target).run();
}

} // namespace dlc
