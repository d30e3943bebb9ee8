// SPDX-License-Identifier: Apache-2.0
#include "compiler/target/cuda/codegen/patterns/Sums.h"

using namespace mlir;

namespace dlc::cuda {

Sums::Sums(const Body &k) : k(k) {
  for (const auto &node : k.graph.nodes)
    if (node->kind == KernelNode::Reduce) {
      all.emplace_back(k.graph, node.get());
      roots.push_back(node->children.front());
    }
  for (const KernelOutput &o : k.graph.outputs)
    if (!o.full)
      results.push_back(o.node);
}

size_t Sums::width() const {
  size_t width = 0;
  for (const Reduction &r : all)
    width += r.width();
  return width;
}

Sums::States Sums::initial(int64_t sums) const {
  States states;
  for (int64_t i = 0; i < sums; ++i)
    llvm::append_range(states, k.initial(all));
  return states;
}

void Sums::store(Lanes &columns, ValueRange states) const {
  columns.load(results, 1);
  columns.each([&](int64_t i) { k.setResults(all, of(states, i)); });
  for (const KernelNode *result : results)
    columns.emit(result);
  for (auto [o, pointer] : llvm::zip(k.graph.outputs, k.outputs))
    if (!o.full)
      columns.store(o, pointer);
}

} // namespace dlc::cuda
