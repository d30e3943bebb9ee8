// SPDX-License-Identifier: Apache-2.0
#include "compiler/lower/memory/Offloader.h"
#include "compiler/dialect/host/HostMemory.h"
#include "compiler/lower/Marks.h"
#include "compiler/lower/memory/StateLayout.h"

using namespace mlir;

namespace dlc {
namespace {

/// Bytes below which a copy's events cost more than its memory is worth.
constexpr int64_t kLeastBytes = 1 << 20;
/// How much longer than predicted a copy may take before commands wait for it.
constexpr double kMargin = 1.25;

/// Whether it runs at its place; joined casts run elsewhere.
bool isOwnCommand(Operation *op) {
  return isa<ir::FusedOp, ir::LibraryInterface>(op) && !op->hasAttr(kJoined);
}

} // namespace

Offloader::Offloader(func::FuncOp f, const Target &target)
    : target(target), block(f.front()) {
  double now = 0;
  for (Operation &op : block) {
    positions[&op] = ops.size();
    ops.push_back(&op);
    starts.push_back(now);
    if (isOwnCommand(&op))
      now += target.secondsOf(&op);
  }
  starts.push_back(now);
  findIdle();
}

double Offloader::copySeconds(int64_t bytes) const {
  return kMargin * target.hostCopy(double(bytes));
}

int64_t Offloader::largest() const {
  int64_t most = 0;
  for (const Idle &each : idle)
    most = std::max(most, each.bytes);
  return most;
}

void Offloader::findIdle() {
  for (Operation *op : ops)
    if (isOwnCommand(op))
      for (OpResult r : op->getResults())
        if (auto found = idleOf(r))
          idle.push_back(std::move(*found));
  llvm::stable_sort(
      idle, [](const Idle &a, const Idle &b) { return a.seconds > b.seconds; });
}

/// Nullopt if the value is small, something else than commands reads it, such
/// as a state or a collective, or it is never idle.
std::optional<Offloader::Idle> Offloader::idleOf(OpResult v) const {
  const int64_t bytes = byteSize(ir::tensorType(v));
  if (bytes < kLeastBytes)
    return std::nullopt;
  SmallVector<Use> uses;
  SmallVector<Value> views{v};
  while (!views.empty())
    for (OpOperand &use : views.pop_back_val().getUses()) {
      Operation *user = use.getOwner();
      if (auto view = dyn_cast<ir::ReshapeOp>(user))
        views.push_back(view.getY());
      else if (isOwnCommand(user))
        uses.push_back({positions.lookup(user), &use});
      else
        return std::nullopt;
    }
  llvm::stable_sort(
      uses, [](const Use &a, const Use &b) { return a.position < b.position; });
  Idle found{v, positions.lookup(v.getOwner()), 0, 0, bytes, 0, {}};
  int64_t before = found.made;
  size_t first = 0;
  for (auto [i, use] : llvm::enumerate(uses)) {
    const double seconds = starts[use.position] - starts[before + 1];
    if (seconds > found.seconds) {
      found.seconds = seconds;
      found.before = before;
      found.after = use.position;
      first = i;
    }
    before = use.position;
  }
  if (found.seconds == 0)
    return std::nullopt;
  found.later.assign(uses.begin() + first, uses.end());
  return found;
}

/// When memory is released: in the order of the copies to the host.
std::vector<Offloader::Stay> Offloader::planStays(ArrayRef<const Idle *> chosen,
                                                  int64_t pending) const {
  SmallVector<const Idle *> order(chosen);
  llvm::stable_sort(order, [](const Idle *a, const Idle *b) {
    return a->before < b->before;
  });
  std::vector<Stay> stays;
  size_t oldest = 0; // that is on its way
  int64_t bytes = 0; // on their way
  double free = 0;
  for (const Idle *each : order) {
    for (; oldest < stays.size(); ++oldest) {
      Stay &other = stays[oldest];
      if (other.release > each->made) {
        if (bytes + each->bytes <= pending)
          break;
        // The new value may then take its memory.
        other.release = std::max(other.idle->before + 1, each->made);
      }
      bytes -= other.idle->bytes;
    }
    free = std::max(free, starts[each->before + 1]) + copySeconds(each->bytes);
    const int64_t done =
        llvm::lower_bound(starts, free) - starts.begin(); // may be the end
    stays.push_back({each, std::clamp(done, each->before + 1, each->after), 0});
    bytes += each->bytes;
  }
  planFetches(stays, pending);
  return stays;
}

/// Each as late as it, and those that are needed later, allow; in the order in
/// which they are needed, in which `stays` are then.
void Offloader::planFetches(std::vector<Stay> &stays, int64_t pending) const {
  llvm::stable_sort(stays, [](const Stay &a, const Stay &b) {
    return a.idle->after < b.idle->after;
  });
  double free = starts.back();
  for (Stay &stay : llvm::reverse(stays)) {
    free = std::min(free, starts[stay.idle->after]) -
           copySeconds(stay.idle->bytes);
    const int64_t latest =
        std::upper_bound(starts.begin(), starts.end(), free) - starts.begin() -
        1; // -1 if even the beginning is too late
    stay.fetch = std::clamp(latest, stay.release, stay.idle->after);
  }
  int64_t before = 0, bytes = 0; // fetched and not used yet
  size_t unused = 0;             // the first of these
  for (Stay &stay : stays) {
    stay.fetch = std::max(stay.fetch, before);
    for (bytes += stay.idle->bytes; &stays[unused] != &stay; ++unused) {
      const int64_t use = stays[unused].idle->after;
      if (use >= stay.fetch) {
        if (bytes <= pending)
          break;
        stay.fetch = std::min(use + 1, stay.idle->after);
      }
      bytes -= stays[unused].idle->bytes;
    }
    before = stay.fetch;
  }
  // Others would occupy their memory all the time.
  llvm::erase_if(stays,
                 [](const Stay &stay) { return stay.fetch <= stay.release; });
}

OffloadCost Offloader::simulate(ArrayRef<Stay> stays) const {
  // At one position waits for the host come first, and those for the device
  // last, as rewrite() inserts them.
  struct Event {
    int64_t position;
    int order; // release, fetch, use; start, behind the op before
    int64_t stay;
  };
  std::vector<Event> events;
  for (auto [i, stay] : llvm::enumerate(stays)) {
    events.push_back({stay.idle->before + 1, 0, int64_t(i)});
    events.push_back({stay.release, 1, int64_t(i)});
    events.push_back({stay.fetch, 2, int64_t(i)});
    events.push_back({stay.idle->after, 3, int64_t(i)});
  }
  llvm::stable_sort(events, [](const Event &a, const Event &b) {
    return std::pair(a.position, a.order) < std::pair(b.position, b.order);
  });
  HostLink link;
  double late = 0; // against the times without copies
  OffloadCost cost;
  for (const auto &[position, order, i] : events) {
    const double now = starts[position] + late,
                 seconds = target.hostCopy(double(stays[i].idle->bytes));
    if (order == 0)
      link.start(2 * i, HostLink::Direction::ToHost, now, seconds);
    else if (order == 2)
      link.start(2 * i + 1, HostLink::Direction::ToDevice, now, seconds);
    else
      late += link.wait(order == 1 ? 2 * i : 2 * i + 1, now);
  }
  for (const Stay &stay : stays) {
    ++cost.tensors;
    cost.bytes += stay.idle->bytes;
  }
  cost.seconds = link.seconds;
  cost.exposed = link.exposed;
  return cost;
}

/// Makes the uses after the gap, and views among them, read the copy.
void Offloader::replaceLater(const Idle &each, Value copy) {
  for (const Use &use : each.later) {
    SmallVector<Operation *> views;
    for (Value v = use.operand->get(); v != each.value;
         v = views.back()->getOperand(0))
      views.push_back(v.getDefiningOp());
    OpBuilder b(use.operand->getOwner());
    Value same = copy;
    for (Operation *view : llvm::reverse(views)) {
      Operation *of = b.clone(*view);
      of->setOperand(0, same);
      same = of->getResult(0);
    }
    use.operand->set(same);
  }
}

void Offloader::rewrite(ArrayRef<Stay> stays) {
  OpBuilder b(block.getParentOp()->getContext());
  SmallVector<Value> copies; // of each, as far as it has come
  for (auto [each, release, fetch] : stays) {
    b.setInsertionPointAfter(ops[each->before]);
    Value x = each->value;
    copies.push_back(
        ir::OffloadOp::create(b, x.getLoc(), ir::hostType(x.getType()), x));
  }
  auto wait = [&](int64_t position, Value started) -> Value {
    b.setInsertionPoint(ops[position]);
    return ir::WaitCopyOp::create(b, started.getLoc(), started.getType(),
                                  started,
                                  started.getDefiningOp()->getOperand(0));
  };
  for (auto [stay, copy] : llvm::zip(stays, copies))
    copy = wait(stay.release, copy);
  for (auto [stay, copy] : llvm::zip(stays, copies)) {
    b.setInsertionPoint(ops[stay.fetch]);
    copy =
        ir::FetchOp::create(b, copy.getLoc(), stay.idle->value.getType(), copy);
  }
  for (auto [stay, copy] : llvm::zip(stays, copies))
    replaceLater(*stay.idle, wait(stay.idle->after, copy));
  for (Operation *op : llvm::reverse(ops))
    if (isa<ir::ReshapeOp>(op) && op->use_empty())
      op->erase();
}

OffloadCost Offloader::insert(size_t count, int64_t pending) {
  SmallVector<const Idle *> chosen;
  for (const Idle &each : ArrayRef(idle).take_front(count))
    chosen.push_back(&each);
  const std::vector<Stay> stays = planStays(chosen, pending);
  rewrite(stays);
  return simulate(stays);
}

} // namespace dlc
