// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/Teacher.h"
#include "compiler/dialect/Dlc.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "runtime/plan/StateNames.h"

using namespace mlir;

namespace dlc {
namespace {

std::string renamed(StringRef name) {
  return std::string(plan::kTeacher) + name.str();
}

Location renamed(Location loc) {
  MLIRContext *context = loc.getContext();
  if (auto name = dyn_cast<NameLoc>(loc))
    return NameLoc::get(StringAttr::get(context, renamed(name.getName())),
                        name.getChildLoc());
  auto fused = dyn_cast<FusedLoc>(loc);
  if (!fused)
    return loc;
  SmallVector<Location> parts;
  for (Location part : fused.getLocations())
    parts.push_back(renamed(part));
  return FusedLoc::get(context, parts, fused.getMetadata());
}

void addState(ir::StateOp state, import::ImportedModel &model,
              const import::WeightStore &weights) {
  if (auto init = dyn_cast<StringAttr>(state.getInit())) {
    if (const import::Weight *weight = weights.find(init.str()))
      model.weights.add(renamed(init), *weight);
    state.setInitAttr(StringAttr::get(init.getContext(), renamed(init)));
  }
  state.setSymName(renamed(state.getSymName()));
  state.setRole(ir::Role::constant);
  state.setTrainable(false);
  state->setLoc(renamed(state.getLoc()));
  state->moveBefore(*model.module->getOps<func::FuncOp>().begin());
}

} // namespace

Status addTeacher(MLIRContext &context, import::ImportedModel &model,
                  const std::string &path,
                  const import::ImportOptions &options) {
  DLC_ASSIGN(import::ImportedModel teacher,
             import::importOnnx(context, path, options));
  for (auto state :
       llvm::make_early_inc_range(teacher.module->getOps<ir::StateOp>()))
    addState(state, model, teacher.weights);
  auto f = teacher.module->lookupSymbol<func::FuncOp>("predict");
  f.walk([](Operation *op) {
    op->setLoc(renamed(op->getLoc()));
    if (auto read = dyn_cast<ir::ReadOp>(op))
      read.setState(renamed(read.getState()));
  });
  f->remove();
  f.setSymName("teacher");
  model.module->push_back(f);
  model.opLibraries.insert(teacher.opLibraries.begin(),
                           teacher.opLibraries.end());
  model.weights.keep(
      std::make_shared<import::WeightStore>(std::move(teacher.weights)));
  return {};
}

} // namespace dlc
