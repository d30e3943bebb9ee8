// SPDX-License-Identifier: Apache-2.0
#include "compiler/lower/memory/Slots.h"
#include "compiler/dialect/ops/Split.h"

using namespace mlir;

namespace dlc {

std::optional<ShardExchange> exchangeOf(Operation *op) {
  if (auto scatter = dyn_cast<ir::ReduceScatterOp>(op))
    return ShardExchange{op, scatter.getX(), scatter.getY(),
                         int64_t(scatter.getBucket())};
  auto gather = dyn_cast<ir::AllGatherOp>(op);
  if (!gather || !gather.getBucket())
    return std::nullopt;
  return ShardExchange{op, gather.getY(), gather.getX(),
                       int64_t(*gather.getBucket())};
}

bool followEachOther(int64_t end, int64_t begin, Type element) {
  return alignUp(end) == begin ||
         alignUp(end, strideAlignment(element)) == begin;
}

SmallVector<Slot> slotsOf(SmallVector<SlotMember> members) {
  llvm::stable_sort(members, [](const SlotMember &a, const SlotMember &b) {
    return std::tuple(a.exchange.bucket, StringRef(a.shard.region),
                      a.shard.offset) < std::tuple(b.exchange.bucket,
                                                   StringRef(b.shard.region),
                                                   b.shard.offset);
  });
  SmallVector<Slot> slots;
  for (const SlotMember &member : members) {
    const Type element = ir::elementType(member.exchange.whole);
    auto goesOn = [&](const Slot &slot) {
      return slot.members.front().bucket == member.exchange.bucket &&
             slot.shards.region == member.shard.region &&
             slot.element == element &&
             followEachOther(slot.shards.offset + slot.bytes,
                             member.shard.offset, element);
    };
    if (slots.empty() || !goesOn(slots.back())) {
      slots.emplace_back();
      slots.back().shards = member.shard;
      slots.back().element = element;
    }
    Slot &slot = slots.back();
    slot.members.push_back(member.exchange);
    slot.bytes = member.shard.offset - slot.shards.offset +
                 byteSize(ir::tensorType(member.exchange.whole));
  }
  return slots;
}

} // namespace dlc
