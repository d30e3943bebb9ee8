// SPDX-License-Identifier: Apache-2.0
// Products of 16-bit floats as generated kernels, with the computation of their
// operands as prologues and that on their results as epilogues, where this is
// faster than a library call and separate kernels (Target.h).
//
// Runs after fusion. The first reader of a product becomes its epilogue if it
// is a cluster over the product's elements. A cluster becomes a prologue of
// kernels that load its results if its only readers are products and other such
// clusters, so that it need not run at all. Whether a product is generated
// depends on its prologues and epilogue, so products are evaluated in rounds:
// one that is not worthwhile leaves its prologues and epilogue to memory.
#include "compiler/kernel/KernelSchedule.h"
#include "compiler/lower/PlacingPass.h"
#include "compiler/lower/fuse/Clusters.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using dlc::ir::tensorType;

namespace dlc {

#define GEN_PASS_DEF_FUSEMATMUL
#include "compiler/lower/Passes.h.inc"

namespace {

constexpr int kRounds = 4;
/// Simple operations that a costly one is equivalent to.
constexpr double kCostlyOperations = 16;

/// The views of `v`, in order, and the other ops that read it or a view.
struct Readers {
  SmallVector<ir::ReshapeOp> views;
  SmallVector<Operation *> ops;

  explicit Readers(Value v) {
    SmallVector<Value> all{v};
    for (size_t i = 0; i < all.size(); ++i)
      for (Operation *user : all[i].getUsers())
        if (auto view = dyn_cast<ir::ReshapeOp>(user)) {
          views.push_back(view);
          all.push_back(view.getY());
        } else {
          ops.push_back(user);
        }
  }
};

bool computesElements(ir::FusedOp cluster) {
  return llvm::none_of(cluster.getBody().front(), [](Operation &op) {
    return isReduce(&op) || isa<ir::MatmulOp>(op);
  });
}

/// A product that may be generated.
struct Candidate {
  ir::MatmulOp op;
  ir::FusedOp epilogue; // null: none
  bool isGenerated = true;
  Choice choice = {};
  Ways ways = {};
};

/// Builds the kernel of a product.
class KernelBuilder {
public:
  /// At the place of the epilogue, if there is one. Includes those of
  /// `prologues` that the product needs.
  KernelBuilder(const Candidate &c,
                const llvm::DenseSet<Operation *> &prologues)
      : prologues(prologues), builder(c.epilogue ? c.epilogue : c.op) {
    ir::MatmulOp op = c.op;
    SmallVector<Value> outputs;
    if (c.epilogue)
      llvm::append_range(outputs, c.epilogue->getResults());
    if (llvm::any_of(Readers(op.getY()).ops,
                     [&](Operation *o) { return o != c.epilogue; }))
      outputs.push_back(op.getY());
    SmallVector<Location> locs{op.getLoc()};
    if (c.epilogue)
      locs.push_back(c.epilogue->getLoc());
    fused =
        ir::FusedOp::create(builder, FusedLoc::get(builder.getContext(), locs),
                            TypeRange(ValueRange(outputs)), ValueRange());
    Block *body = builder.createBlock(&fused.getBody());
    product(op);
    if (c.epilogue)
      contain(ir::FusedOp(c.epilogue));
    SmallVector<Value> yields;
    for (Value v : outputs)
      yields.push_back(map.lookup(v));
    ir::YieldOp::create(builder, fused.getLoc(), yields);
    for (Operation &inner : llvm::make_early_inc_range(llvm::reverse(*body)))
      if (isOpTriviallyDead(&inner))
        inner.erase();
  }

  ir::FusedOp fused;
  /// The clusters that it includes.
  SmallVector<Operation *> contained;

private:
  void product(ir::MatmulOp op) {
    Value a = inside(op.getA()), b = inside(op.getB());
    Value y = ir::MatmulOp::create(
        builder, op.getLoc(), op.getY().getType(), a, b, Value(),
        op.getTransAAttr(), op.getTransBAttr(), StringAttr(), op.getByAttr());
    if (op.getBias())
      y = ir::AddOp::create(builder, op.getLoc(), op.getY().getType(), y,
                            inside(op.getBias()));
    map.map(op.getY(), y);
  }
  /// `v` in the body: computed there, or an argument.
  Value inside(Value v) {
    if (Value known = map.lookupOrNull(v))
      return known;
    Value storage = ir::viewedBy(v);
    Operation *def = storage.getDefiningOp();
    bool isInside = map.contains(storage) || (def && prologues.contains(def));
    if (!isInside) {
      fused.getInputsMutable().append(v);
      Value argument = fused.getBody().addArgument(v.getType(), v.getLoc());
      map.map(v, argument);
    } else if (v == storage) {
      contain(cast<ir::FusedOp>(def));
      contained.push_back(def);
    } else {
      auto view = v.getDefiningOp<ir::ReshapeOp>();
      inside(view.getX());
      builder.clone(*view, map);
    }
    return map.lookup(v);
  }
  void contain(ir::FusedOp cluster) {
    Block &body = cluster.getBody().front();
    for (auto [argument, input] :
         llvm::zip(body.getArguments(), cluster.getInputs()))
      map.map(argument, inside(input));
    for (Operation &op : body.without_terminator())
      builder.clone(op, map);
    for (auto [result, value] :
         llvm::zip(cluster.getResults(), body.getTerminator()->getOperands()))
      map.map(result, map.lookup(value));
  }

  const llvm::DenseSet<Operation *> &prologues;
  OpBuilder builder;
  IRMapping map;
};

/// The cost of loading an element of a kernel's operand.
OperandCost costOf(const KernelGraph &graph, const KernelNode *root) {
  OperandCost cost{0, 0};
  llvm::SmallSetVector<const KernelNode *, 16> reached;
  reached.insert(root);
  for (size_t i = 0; i < reached.size(); ++i) {
    const KernelNode *node = reached[i];
    reached.insert(node->children.begin(), node->children.end());
    if (node->kind == KernelNode::Load)
      cost.bytes += llvm::divideCeil(
          ir::elementType(node->value).getIntOrFloatBitWidth(), 8);
    if (node->kind == KernelNode::Apply)
      cost.operations += isCostly(node->op()) ? kCostlyOperations : 1;
  }
  return cost;
}

/// Predicted seconds of a product's kernel; nullopt if it cannot be generated.
std::optional<double> timeOf(ir::FusedOp kernel, const ProductShape &shape,
                             const Target &target) {
  if (kernel.getInputs().size() > kMaxInputs)
    return std::nullopt;
  std::string why;
  auto graph = KernelGraph::build(kernel.getBody(), why);
  if (!graph)
    return std::nullopt;
  const KernelNode *product = nullptr;
  int sums = 0;
  for (const auto &node : graph->nodes) {
    sums += node->kind == KernelNode::Reduce;
    if (node->kind == KernelNode::Product)
      product = node.get();
  }
  if (sums != 1 || !product)
    return std::nullopt;
  return target.generatedProduct(shape, double(trafficOf(*graph)),
                                 costOf(*graph, product->children[0]),
                                 costOf(*graph, product->children[1]));
}

class ProductFuser {
public:
  ProductFuser(Block &block, const Target &target, Placer &placer)
      : block(block), target(target), placer(placer) {}

  LogicalResult run() {
    collect();
    for (int round = 0, changes = 1; changes && round < kRounds; ++round) {
      findPrologues();
      changes = 0;
      for (Candidate &c : candidates)
        changes += c.isGenerated && judge(c);
    }
    findPrologues();
    for (Candidate &c : candidates)
      if (failed(placer.place(c.op, c.choice, c.ways)))
        return failure();
    for (Candidate &c : candidates)
      if (c.isGenerated)
        replace(c, KernelBuilder(c, prologues).fused);
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (isOpTriviallyDead(&op))
        op.erase();
    return success();
  }

private:
  void collect() {
    int64_t next = 0;
    for (Operation &op : block)
      position[&op] = next++;
    for (auto op : block.getOps<ir::MatmulOp>()) {
      if (op.getBy() != By::Open || !mayGenerate(op))
        continue;
      numberOf[op] = candidates.size();
      candidates.push_back({op, epilogueOf(op)});
      if (candidates.back().epilogue)
        epilogues.insert(candidates.back().epilogue);
    }
  }
  bool mayGenerate(ir::MatmulOp op) const {
    return llvm::any_of(target.waysOf(op), [](const Way &way) {
      return way.by == By::Generated && way.whyNot.empty();
    });
  }
  /// The first reader, if it is a cluster over the product's elements.
  ir::FusedOp epilogueOf(ir::MatmulOp op) {
    Operation *first = nullptr;
    for (Operation *reader : Readers(op.getY()).ops)
      if (!first || position.lookup(reader) < position.lookup(first))
        first = reader;
    auto cluster = dyn_cast_or_null<ir::FusedOp>(first);
    int64_t n = tensorType(op.getY()).getNumElements();
    bool fits = cluster && !epilogues.contains(cluster) &&
                computesElements(cluster) &&
                llvm::all_of(cluster.getResults(), [&](Value v) {
                  return tensorType(v).getNumElements() == n;
                });
    return fits ? cluster : nullptr;
  }

  /// Finds clusters that are only read by products, and their number.
  void findPrologues() {
    prologues.clear();
    products.clear();
    for (Operation &op : llvm::reverse(block)) {
      auto cluster = dyn_cast<ir::FusedOp>(op);
      if (!cluster || epilogues.contains(cluster) || !computesElements(cluster))
        continue;
      Set in;
      bool isOnlyThere = llvm::all_of(cluster.getResults(), [&](Value v) {
        return llvm::all_of(Readers(v).ops, [&](Operation *reader) {
          return addProducts(reader, in);
        });
      });
      if (isOnlyThere && !in.empty()) {
        prologues.insert(cluster);
        products[cluster] = in;
      }
    }
  }
  using Set = llvm::SmallSetVector<Operation *, 2>;
  /// Adds the generated products that contain `reader`, or are it; false if it
  /// writes to memory.
  bool addProducts(Operation *reader, Set &to) {
    if (auto number = numberOf.find(reader); number != numberOf.end()) {
      to.insert(reader);
      return candidates[number->second].isGenerated;
    }
    if (!prologues.contains(reader))
      return false;
    to.insert(products[reader].begin(), products[reader].end());
    return true;
  }

  /// Decides whether to generate it, with its epilogue; true if that changes.
  bool judge(Candidate &c) {
    ProductShape shape = shapeOf(c.op);
    double alone = target.libraryProduct(shape, trafficOf(c.op), false);
    auto [own, ownParts] = tryWith({c.op, nullptr}, shape);
    std::optional<double> joint;
    if (c.epilogue) {
      double rest = target.streaming(trafficOf(c.epilogue));
      alone += rest;
      joint = tryWith(c, shape).first;
      if (own)
        *own += rest;
    }
    alone += ownParts;
    auto wish = placer.wishFor("matmul", c.op.getLoc());
    const bool isWished = wish && wish->by == "generated";
    bool withEpilogue = joint && (isWished || !own || *joint <= *own);
    choose(c, alone, withEpilogue ? joint : own);
    if (c.epilogue && !withEpilogue) {
      epilogues.erase(c.epilogue);
      c.epilogue = nullptr;
      return true;
    }
    if (!c.isGenerated && c.epilogue)
      epilogues.erase(c.epilogue);
    return !c.isGenerated;
  }
  void choose(Candidate &c, double library, std::optional<double> generated) {
    c.ways = {{By::Library, "", "", library},
              {By::Generated, generated ? "" : "it does not fit a kernel", "",
               generated}};
    c.choice = placer.choose("matmul", c.op.getLoc(), c.ways);
    c.isGenerated = c.choice.by == By::Generated;
  }
  /// The time of a kernel, and that of its clusters as separate kernels.
  std::pair<std::optional<double>, double> tryWith(const Candidate &c,
                                                   const ProductShape &shape) {
    KernelBuilder kernel(c, prologues);
    double parts = 0;
    for (Operation *cluster : kernel.contained)
      parts += target.streaming(trafficOf(cluster)) / products[cluster].size();
    auto time = timeOf(kernel.fused, shape, target);
    kernel.fused.erase();
    return {time, parts};
  }

  void replace(Candidate &c, ir::FusedOp made) {
    auto results = made.getResults();
    if (c.epilogue)
      for (Value v : c.epilogue->getResults()) {
        v.replaceAllUsesWith(results.front());
        results = results.drop_front();
      }
    // Views of the product are moved after the kernel.
    Operation *last = made;
    for (ir::ReshapeOp view : Readers(c.op.getY()).views)
      if (view->isBeforeInBlock(made)) {
        view->moveAfter(last);
        last = view;
      }
    if (!results.empty())
      c.op.getY().replaceUsesWithIf(results.front(), [&](OpOperand &use) {
        return use.getOwner() != c.epilogue;
      });
    if (c.epilogue)
      c.epilogue.erase();
  }

  Block &block;
  const Target &target;
  Placer &placer;
  llvm::DenseMap<Operation *, int64_t> position;
  std::vector<Candidate> candidates;
  llvm::DenseMap<Operation *, size_t> numberOf; // in candidates
  llvm::DenseSet<Operation *> epilogues, prologues;
  llvm::DenseMap<Operation *, Set> products; // by prologue
};

struct FuseMatmul : impl::FuseMatmulBase<FuseMatmul> {
  LogicalResult place(func::FuncOp f, const Target &target,
                      Placer &placer) final {
    return ProductFuser(f.front(), target, placer).run();
  }
};

} // namespace

} // namespace dlc
