// SPDX-License-Identifier: Apache-2.0
#include "compiler/lower/memory/Slots.h"
#include "compiler/dialect/ops/Split.h"

using namespace mlir;

namespace dlc {

std::optional<PartExchange> exchangeOf(Operation *op) {
  if (auto scatter = dyn_cast<ir::ReduceScatterOp>(op))
    return PartExchange{op, scatter.getX(), scatter.getY(),
                        int64_t(scatter.getBucket())};
  auto gather = dyn_cast<ir::AllGatherOp>(op);
  if (!gather || !gather.getBucket())
    return std::nullopt;
  return PartExchange{op, gather.getY(), gather.getX(),
                      int64_t(*gather.getBucket())};
}

std::optional<int64_t> bucketOf(Operation *collective) {
  if (auto reduce = dyn_cast<ir::AllReduceOp>(collective))
    return reduce.getBucket();
  auto exchange = exchangeOf(collective);
  return exchange ? std::optional(exchange->bucket) : std::nullopt;
}

Operation *collectiveOf(Value v) {
  while (Operation *op = v.getDefiningOp()) {
    if (bucketOf(op))
      return op;
    if (!ir::isOperandsMemory(op))
      return nullptr;
    v = op->getOperand(0);
  }
  return nullptr;
}

bool followEachOther(int64_t end, int64_t begin, Type element) {
  return alignUp(end) == begin ||
         alignUp(end, strideAlignment(element)) == begin;
}

SmallVector<Slot> slotsOf(SmallVector<SlotMember> members) {
  llvm::stable_sort(members, [](const SlotMember &a, const SlotMember &b) {
    return std::tuple(a.exchange.bucket, StringRef(a.kept.region),
                      a.kept.offset) < std::tuple(b.exchange.bucket,
                                                  StringRef(b.kept.region),
                                                  b.kept.offset);
  });
  SmallVector<Slot> slots;
  for (const SlotMember &member : members) {
    const Type element = ir::elementType(member.exchange.whole);
    auto goesOn = [&](const Slot &slot) {
      return slot.members.front().bucket == member.exchange.bucket &&
             slot.kept.region == member.kept.region &&
             slot.element == element &&
             followEachOther(slot.kept.offset + slot.bytes, member.kept.offset,
                             element);
    };
    if (slots.empty() || !goesOn(slots.back())) {
      slots.emplace_back();
      slots.back().kept = member.kept;
      slots.back().element = element;
    }
    Slot &slot = slots.back();
    slot.members.push_back(member.exchange);
    slot.bytes = member.kept.offset - slot.kept.offset +
                 byteSize(ir::tensorType(member.exchange.whole));
  }
  return slots;
}

} // namespace dlc
