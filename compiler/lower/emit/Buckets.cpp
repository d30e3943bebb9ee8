// SPDX-License-Identifier: Apache-2.0
#include "compiler/lower/emit/Buckets.h"
#include "compiler/dialect/Dlc.h"
#include "compiler/lower/Marks.h"
#include "compiler/lower/memory/StateLayout.h"

using namespace mlir;

namespace dlc {

int64_t firstFreeBucket(exec::ProgramOp program) {
  int64_t free = 0;
  for (Operation &op : program.getBody().front())
    if (auto reduce = dyn_cast<exec::AllReduceOp>(op))
      free = std::max<int64_t>(free, reduce.getBucket() + 1);
    else if (auto call = dyn_cast<exec::CallOp>(op))
      if (auto id = call.getArguments().getAs<IntegerAttr>("bucket"))
        free = std::max(free, id.getInt() + 1);
  return free;
}

SmallVector<int64_t> parameterBuckets(exec::ProgramOp program) {
  SmallVector<int64_t> begins;
  auto head = program->getAttrOfType<IntegerAttr>(kGradientHead);
  if (!head)
    return begins;
  auto narrow = program->getAttrOfType<IntegerAttr>(kNarrowGradients);
  for (auto reduce : program.getBody().front().getOps<exec::AllReduceOp>()) {
    auto buffer = reduce.getBuffer().getDefiningOp<exec::BufferOp>();
    const int64_t begin = buffer.getOffset(),
                  end =
                      begin +
                      byteSize(cast<MemRefType>(reduce.getBuffer().getType()));
    if (buffer.getRegion() != "gradient" || end <= head.getInt() ||
        reduce.getOp() != "mean")
      continue;
    begins.push_back(narrow && begin >= narrow.getInt() &&
                             ir::isHalf(ir::elementType(reduce.getBuffer()))
                         ? 2 * (begin - narrow.getInt())
                         : std::max(begin - head.getInt(), int64_t(0)));
  }
  return begins;
}

std::optional<RegionRange> rangeInRegion(Value v, llvm::StringRef region) {
  auto buffer = v.getDefiningOp<exec::BufferOp>();
  if (!buffer || buffer.getRegion() != region)
    return std::nullopt;
  const int64_t begin = buffer.getOffset();
  return RegionRange{begin, begin + byteSize(cast<MemRefType>(v.getType()))};
}

} // namespace dlc
