// SPDX-License-Identifier: Apache-2.0
// Finds loads that pads guard.
#include "compiler/target/cuda/codegen/threads/Mapping.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;

namespace dlc::cuda {
namespace {

bool sameBounds(const KernelNode *a, const KernelNode *b) {
  return llvm::equal(
      a->bounds, b->bounds, [](const KernelBound &x, const KernelBound &y) {
        return x.form == y.form && x.low == y.low && x.high == y.high;
      });
}

class Finder {
public:
  Finder(const KernelGraph &graph, const LoopGroup &group)
      : graph(graph), group(group), padsOf(graph.nodes.size()),
        uses(graph.nodes.size()) {
    for (const auto &node : graph.nodes) {
      padsOf[node->id] = pads(node.get());
      for (const KernelNode *child : node->children)
        ++uses[child->id];
    }
    for (const KernelOutput &o : graph.outputs)
      ++uses[o.node->id];
  }

  /// Visits nodes below `root` in order of use.
  void visit(const KernelNode *root) {
    SmallVector<std::pair<const KernelNode *, bool>> stack = {{root, false}};
    while (!stack.empty()) {
      auto [node, isDone] = stack.pop_back_val();
      if (isDone) {
        join(node);
        continue;
      }
      if (!seen.insert(node).second)
        continue;
      const auto &pads = padsOf[node->id];
      if (pads && (pads->size() > 1 ||
                   (pads->size() == 1 && node->kind == KernelNode::Pad))) {
        found.push_back({node, *pads});
        if (pads->size() > 1)
          computed.insert(node);
      } else if (node->kind == KernelNode::Apply ||
                 node->kind == KernelNode::Pick) {
        stack.push_back({node, true});
        for (const KernelNode *child : llvm::reverse(node->children))
          stack.push_back({child, false});
      }
    }
  }

  SmallVector<Guarded> found;

private:
  using Pads = SmallVector<const KernelNode *, 2>;

  /// The pads that `node` is computed from, besides constants; all have the
  /// same bounds. Nullopt if it depends on other nodes.
  std::optional<Pads> pads(const KernelNode *node) const {
    if (node->kind == KernelNode::Splat)
      return Pads();
    if (node->kind == KernelNode::Pad)
      return isGuarded(node) ? std::optional(Pads{node}) : std::nullopt;
    if (node->kind != KernelNode::Apply || node->op()->getNumResults() != 1)
      return std::nullopt;
    Pads all;
    for (const KernelNode *child : node->children) {
      const auto &others = padsOf[child->id];
      if (!others)
        return std::nullopt;
      for (const KernelNode *pad : *others) {
        if (!all.empty() && !sameBounds(pad, all.front()))
          return std::nullopt;
        if (!llvm::is_contained(all, pad))
          all.push_back(pad);
      }
    }
    if (all.size() > kMostPads ||
        (all.size() > 1 && all.front()->bounds.empty()))
      return std::nullopt;
    return all;
  }

  bool isGuarded(const KernelNode *pad) const {
    return pad->children.front()->kind == KernelNode::Load &&
           llvm::none_of(pad->bounds, [&](const KernelBound &bound) {
             return llvm::any_of(group.loops, [&](unsigned v) {
               return graph.dependsOn(bound.form, v);
             });
           });
  }

  /// Moves `node` into the branch of the last operand found if it only depends
  /// on that, earlier ones and constants: the branch then has fewer results.
  void join(const KernelNode *node) {
    if (node->kind != KernelNode::Apply || node->op()->getNumResults() != 1 ||
        found.empty() || found.back().pads.size() < 2 ||
        uses[found.back().node->id] != 1 ||
        !llvm::is_contained(node->children, found.back().node) ||
        !llvm::all_of(node->children, [&](const KernelNode *child) {
          return child->kind == KernelNode::Splat || computed.contains(child);
        }))
      return;
    found.back().node = node;
    computed.insert(node);
  }

  /// Largest number of arrays whose loads a thread issues together.
  static constexpr size_t kMostPads = 4;

  const KernelGraph &graph;
  const LoopGroup &group;
  std::vector<std::optional<Pads>> padsOf; // by node
  std::vector<unsigned> uses;              // by node
  llvm::SmallPtrSet<const KernelNode *, 16> seen, computed;
};

} // namespace

SmallVector<Guarded> guardedLoads(const KernelGraph &graph,
                                  ArrayRef<const KernelNode *> roots,
                                  const LoopGroup &group) {
  Finder finder(graph, group);
  for (const KernelNode *root : roots)
    finder.visit(root);
  return std::move(finder.found);
}

} // namespace dlc::cuda
