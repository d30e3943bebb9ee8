// SPDX-License-Identifier: Apache-2.0
// The table of ONNX ops: one row builds the dlc ops for one node.
#pragma once
#include "compiler/dialect/Expr.h"
#include "compiler/import/file/NodeView.h"
#include "compiler/import/tensor/HostTensor.h"
#include "mlir/IR/Verifier.h"
#include <fmt/ranges.h>
#include <functional>
#include <map>
#include <optional>

template <> struct fmt::formatter<llvm::StringRef> : formatter<string_view> {
  template <class Context>
  auto format(llvm::StringRef text, Context &to) const {
    return formatter<string_view>::format({text.data(), text.size()}, to);
  }
};
template <> struct fmt::formatter<mlir::Type> : formatter<string_view> {
  template <class Context> auto format(mlir::Type type, Context &to) const {
    std::string text;
    llvm::raw_string_ostream(text) << "'" << type << "'";
    return formatter<string_view>::format(text, to);
  }
};

namespace dlc::import {

using mlir::FailureOr;
using mlir::LogicalResult;
using mlir::Value;

inline bool isThere(Value x) { return bool(x); }
inline Value taken(Value x) { return x; }
template <class T> bool isThere(const FailureOr<T> &x) { return succeeded(x); }
template <class T> T taken(FailureOr<T> &&x) { return *std::move(x); }

/// DLC_GET(auto x, input(n, 0)): assigns the value. If there is none, an error
/// was reported, and the function fails.
#define DLC_GET(lhs, ...)                                                      \
  auto DLC_CONCAT(dlcFound, __LINE__) = (__VA_ARGS__);                         \
  if (!::dlc::import::isThere(DLC_CONCAT(dlcFound, __LINE__)))                 \
    return ::mlir::failure();                                                  \
  lhs = ::dlc::import::taken(std::move(DLC_CONCAT(dlcFound, __LINE__)))
/// DLC_CHECK(checkFits(n, shape, "x")): fails if the LogicalResult is a
/// failure.
#define DLC_CHECK(...)                                                         \
  do {                                                                         \
    if (::mlir::failed(__VA_ARGS__))                                           \
      return ::mlir::failure();                                                \
  } while (false)

/// Access to values by name for rows; implemented by the importer.
class ValueTable {
public:
  virtual ~ValueTable() = default;
  /// The value as SSA, created on first use; null if it is omitted.
  virtual Value value(const std::string &name, mlir::Location loc) = 0;
  /// The contents of a value known at import time, else null.
  virtual const HostTensor *host(const std::string &name) = 0;
  virtual mlir::RankedTensorType type(const std::string &name) = 0;
  /// The value's onnx::TensorProto::DataType, which type() may store in a wider
  /// type; 0 if it has none.
  virtual int onnxType(const std::string &name) = 0;
  virtual void define(const std::string &name, Value value) = 0;
  virtual void define(const std::string &name, HostTensor value) = 0;
  /// Defines a sequence of tensors.
  virtual void define(const std::string &name, std::vector<Value> values) = 0;
  virtual const std::vector<Value> *sequence(const std::string &name) = 0;
  virtual bool isUsed(const std::string &name) = 0;
  /// The table row without gradient from the Gather whose output is `name`.
  virtual std::optional<int64_t> padding(const std::string &name) = 0;
  /// The ratio of --dropout for the node with this first output; the inner
  /// nullopt keeps the node's ratio; null if no rule matches the node.
  virtual const std::optional<double> *dropout(const std::string &name) = 0;
  /// The batch norm with this output uses its running statistics in training.
  virtual bool keepsStatistics(const std::string &name) = 0;
  /// The axes along which the gradient of the extremum with this output goes to
  /// the first of equal elements.
  virtual std::vector<int64_t> indexedAxes(const std::string &name) = 0;
  virtual Budget &budget() = 0;
  /// Why `value` or `host` returned null for an input that is present.
  virtual const Status &problem() = 0;

  /// Imports a created node, for rows that expand control flow.
  virtual LogicalResult importNode(const onnx::NodeProto &made) = 0;
  virtual bool isDefined(const std::string &name) = 0;
  /// `name`, or a similar name that the model does not use.
  virtual std::string unusedName(std::string name) = 0;
  /// Announces a use of `name` by a created node or its reader.
  virtual void use(const std::string &name) = 0;
  /// Announces a created node, and a reader of each of its results.
  void useAll(const onnx::NodeProto &made);
};

/// A node that is being imported: attributes, inputs, results, and builders of
/// ops. A null Value means that an error was reported.
class Node : public NodeView {
public:
  Node(const onnx::NodeProto &proto, int64_t opset, mlir::OpBuilder &builder,
       mlir::Location loc, ValueTable &table)
      : NodeView(proto, opset), b(builder), loc(loc), table(table) {}

  mlir::OpBuilder &b;
  mlir::Location loc;
  ValueTable &table;

  /// Reports an error; shapes are formatted as [2, 3].
  template <typename... Args>
  mlir::InFlightDiagnostic fail(fmt::format_string<Args...> text,
                                Args &&...args) const {
    return mlir::emitError(loc, fmt::format(text, std::forward<Args>(args)...));
  }
  LogicalResult fail(const Status &status) const;
  /// Success, or a reported error.
  LogicalResult check(const Status &status) const {
    return status.ok() ? mlir::success() : fail(status);
  }
  template <class T> FailureOr<T> checked(Result<T> result) const {
    if (result.ok())
      return *std::move(result);
    return fail(result.status());
  }

  size_t inputs() const;
  size_t outputs() const;
  std::string inputName(size_t i) const; // "" when left out
  bool has(size_t i) const { return !inputName(i).empty(); }
  using NodeView::has;
  bool uses(size_t output) const;

  /// Input `i` as a value; if it is missing, reports an error and returns null.
  Value in(size_t i) const;
  mlir::RankedTensorType type(size_t i) const;
  Shape shape(size_t i) const;
  int onnxType(size_t i) const;
  const HostTensor *host(size_t i) const;
  /// Input `i` as integers known at import; else an error that names `what`.
  FailureOr<std::vector<int64_t>> integers(size_t i, const char *what) const;
  using NodeView::integers;
  FailureOr<double> number(size_t i, const char *what) const;
  using NodeView::number;
  /// The same for inputs that may be omitted.
  FailureOr<std::vector<int64_t>>
  integersOr(size_t i, const char *what, std::vector<int64_t> otherwise) const {
    return has(i) ? integers(i, what) : std::move(otherwise);
  }
  FailureOr<double> numberOr(size_t i, const char *what,
                             double otherwise) const {
    return has(i) ? number(i, what) : otherwise;
  }
  FailureOr<int64_t> axis(const char *name, int64_t otherwise,
                          int64_t rank) const;
  /// A text attribute; an error unless it is one of `known` (at least two).
  FailureOr<std::string>
  choice(const char *name, const char *otherwise,
         std::initializer_list<std::string_view> known) const;

  LogicalResult result(size_t i, Value value) const;
  LogicalResult result(Value value) const { return result(0, value); }
  LogicalResult result(size_t i, HostTensor value) const;

  /// Builds an op with inferred types; reports an error and returns null if the
  /// operands do not fit or one of them is null.
  template <typename Op, typename... Args> Value make(Args &&...args) const {
    static_assert(Op::template hasTrait<mlir::OpTrait::OneResult>());
    mlir::Operation *op = makeOp<Op>(1, std::forward<Args>(args)...);
    return op ? op->getResult(0) : Value();
  }
  template <typename Op, typename... Args>
  mlir::Operation *makeOp(unsigned results, Args &&...args) const {
    mlir::OperationState state(loc, Op::getOperationName());
    llvm::SmallVector<mlir::Type> types(results, b.getNoneType());
    Op::build(b, state, mlir::TypeRange(types), std::forward<Args>(args)...);
    if (llvm::is_contained(state.operands, Value()))
      return nullptr;
    types.clear();
    if (failed(
            Op::inferReturnTypes(b.getContext(), loc, state.operands,
                                 state.attributes.getDictionary(b.getContext()),
                                 state.getRawProperties(), {}, types)) ||
        failed(checkTypes(types)))
      return nullptr;
    state.types.assign(types.begin(), types.end());
    return b.create(state);
  }

  /// The same for an op with one result, of a given type.
  template <typename Op, typename... Args>
  Value makeAs(mlir::RankedTensorType type, Args &&...args) const {
    mlir::OperationState state(loc, Op::getOperationName());
    Op::build(b, state, type, std::forward<Args>(args)...);
    if (llvm::is_contained(state.operands, Value()) || failed(checkTypes(type)))
      return Value();
    mlir::Operation *op = b.create(state);
    return succeeded(mlir::verify(op)) ? op->getResult(0) : Value();
  }

  ir::Expr expr(Value x) const { return {b, loc, x}; }
  Value reshape(Value x, const Shape &shape) const;
  Value broadcast(Value x, const Shape &shape) const;
  Value cast(Value x, mlir::Type element) const;
  Value transpose(Value x, const std::vector<int64_t> &perm) const;
  Value slice(Value x, const SliceBounds &bounds) const;
  /// A B + bias, with A' or B' if transposed.
  Value matmul(Value a, Value b, bool transA = false, bool transB = false,
               Value bias = {}) const;
  /// A rank-0 constant with `like`'s element type.
  Value constant(double value, Value like) const;
  Value constant(const HostTensor &value) const;

private:
  LogicalResult checkTypes(mlir::TypeRange types) const;
};

using Row = LogicalResult (*)(const Node &);
using Rows = std::map<std::string, Row>;

/// Sets output 0 to the sequence `parts`. Each sequence is a separate list,
/// charged to the budget: inserting elements one by one takes quadratic space.
LogicalResult giveSequence(const Node &n, std::vector<Value> parts);

/// Each file of rows defines one of these.
using AddRows = void(Rows &);
AddRows addArrangeRows, addAttentionRows, addContribAttentionRows,
    addContribPlaceRows, addContribQuantizedRows, addControlFlowRows,
    addConvolutionRows, addDeformRows, addEinsumRows, addElementwiseRows,
    addIndexRows, addIntegerRows, addLinearRows, addLossRows, addNormRows,
    addPoolRows, addQuantizeRows, addRandomRows, addRankRows, addRecurrenceRows,
    addReduceRows, addRegionRows, addResizeRows, addSampleRows, addSequenceRows,
    addShapeRows, addSignalRows, addTrainingRows, addTrigonometryRows;

/// Adds the dropout of --dropout to the first result of an imported node,
/// except for Dropout nodes, whose row applies it.
LogicalResult dropOut(const Node &node);
/// LinearAttention.cpp.
LogicalResult linearAttention(const Node &node);

/// All rows, by operatorName.
const Rows &allRows();

Shape shapeOf(Value value);
mlir::Type toMlir(DType dtype, mlir::MLIRContext *context);
DType toDType(mlir::Type type);

} // namespace dlc::import
