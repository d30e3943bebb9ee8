// SPDX-License-Identifier: Apache-2.0
#include "compiler/lower/memory/Casts.h"

using namespace mlir;

namespace dlc {
namespace {

ir::ReadOp readBy(ir::FusedOp fused) {
  return ir::viewedBy(fused.getInputs().front()).getDefiningOp<ir::ReadOp>();
}

bool isWide(Value v) {
  Type element = ir::elementType(v);
  return isa<FloatType>(element) && elementBytes(element) > 2;
}

} // namespace

Place CastRange::placeOfHalves(const JoinedCast &cast) const {
  const int64_t before =
      (cast.wide.offset - wide.offset) / elementBytes(wideType);
  return {"scratch", scratch + before * elementBytes(halfType)};
}

ir::CastOp onlyCast(Operation *op) {
  auto fused = dyn_cast<ir::FusedOp>(op);
  if (!fused || fused.getInputs().size() != 1 || fused->getNumResults() != 1)
    return nullptr;
  auto body = fused.getBody().front().without_terminator();
  auto isCast = llvm::IsaPred<ir::CastOp>;
  auto cast = llvm::find_if(body, isCast);
  return llvm::count_if(body, isCast) == 1 &&
                 llvm::all_of(body, llvm::IsaPred<ir::CastOp, ir::ReshapeOp>)
             ? ir::CastOp(dyn_cast<ir::CastOp>(*cast))
             : nullptr;
}

StringRef castState(ir::FusedOp cast) { return readBy(cast).getState(); }

bool isCastOfState(Operation *op) {
  ir::CastOp cast = onlyCast(op);
  return cast && isWide(cast.getX()) &&
         ir::isHalf(ir::elementType(cast.getY())) &&
         readBy(cast->getParentOfType<ir::FusedOp>());
}

bool isCastOfGradient(Operation *op) {
  ir::CastOp cast = onlyCast(op);
  return cast && ir::isHalf(ir::elementType(cast.getX())) &&
         isWide(cast.getY()) && llvm::any_of(op->getUsers(), [](Operation *u) {
           auto reduce = dyn_cast<ir::AllReduceOp>(u);
           return reduce && reduce.getOf();
         });
}

SmallVector<CastRange> castRanges(SmallVector<JoinedCast> casts, int64_t gap) {
  llvm::stable_sort(casts, [](const JoinedCast &a, const JoinedCast &b) {
    return std::tuple(a.group, StringRef(a.wide.region), a.wide.offset) <
           std::tuple(b.group, StringRef(b.wide.region), b.wide.offset);
  });
  SmallVector<CastRange> ranges;
  for (const JoinedCast &joined : casts) {
    Value from = ir::FusedOp(joined.cast).getInputs().front(),
          to = ir::FusedOp(joined.cast)->getResult(0);
    const bool toHalves = isWide(from);
    const Type wide = ir::elementType(toHalves ? from : to),
               half = ir::elementType(toHalves ? to : from);
    const int64_t bytes = elementBytes(wide),
                  elements = ir::tensorType(from).getNumElements();
    auto goesOn = [&](const CastRange &r) {
      return r.casts.front().group == joined.group &&
             r.wide.region == joined.wide.region && r.wideType == wide &&
             r.halfType == half && r.toHalves == toHalves &&
             joined.wide.offset - r.wide.offset - r.elements * bytes <= gap;
    };
    if (ranges.empty() || !goesOn(ranges.back())) {
      CastRange &range = ranges.emplace_back();
      range.wide = joined.wide;
      range.wideType = wide;
      range.halfType = half;
      range.toHalves = toHalves;
    }
    CastRange &range = ranges.back();
    const int64_t begin = (joined.wide.offset - range.wide.offset) / bytes;
    range.elements = std::max(range.elements, begin + elements);
    range.casts.push_back(joined);
  }
  llvm::erase_if(ranges, [](const CastRange &r) { return r.casts.size() < 2; });
  return ranges;
}

} // namespace dlc
