// SPDX-License-Identifier: Apache-2.0
// Products of 16-bit floats, also those that are convolutions (AsProduct.h), as
// generated kernels, with the computation of their operands as prologues and
// that on their results as epilogues, where this is faster than a library call
// and separate kernels (Target.h).
//
// Runs after fusion. The first reader of a product becomes its epilogue if it
// is a cluster over the product's elements, or one that also reduces them over
// rows: the results [R, C] are then [parts, R / parts, C]. A cluster becomes a
// prologue of kernels that load its results if its only readers are products
// and other such clusters, so that it need not run at all. Whether a product is
// generated depends on its prologues and epilogue, so products are evaluated in
// rounds: one that is not worthwhile leaves its prologues and epilogue to
// memory.
#include "compiler/dialect/Expr.h"
#include "compiler/kernel/KernelSchedule.h"
#include "compiler/lower/PlacingPass.h"
#include "compiler/lower/fuse/Clusters.h"
#include "compiler/lower/memory/Casts.h"
#include "compiler/target/AsProduct.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"
#include <cmath>

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

using Shape = SmallVector<int64_t>;

bool computesElements(ir::FusedOp cluster) {
  return llvm::none_of(cluster.getBody().front(), [](Operation &op) {
    return isReduce(&op) || isa<ir::MatmulOp>(op);
  });
}

/// The shape [parts, rows, columns] of the elements that `cluster` reduces over
/// rows; nullopt if it has other reductions.
std::optional<Shape> partsReducedBy(ir::FusedOp cluster) {
  std::optional<Shape> parts;
  for (Operation &op : cluster.getBody().front()) {
    if (isa<ir::MatmulOp>(op))
      return std::nullopt;
    auto reduction = dyn_cast<ir::ReductionInterface>(op);
    if (!reduction)
      continue;
    const ir::Ints shape = tensorType(op.getOperand(0)).getShape();
    const Type element = ir::elementType(op.getOperand(0));
    if (shape.size() != 3 || reduction.reducedAxes() != ir::Ints({1}) ||
        (parts && ir::Ints(*parts) != shape) ||
        !(element.isF32() || ir::isHalf(element)))
      return std::nullopt;
    parts = Shape(shape);
  }
  return parts;
}

/// A product that may be generated.
struct Candidate {
  AsProduct product;
  ir::FusedOp epilogue = {}; // null: none
  /// [parts, rows, columns] if the epilogue reduces over rows; else empty.
  Shape parts = {};
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
      : prologues(prologues), product(c.product),
        builder(c.epilogue ? c.epilogue : product.op) {
    Shape rows(tensorType(product.a).getShape()), results = c.parts;
    if (c.parts.empty())
      llvm::append_range(results, tensorType(product.y).getShape());
    else
      rows = {c.parts[0], c.parts[1], product.shape.depth};
    const Value a = viewed(product.a, rows),
                b = viewed(product.b, product.shapeOfB);
    y = tensorType(product.y).clone(results);
    SmallVector<Type> outputs;
    if (c.epilogue)
      llvm::append_range(outputs, c.epilogue->getResultTypes());
    isStored = llvm::any_of(Readers(product.y).ops,
                            [&](Operation *o) { return o != c.epilogue; });
    if (isStored)
      outputs.push_back(y);
    SmallVector<Location> locs{product.op->getLoc()};
    if (c.epilogue)
      locs.push_back(c.epilogue->getLoc());
    fused =
        ir::FusedOp::create(builder, FusedLoc::get(builder.getContext(), locs),
                            TypeRange(outputs), ValueRange());
    Block *body = builder.createBlock(&fused.getBody());
    multiply(a, b);
    SmallVector<Value> yields;
    if (c.epilogue) {
      contain(c.epilogue);
      for (Value v : c.epilogue->getResults())
        yields.push_back(map.lookup(v));
    }
    if (isStored)
      yields.push_back(map.lookup(product.y));
    ir::YieldOp::create(builder, fused.getLoc(), yields);
    for (Operation &inner : llvm::make_early_inc_range(llvm::reverse(*body)))
      if (isOpTriviallyDead(&inner))
        inner.erase();
  }
  /// Removes the kernel.
  void undo() {
    fused.erase();
    for (Operation *view : views)
      if (view->use_empty())
        view->erase();
  }

  ir::FusedOp fused;
  /// The clusters that it includes.
  SmallVector<Operation *> contained;
  /// Whether its last result is the product itself, in the shape of parts.
  bool isStored;

private:
  /// `v` in another shape of the same rows.
  Value viewed(Value v, ir::Ints shape) {
    if (tensorType(v).getShape() == shape)
      return v;
    Value view = ir::Expr(builder, product.op->getLoc(), v).reshape(shape).v;
    views.push_back(view.getDefiningOp());
    return view;
  }
  void multiply(Value a, Value b) {
    const Location loc = product.op->getLoc();
    a = inside(a);
    b = inside(b);
    Value made =
        ir::MatmulOp::create(builder, loc, y, a, b, Value(), product.transA,
                             product.transB, StringAttr(), ir::By::Generated);
    if (product.bias)
      made = ir::AddOp::create(builder, loc, y, made, inside(product.bias));
    map.map(product.y, made);
    // The epilogue reads it in the shape of parts.
    for (ir::ReshapeOp view : Readers(product.y).views)
      if (view.getY().getType() == y)
        map.map(view.getY(), made);
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
  const AsProduct &product;
  OpBuilder builder;
  RankedTensorType y; // of the product in the body
  SmallVector<Operation *> views;
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
  const KernelNode *sum = graph->contraction.element;
  const bool reducesElse = llvm::any_of(graph->nodes, [](const auto &node) {
    return node->kind == KernelNode::Reduce && node->depth == 1 &&
           node->children.front()->kind != KernelNode::Product;
  });
  if (!sum || reducesElse)
    return std::nullopt;
  const KernelNode *product = sum->children.front();
  const double seconds = target.generatedProduct(
      shape, double(trafficOf(*graph)), costOf(*graph, product->children[0]),
      costOf(*graph, product->children[1]));
  return std::isfinite(seconds) ? std::optional(seconds) : std::nullopt;
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
    for (Candidate &c : candidates) {
      if (failed(placer.take("matmul", c.product.op, c.choice, c.ways)))
        return failure();
      cast<ir::PlaceableInterface>(c.product.op).setBy(c.choice.by);
    }
    for (Candidate &c : candidates)
      if (c.isGenerated) {
        c.product = *AsProduct::of(c.product.op); // operands may be replaced
        replace(c, KernelBuilder(c, prologues));
      }
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
    for (auto op : block.getOps<ir::PlaceableInterface>()) {
      auto product = AsProduct::of(op);
      if (!product || !mayGenerate(*product))
        continue;
      numberOf[op] = candidates.size();
      candidates.push_back({*product});
      addEpilogue(candidates.back());
    }
  }
  /// A matmul that is not open has an epilogue of the library.
  bool mayGenerate(const AsProduct &product) const {
    auto matmul = dyn_cast<ir::MatmulOp>(product.op);
    return (!matmul || matmul.getBy() == By::Open) &&
           llvm::any_of(target.waysOfProduct(product), [](const Way &way) {
             return way.by == By::Generated && way.whyNot.empty();
           });
  }
  /// The first reader, if it is a cluster over the product's elements.
  void addEpilogue(Candidate &c) {
    Operation *first = nullptr;
    for (Operation *reader : Readers(c.product.y).ops)
      if (!first || position.lookup(reader) < position.lookup(first))
        first = reader;
    auto cluster = dyn_cast_or_null<ir::FusedOp>(first);
    if (!cluster || epilogues.contains(cluster) ||
        !cluster->getDiscardableAttrs().empty())
      return;
    const int64_t n = tensorType(c.product.y).getNumElements();
    if (auto parts = partsReducedBy(cluster)) {
      if (!mayReduce(c.product, *parts))
        return;
      c.parts = *parts;
    } else if (!computesElements(cluster) ||
               llvm::any_of(cluster.getResults(), [&](Value v) {
                 return tensorType(v).getNumElements() != n;
               })) {
      return;
    }
    c.epilogue = cluster;
    epilogues.insert(cluster);
  }
  /// Whether the product's rows can be divided in `parts`.
  static bool mayReduce(const AsProduct &product, ir::Ints parts) {
    return product.shape.batch == 1 && !product.transA &&
           product.shapeOfB.size() == 2 &&
           parts.back() == product.shape.columns &&
           parts[0] * parts[1] == product.shape.rows;
  }

  /// Finds clusters that are only read by products, and their number. Casts of
  /// states are none: one launch has them all (dlc-join-casts), and tiles of
  /// their results are copied asynchronously.
  void findPrologues() {
    prologues.clear();
    products.clear();
    for (Operation &op : llvm::reverse(block)) {
      auto cluster = dyn_cast<ir::FusedOp>(op);
      if (!cluster || epilogues.contains(cluster) ||
          !computesElements(cluster) || isCastOfState(cluster))
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
    double alone =
        target.libraryProduct(c.product.shape, trafficOf(c.product.op), false);
    auto [own, ownParts] = tryWith({c.product, nullptr});
    std::optional<double> joint;
    if (c.epilogue) {
      double rest = target.streaming(trafficOf(c.epilogue));
      alone += rest;
      joint = tryWith(c).first;
      if (own)
        *own += rest;
    }
    alone += ownParts;
    auto wish = placer.wishFor("matmul", c.product.op->getLoc());
    const bool isWished = wish && wish->by == "generated";
    bool withEpilogue = joint && (isWished || !own || *joint <= *own);
    choose(c, alone, withEpilogue ? joint : own);
    if (c.epilogue && !withEpilogue) {
      epilogues.erase(c.epilogue);
      c.epilogue = nullptr;
      c.parts.clear();
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
    c.choice = placer.choose("matmul", c.product.op->getLoc(), c.ways);
    c.isGenerated = c.choice.by == By::Generated;
  }
  /// The time of a kernel, and that of its clusters as separate kernels.
  std::pair<std::optional<double>, double> tryWith(const Candidate &c) {
    ProductShape shape = c.product.shape;
    if (!c.parts.empty())
      shape = {c.parts[0], c.parts[1], shape.columns, shape.depth,
               /*reducesRows=*/true};
    KernelBuilder kernel(c, prologues);
    double parts = 0;
    for (Operation *cluster : kernel.contained)
      parts += target.streaming(trafficOf(cluster)) / products[cluster].size();
    auto time = timeOf(kernel.fused, shape, target);
    kernel.undo();
    return {time, parts};
  }

  void replace(Candidate &c, const KernelBuilder &kernel) {
    ir::FusedOp made = kernel.fused;
    auto results = made.getResults();
    if (c.epilogue)
      for (Value v : c.epilogue->getResults()) {
        v.replaceAllUsesWith(results.front());
        results = results.drop_front();
      }
    // Views of the product are moved after the kernel.
    Value y = c.product.y;
    Operation *last = made;
    Value stored = kernel.isStored ? results.front() : Value();
    if (stored && stored.getType() != y.getType()) {
      OpBuilder after(made->getNextNode());
      stored = ir::ReshapeOp::create(after, made.getLoc(), y.getType(), stored);
      last = stored.getDefiningOp();
    }
    for (ir::ReshapeOp view : Readers(y).views)
      if (view->isBeforeInBlock(made)) {
        view->moveAfter(last);
        last = view;
      }
    if (kernel.isStored)
      y.replaceUsesWithIf(
          stored, [&](OpOperand &use) { return use.getOwner() != c.epilogue; });
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
