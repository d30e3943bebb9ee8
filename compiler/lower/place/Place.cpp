#include "compiler/lower/place/Place.h"
#include "compiler/lower/PlacingPass.h"

using namespace mlir;

namespace dlc {
namespace {

struct Place : PlacingPass<Place> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Place)
  Place(std::shared_ptr<const Target> target, const Wishes &wishes)
      : PlacingPass(std::move(target), wishes) {}
  StringRef getArgument() const final { return "dlc-place"; }
  StringRef getDescription() const final { return "pick who computes what"; }

  LogicalResult runOn(func::FuncOp f, Placer &placer) {
    WalkResult walked = f.walk([&](ir::PlaceableInterface op) {
      return op.getBy() == By::Open ? WalkResult(place(op, placer))
                                    : WalkResult::advance();
    });
    return failure(walked.wasInterrupted());
  }

private:
  LogicalResult place(ir::PlaceableInterface op, Placer &placer) {
    const Ways ways = target->waysOf(op);
    const Choice choice = placer.choose(op.placedAs(), op->getLoc(), ways);
    const bool isLater = isa<ir::MatmulOp>(*op) &&
                         (choice.isPredicted || choice.by == By::Generated);
    return isLater ? success() : placer.place(op, choice, ways);
  }
};

} // namespace

std::unique_ptr<Pass> createPlace(std::shared_ptr<const Target> target,
                                  const Wishes &wishes) {
  return std::make_unique<Place>(std::move(target), wishes);
}

} // namespace dlc
