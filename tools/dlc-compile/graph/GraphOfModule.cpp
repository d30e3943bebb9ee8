// SPDX-License-Identifier: Apache-2.0
#include "tools/dlc-compile/graph/GraphOfModule.h"
#include "compiler/dialect/Dlc.h"
#include "compiler/dialect/Exec.h"
#include "compiler/dialect/Locations.h"
#include "compiler/lower/Labels.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include <set>

using namespace mlir;

namespace dlc {
namespace {

using Graph = plan::ProgramGraph;
using Kind = Graph::Kind;
using Part = Graph::Part;

std::string typeText(Type type) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    tensor.getElementType().print(os);
  return text;
}

std::string shapeText(Type type) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (auto tensor = dyn_cast<RankedTensorType>(type)) {
    os << "[";
    llvm::interleaveComma(tensor.getShape(), os, [&](int64_t size) {
      ShapedType::isDynamic(size) ? os << "?" : os << size;
    });
    os << "]";
  }
  return text;
}

class ModuleGraph {
public:
  explicit ModuleGraph(func::FuncOp f) : f(f) {}

  Graph build() {
    for (BlockArgument argument : f.getArguments())
      place(argument, add(valueNode(Kind::Input, nameOf(argument), "input",
                                    argument.getType())));
    for (Operation &op : f.front())
      if (op.hasTrait<OpTrait::IsTerminator>())
        addOutputs(op);
      else if (!op.hasTrait<OpTrait::ConstantLike>())
        addOp(op);
    return std::move(graph);
  }

private:
  std::string nameOf(BlockArgument argument) {
    auto name =
        f.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "dlc.name");
    return name ? name.str()
                : "input " + std::to_string(argument.getArgNumber());
  }
  static Graph::Node valueNode(Kind kind, std::string name, std::string op,
                               Type type) {
    return {kind,
            Part::Forward,
            std::move(name),
            std::move(op),
            typeText(type),
            shapeText(type),
            ""};
  }
  int add(Graph::Node node) {
    graph.nodes.push_back(std::move(node));
    return int(graph.nodes.size()) - 1;
  }
  void place(Value value, int node) { nodes[value] = node; }

  /// Adds edges from producers of the operands, without duplicates.
  void link(ValueRange operands, int to) {
    std::set<std::pair<int, std::string>> seen;
    for (Value operand : operands)
      if (auto from = nodes.find(operand); from != nodes.end()) {
        std::string label =
            (typeText(operand.getType()) + " " + shapeText(operand.getType()));
        if (seen.insert({from->second, label}).second)
          graph.edges.push_back({from->second, to, std::move(label)});
      }
  }

  void addOutputs(Operation &terminator) {
    for (OpOperand &operand : terminator.getOpOperands()) {
      const unsigned i = operand.getOperandNumber();
      auto name = f.getResultAttrOfType<StringAttr>(i, "dlc.name");
      Graph::Node node = valueNode(
          Kind::Output, name ? name.str() : "output " + std::to_string(i),
          "output", operand.get().getType());
      if (auto from = nodes.find(operand.get()); from != nodes.end())
        node.part = graph.nodes[size_t(from->second)].part;
      const int at = add(std::move(node));
      link(operand.get(), at);
    }
  }

  void addOp(Operation &op) {
    Graph::Node node;
    node.name = locationLabel(op.getLoc());
    node.op = op.getName().stripDialect().str();
    if (op.getNumResults() > 0)
      node.type = typeText(op.getResult(0).getType()),
      node.shape = shapeText(op.getResult(0).getType());
    llvm::TypeSwitch<Operation *>(&op)
        .Case([&](ir::ReadOp read) {
          node.kind = Kind::State, node.name = read.getState().str();
          if (auto state = SymbolTable::lookupNearestSymbolFrom<ir::StateOp>(
                  f, read.getStateAttr()))
            node.op = stringifyRole(state.getRole()).str();
        })
        .Case([&](ir::WriteOp write) { node.name = write.getState().str(); })
        .Case([&](ir::GradientOp g) { node.name = g.getState().str(); })
        .Case([&](ir::FusedOp fused) {
          node.op = "fused " + opsIn(fused), node.by = "generated";
        })
        .Default([&](Operation *other) {
          if (auto placed = dyn_cast<ir::PlaceableInterface>(other);
              placed && placed.getBy() != ir::By::Open)
            node.by = stringifyBy(placed.getBy()).str();
          if (auto first = other->getOperands();
              !first.empty() && isFloat(first.front().getType()))
            node.type = typeText(first.front().getType());
        });
    if (ir::isGradient(op.getLoc()) || isa<ir::GradientOp>(op))
      node.part = Part::Backward;
    else if (node.kind == Kind::Op && followsGradient(op))
      node.part = Part::Update;
    const int at = add(std::move(node));
    link(op.getOperands(), at);
    for (Value result : op.getResults())
      place(result, at);
  }
  static bool isFloat(Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && isa<FloatType>(tensor.getElementType());
  }
  bool followsGradient(Operation &op) {
    return llvm::any_of(op.getOperands(), [&](Value operand) {
      auto from = nodes.find(operand);
      return from != nodes.end() &&
             graph.nodes[size_t(from->second)].part != Part::Forward;
    });
  }
  /// "conv, add, relu", without duplicates.
  static std::string opsIn(ir::FusedOp fused) {
    llvm::SmallSetVector<StringRef, 8> names;
    for (Operation &op : fused.getBody().front().without_terminator())
      if (!op.hasTrait<OpTrait::ConstantLike>())
        names.insert(op.getName().stripDialect());
    return llvm::join(names, ", ");
  }

  func::FuncOp f;
  Graph graph;
  llvm::DenseMap<Value, int> nodes;
};

/// Selects the requested name among existing ones.
Result<std::string> choose(const std::vector<std::string> &names,
                           const std::string &asked) {
  auto has = [&](StringRef name) { return llvm::is_contained(names, name); };
  if (asked.empty() && has("train_step"))
    return std::string("train_step");
  if (asked.empty() && has("predict"))
    return std::string("predict");
  if (has(asked))
    return asked;
  return usageError("there is no program '{}', only {}", asked,
                    llvm::join(names, ", "));
}

} // namespace

Result<const plan::Program *> chooseProgram(const plan::Plan &plan,
                                            const std::string &name) {
  std::vector<std::string> names;
  for (const plan::Program &program : plan.programs())
    names.push_back(program.name());
  DLC_ASSIGN(const std::string chosen, choose(names, name));
  return &*llvm::find_if(plan.programs(), [&](const plan::Program &program) {
    return program.name() == chosen;
  });
}

Result<Graph> graphOf(ModuleOp module, const std::string &function) {
  if (!module.getOps<exec::ProgramOp>().empty())
    return usageError(
        "--phase: commands have a graph once all phases have run: "
        "give plan, or one up to recompute");
  std::vector<std::string> names;
  for (auto f : module.getOps<func::FuncOp>())
    names.push_back(f.getSymName().str());
  DLC_ASSIGN(const std::string chosen, choose(names, function));
  return ModuleGraph(module.lookupSymbol<func::FuncOp>(chosen)).build();
}

} // namespace dlc
