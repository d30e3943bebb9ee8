// SPDX-License-Identifier: Apache-2.0
#include "tools/dlc-compile/check/Check.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace dlc {
namespace {

using States = llvm::SmallSetVector<Operation *, 2>;

std::vector<int64_t> shapeOf(Value value) {
  const ArrayRef<int64_t> shape = ir::tensorType(value).getShape();
  return {shape.begin(), shape.end()};
}

class LayerLister {
public:
  LayerLister(func::FuncOp predict, LayerNames names)
      : states(predict->getParentOfType<ModuleOp>()), names(names) {
    for (Operation &op : predict.getOps())
      places[&op] = names(op.getLoc()).node;
    for (Operation &op : predict.getOps())
      add(op);
  }

  std::vector<Layer> take() {
    std::vector<Layer> all;
    for (auto &[node, layer] : layers)
      all.push_back(std::move(layer));
    return all;
  }

private:
  void add(Operation &op) {
    if (auto read = dyn_cast<ir::ReadOp>(op)) {
      carried[read.getResult()].insert(states.lookup(read.getState()));
      return;
    }
    States found;
    bool ofStates = true;
    for (Value operand : op.getOperands()) {
      auto at = carried.find(operand);
      if (at == carried.end())
        ofStates = false;
      else
        found.insert(at->second.begin(), at->second.end());
    }
    auto counted = dyn_cast<ir::FlopsInterface>(op);
    const double flops = counted ? double(counted.countFlops()) : 0;
    if (ofStates) // a constant, or a rearranged parameter
      for (Value result : op.getResults())
        carried[result] = found;
    if (places[&op].empty() || (ofStates && flops == 0))
      return;
    Layer &layer = layers[places[&op]];
    if (layer.node.empty()) {
      LayerName name = names(op.getLoc());
      layer.node = name.node, layer.op = name.op;
      layer.modules = std::move(name.modules);
    }
    layer.flops += flops;
    if (!ofStates)
      for (Operation *state : found)
        count(layer, cast<ir::StateOp>(state));
    addOutputs(layer, op);
  }

  void count(Layer &layer, ir::StateOp state) {
    if (state.getRole() != ir::Role::param)
      return;
    const auto [owner, isNew] = owners.emplace(state, layer.node);
    if (isNew)
      layer.parameters += state.getTensorType().getNumElements();
    else if (const std::string name = state.getSymName().str();
             owner->second != layer.node &&
             !llvm::is_contained(layer.shared, name))
      layer.shared.push_back(name);
  }

  void addOutputs(Layer &layer, Operation &op) {
    for (Value result : op.getResults())
      if (llvm::any_of(result.getUsers(), [&](Operation *user) {
            return places.lookup(user) != layer.node;
          }))
        layer.outputs.push_back(shapeOf(result));
  }

  SymbolTable states;
  LayerNames names;
  llvm::DenseMap<Operation *, std::string> places;
  llvm::DenseMap<Value, States> carried;     // of values without input
  std::map<Operation *, std::string> owners; // first layer that reads a state
  llvm::MapVector<std::string, Layer, std::map<std::string, unsigned>> layers;
};

} // namespace

std::vector<Layer> layersOf(func::FuncOp predict, LayerNames names) {
  return LayerLister(predict, names).take();
}

std::vector<Layer> folded(const std::vector<Layer> &layers, int64_t depth) {
  std::vector<Layer> rows;
  std::map<std::string, size_t> places;
  for (const Layer &layer : layers) {
    if (int64_t(layer.modules.size()) < depth) {
      rows.push_back(layer);
      continue;
    }
    const std::string module = depth ? layer.modules[size_t(depth) - 1] : "";
    const auto [place, isNew] = places.emplace(module, rows.size());
    if (isNew) {
      rows.push_back(layer);
      Layer &row = rows.back();
      row.modules.resize(size_t(depth));
      row.node = module, row.op = "";
      continue;
    }
    Layer &row = rows[place->second];
    row.nodes += layer.nodes;
    row.outputs = layer.outputs;
    row.parameters += layer.parameters;
    row.shared.insert(row.shared.end(), layer.shared.begin(),
                      layer.shared.end());
    row.flops += layer.flops;
  }
  return rows;
}

std::vector<std::string> modulesOf(llvm::StringRef node) {
  std::vector<std::string> modules;
  llvm::SmallVector<llvm::StringRef> parts;
  node.split(parts, '/');
  parts.pop_back(); // name of the node itself
  for (llvm::StringRef part : parts) {
    if (part.empty())
      continue;
    const std::string outer = modules.empty() ? "" : modules.back() + ".";
    modules.push_back(part.starts_with(outer) ? part.str()
                                              : outer + part.str());
  }
  return modules;
}

} // namespace dlc
