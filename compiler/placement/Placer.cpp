// SPDX-License-Identifier: Apache-2.0
#include "compiler/placement/Placer.h"
#include "compiler/dialect/Locations.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"

#include <fmt/format.h>

using namespace mlir;

namespace dlc {
namespace {

/// Attribute of the module: node, op, by and reason of each op placed.
constexpr StringLiteral kNotes = "dlc.placements";
/// Attribute of the module: the rules of --place that have matched.
constexpr StringLiteral kFollowed = "dlc.placed";

constexpr StringLiteral kFlag = "--place=";

const Way *find(ArrayRef<Way> ways, By by) {
  auto at = llvm::find_if(ways, [&](const Way &way) { return way.by == by; });
  return at == ways.end() ? nullptr : at;
}

/// The ways with their times or reasons: "library 12.3 us, generated: ...".
std::string textOf(ArrayRef<Way> ways) {
  std::vector<std::string> parts;
  for (const Way &way : ways) {
    std::string part = ir::stringifyBy(way.by).str();
    if (!way.whyNot.empty())
      part += ": " + way.whyNot;
    else if (!way.caveat.empty())
      part += ": " + way.caveat;
    else if (way.seconds)
      part += fmt::format(" {:.1f} us", *way.seconds * 1e6);
    parts.push_back(part);
  }
  return llvm::join(parts, ", ");
}

std::string nodeOf(Operation *op) {
  std::string nodes = llvm::join(ir::nodeNames(op->getLoc()), "; ");
  if (nodes.empty())
    nodes = op->getName().stripDialect();
  return ir::isGradient(op->getLoc()) ? nodes + " (gradient)" : nodes;
}

bool isOpen(const Way &way, bool isAnyWanted) {
  return way.whyNot.empty() && (way.caveat.empty() || isAnyWanted);
}

bool isInStep(Operation *op) {
  auto f = op->getParentOfType<func::FuncOp>();
  return f && f.getSymName() == "train_step";
}

/// Appends to a list attribute of the module.
void append(ModuleOp module, StringRef name, ArrayRef<Attribute> more) {
  llvm::SmallVector<Attribute> all;
  if (auto earlier = module->getAttrOfType<ArrayAttr>(name))
    llvm::append_range(all, earlier);
  llvm::append_range(all, more);
  if (!more.empty())
    module->setAttr(name, ArrayAttr::get(module.getContext(), all));
}

} // namespace

Placer::Placer(const Target &target, const Wishes &wishes)
    : target(target), wishes(wishes) {
  for (const std::string &text : wishes.place)
    if (auto rule = PlaceRule::parse(text); rule.ok())
      rules.push_back(std::move(*rule));
}

std::optional<Wish> Placer::wishFor(StringRef row, Location at) const {
  for (const PlaceRule &rule : rules) {
    auto fits = [&](StringRef node) { return rule.nodes->search(node); };
    if (rule.op == row &&
        (!rule.nodes || llvm::any_of(ir::nodeNames(at), fits)))
      return Wish{rule.by, Wish::Error, kFlag.str() + rule.text,
                  "; without it the target chooses"};
  }
  return wishes.general(row);
}

Choice Placer::choose(StringRef row, Location at, ArrayRef<Way> ways) const {
  Choice choice;
  auto wish = wishFor(row, at);
  if (auto by = ir::symbolizeBy(wish ? wish->by : "")) {
    const Way *way = ::dlc::find(ways, *by);
    if (way && way->whyNot.empty())
      return {way->by, wish->text};
    if (wish->ifRefused != Wish::Silent)
      choice.whyNot =
          way ? way->whyNot : target.name().str() + " has only " + textOf(ways);
    choice.refused = wish->text + " cannot be: " + choice.whyNot + wish->wayOut;
    if (wish->ifRefused == Wish::Error)
      return choice;
  }
  SmallVector<const Way *> open;
  for (const Way &way : ways)
    if (isOpen(way, wish && wish->by == "any"))
      open.push_back(&way);
  const bool isPriced = llvm::all_of(
      open, [](const Way *way) { return way->seconds.has_value(); });
  const Way *best =
      isPriced ? *std::ranges::min_element(
                     open, {}, [](const Way *way) { return *way->seconds; })
               : open.front();
  choice.by = best->by;
  choice.isPredicted = isPriced && open.size() > 1;
  choice.why = choice.isPredicted ? "predicted to be the fastest"
               : open.size() > 1  ? "preferred"
                                  : "the only way";
  return choice;
}

LogicalResult Placer::place(ir::PlaceableInterface op, const Choice &choice,
                            ArrayRef<Way> ways) {
  if (failed(take(op.placedAs(), op, choice, ways)))
    return failure();
  op.setBy(choice.by);
  return success();
}

LogicalResult Placer::take(StringRef row, Operation *op, const Choice &choice,
                           ArrayRef<Way> ways) {
  if (choice.by == By::Open)
    return op->emitError() << choice.refused;
  if (!choice.whyNot.empty())
    op->emitRemark() << op->getName().stripDialect() << " is "
                     << ir::stringifyBy(choice.by) << ": " << choice.whyNot;
  Builder b(op->getContext());
  if (Attribute rule = b.getStringAttr(choice.why);
      StringRef(choice.why).starts_with(kFlag) &&
      !llvm::is_contained(followed, rule))
    followed.push_back(rule);
  if (!wishes.explain || !isInStep(op))
    return success();
  std::string why = choice.why;
  if (ways.size() > 1)
    why += " (" + textOf(ways) + ")";
  notes.push_back(
      b.getStrArrayAttr({nodeOf(op), row, ir::stringifyBy(choice.by), why}));
  return success();
}

void Placer::leaveNotes(ModuleOp module) {
  append(module, kNotes, notes);
  append(module, kFollowed, followed);
  notes.clear();
  followed.clear();
}

std::vector<std::string> unfollowed(ModuleOp module, const Wishes &wishes) {
  std::vector<std::string> left;
  auto followed = module->getAttrOfType<ArrayAttr>(kFollowed);
  Builder b(module.getContext());
  for (const std::string &text : wishes.place)
    if (!followed ||
        !llvm::is_contained(followed, b.getStringAttr(kFlag + text)))
      left.push_back(text);
  return left;
}

std::vector<PlacementNote> takePlacementNotes(ModuleOp module) {
  std::vector<PlacementNote> notes;
  if (auto left = module->getAttrOfType<ArrayAttr>(kNotes))
    for (auto note : left.getAsRange<ArrayAttr>()) {
      auto word = [&](size_t i) { return cast<StringAttr>(note[i]).str(); };
      notes.push_back({word(0), word(1), word(2), word(3)});
    }
  module->removeAttr(kNotes);
  return notes;
}

std::vector<std::string> linesOf(const std::vector<PlacementNote> &notes) {
  size_t node = 0, op = 0, by = 0;
  for (const PlacementNote &note : notes) {
    node = std::max(node, note.node.size());
    op = std::max(op, note.op.size());
    by = std::max(by, note.by.size());
  }
  std::vector<std::string> lines;
  for (const PlacementNote &n : notes)
    lines.push_back(fmt::format("{:{}}  {:{}}  {:{}}  {}", n.node, node, n.op,
                                op, n.by, by, n.why));
  return lines;
}

} // namespace dlc
