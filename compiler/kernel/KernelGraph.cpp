// SPDX-License-Identifier: Apache-2.0
#include "compiler/kernel/KernelGraph.h"

using namespace mlir;

namespace dlc {

int64_t KernelGraph::extent(bool reduced) const {
  int64_t n = 1;
  for (const KernelVariable &v : variables)
    if (v.kind == KernelVariable::Loop && v.reduced == reduced)
      n *= v.size;
  return n;
}

bool KernelGraph::sumsBesideRows() const {
  return llvm::any_of(outputs, [](const KernelOutput &o) { return o.sum; });
}

void KernelGraph::forEachForm(
    llvm::function_ref<void(const IndexForm &)> f) const {
  for (const auto &node : nodes) {
    f(node->index);
    for (const KernelBound &b : node->bounds)
      f(b.form);
  }
  for (const KernelOutput &o : outputs)
    f(o.offset);
  for (const KernelVariable &v : variables)
    f(v.of);
}

bool KernelGraph::dependsOn(const IndexForm &form, unsigned v) const {
  for (unsigned i = 0; i < form.variables(); ++i)
    if (form.coefficient(i) &&
        (i == v || (variables[i].kind != KernelVariable::Loop &&
                    dependsOn(variables[i].of, v))))
      return true;
  return false;
}

bool KernelGraph::readsLoop(const KernelNode &node, unsigned v) const {
  return dependsOn(node.index, v) ||
         llvm::any_of(node.bounds, [&](const KernelBound &b) {
           return dependsOn(b.form, v);
         });
}

} // namespace dlc
