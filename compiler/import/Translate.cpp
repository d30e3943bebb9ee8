// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/Translate.h"
#include "compiler/import/Narrow.h"
#include "compiler/import/Outputs.h"
#include "compiler/import/Survey.h"
#include "compiler/import/bind/Declared.h"
#include "compiler/import/bind/Rebatch.h"
#include "compiler/import/file/SchemaCheck.h"
#include "compiler/import/file/Subgraphs.h"
#include "compiler/import/fold/HostEval.h"
#include "compiler/import/repair/upgrade/StandardBodies.h"
#include "compiler/import/roles/FixedNumbers.h"
#include "compiler/import/rows/Rows.h"
#include "compiler/import/tensor/DataType.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "onnx-ml.pb.h"
#include "runtime/plan/StateNames.h"
#include "llvm/Support/xxhash.h"
#include <cstring>
#include <fmt/ranges.h>
#include <set>
#include <unordered_map>

using namespace mlir;

namespace dlc::import {
namespace {

/// Host tensors up to this size become constants; larger ones become state.
constexpr int64_t kMaxConstant = 16;
/// Larger frozen initializers are not folded but remain tensors.
constexpr int64_t kMaxFoldedWeight = 1 << 20;

/// The value of a name. Exactly one of the first four members is set initially;
/// `value` of an initializer or host tensor is set on first use.
struct Entry {
  Value value;
  std::shared_ptr<const HostTensor> host;
  const Weight *weight = nullptr;
  std::vector<Value> sequence;
  bool isSequence = false;
};

/// Location of an op's ONNX node, in the form of ImportedModel (Importer.h).
Location locationOf(MLIRContext *context, const onnx::NodeProto &node) {
  auto text = [&](const std::string &word) {
    return StringAttr::get(context, word);
  };
  auto within = [&](Location loc, const std::string &operation) {
    return FusedLoc::get(context, {loc}, text(operation));
  };
  const std::string name = labelOf(node.name(), node.op_type(),
                                   node.output_size() ? node.output(0) : "");
  Location loc = within(NameLoc::get(text(name)), node.op_type());
  for (const auto &note : node.metadata_props())
    if (note.key() == kPartOf)
      loc = within(loc, note.value());
  return loc;
}

class Importer : public ValueTable {
public:
  Importer(Graph &graph, CustomOps &custom)
      : context(*graph.context), file(graph.file), inputs(graph.inputs),
        custom(custom), builder(&context), evaluator(file.budget),
        declared(file.model->graph()),
        rebatch(inputs.exportedBatch, inputs.batch, inputs.rebatched),
        narrow(narrowTypes(file.model->graph())), roles(rolesOf(graph.roles)),
        names(namesOfWeights(graph.file)), uses(std::move(graph.uses)) {
    for (const auto &[name, found] : graph.roles)
      if (found.isFrozen)
        frozen.insert(name);
  }

  FailureOr<OwningOpRef<ModuleOp>> run();
  /// Code of the error returned by `run`.
  Code code = Code::BadModel;

  Value value(const std::string &name, Location loc) override;
  const HostTensor *host(const std::string &name) override;
  RankedTensorType type(const std::string &name) override;
  int onnxType(const std::string &name) override {
    auto type = valueType(name);
    return type ? type->element : 0;
  }
  void define(const std::string &name, Value value) override {
    entries[name].value = value;
  }
  void define(const std::string &name, HostTensor value) override {
    entries[name].host = std::make_shared<const HostTensor>(std::move(value));
  }
  void define(const std::string &name, std::vector<Value> values) override {
    entries[name].sequence = std::move(values);
    entries[name].isSequence = true;
  }
  const std::vector<Value> *sequence(const std::string &name) override {
    Entry &entry = entries[name];
    return entry.isSequence ? &entry.sequence : nullptr;
  }
  bool isUsed(const std::string &name) override { return uses.count(name); }
  std::optional<int64_t> padding(const std::string &name) override {
    auto it = file.paddings.find(name);
    return it == file.paddings.end() ? std::nullopt : std::optional(it->second);
  }
  const std::optional<double> *dropout(const std::string &name) override {
    auto it = file.dropouts.find(name);
    return it == file.dropouts.end() ? nullptr : &it->second;
  }
  bool keepsStatistics(const std::string &name) override {
    return file.inferenceNorms.count(name);
  }
  std::vector<int64_t> indexedAxes(const std::string &name) override {
    auto it = file.indexedExtrema.find(name);
    return it == file.indexedExtrema.end() ? std::vector<int64_t>()
                                           : it->second;
  }
  Budget &budget() override { return file.budget; }
  const Status &problem() override { return overBudget; }
  LogicalResult importNode(const onnx::NodeProto &proto) override;
  bool isDefined(const std::string &name) override;
  std::string unusedName(std::string name) override;
  void use(const std::string &name) override { ++uses[name]; }

private:
  LogicalResult fail(const Status &status) {
    code = status.code();
    return emitError(here(), status.message());
  }
  Location here() { return NameLoc::get(builder.getStringAttr(file.path)); }

  LogicalResult build(const onnx::NodeProto &proto);
  FailureOr<bool> fold(const Node &node);
  std::optional<ValueType> valueType(const std::string &name);
  Status checkDeclared(const std::string &name);
  void release(const onnx::NodeProto &proto);
  void unpack(const std::string &name, Entry &entry);
  Value readState(const std::string &name, DType dtype, const Shape &shape,
                  Location loc);
  Value materialize(const std::string &name, const HostTensor &host,
                    Location loc);
  std::string unusedConstant(const std::string &value);
  std::string stateOf(const std::string &weight) {
    return plan::stateName(weight, [&](const std::string &name) {
      return file.weights.find(name) != nullptr;
    });
  }
  void addState(const std::string &name, RankedTensorType type, Role role);
  LogicalResult addReturn(func::FuncOp func);

  MLIRContext &context;
  OnnxFile &file;
  const GraphInputs &inputs;
  CustomOps &custom;
  OpBuilder builder;
  HostEvaluator evaluator;
  Declared declared;
  Rebatch rebatch;
  NarrowTypes narrow;
  ModuleOp module;
  Block *body = nullptr;
  std::map<std::string, Role> roles;
  std::map<std::string, std::vector<std::string>> names; // of weights
  std::set<std::string> frozen; // remain states under their names
  std::unordered_map<std::string, Entry> entries;
  std::unordered_map<std::string, int> uses; // uses left
  std::set<std::string> states;
  std::map<uint64_t, std::string> constants; // content hash to state
  Status overBudget;                         // in a row's request for a value
};

RankedTensorType Importer::type(const std::string &name) {
  Entry &entry = entries[name];
  if (entry.value)
    return ir::tensorType(entry.value);
  if (entry.host)
    return RankedTensorType::get(entry.host->shape,
                                 toMlir(entry.host->dtype, &context));
  if (entry.weight)
    return RankedTensorType::get(entry.weight->shape,
                                 toMlir(entry.weight->dtype, &context));
  return nullptr;
}

const HostTensor *Importer::host(const std::string &name) {
  Entry &entry = entries[name];
  if (!entry.host && entry.weight && roles[name] == Role::Constant &&
      entry.weight->elements() <= kMaxFoldedWeight)
    unpack(name, entry);
  return entry.host.get();
}

/// If the budget is exceeded, the node that requested the value fails.
void Importer::unpack(const std::string &name, Entry &entry) {
  const int64_t count = entry.weight->elements();
  std::string what = fmt::format("reading the values of '{}'", name);
  auto lease = file.budget.take(HostTensor::bytesOf(count), what);
  Status worked = file.budget.work(uint64_t(count), what);
  if (overBudget = lease.ok() ? worked : lease.status(); overBudget.ok())
    entry.host = std::make_shared<const HostTensor>(
        HostTensor::from(*entry.weight, std::move(*lease)));
}

Value Importer::value(const std::string &name, Location loc) {
  Entry &entry = entries[name];
  if (entry.value || entry.isSequence)
    return entry.value;
  const HostTensor *known = host(name);
  bool small = known && !frozen.count(name) &&
               (known->elements() <= kMaxConstant || known->isSplat());
  if (entry.weight && !small)
    entry.value =
        readState(name, entry.weight->dtype, entry.weight->shape, loc);
  else if (known)
    entry.value = materialize(name, *known, loc);
  return entry.value;
}

/// A state name that no initializer has.
std::string Importer::unusedConstant(const std::string &value) {
  std::string name = "const/" + value;
  while (file.weights.find(name))
    name += "'";
  return name;
}

Value Importer::materialize(const std::string &name, const HostTensor &host,
                            Location loc) {
  if (host.elements() <= kMaxConstant || host.isSplat()) {
    static const onnx::NodeProto none;
    return Node(none, file.opset, builder, loc, *this).constant(host);
  }
  // Layers often create the same mask; it is stored once.
  const size_t size = size_t(host.elements()) * sizeOf(host.dtype);
  std::string what = fmt::format("keeping the value of '{}'", name);
  overBudget = file.budget.keep(size, what);
  if (overBudget.ok())
    overBudget = file.budget.work(uint64_t(host.elements()), what);
  if (!overBudget.ok())
    return nullptr;
  std::string bytes = host.bytes();
  std::string key =
      fmt::format("{} {} ", int(host.dtype), toString(host.shape));
  auto [known, first] = constants.emplace(llvm::xxh3_64bits(key + bytes), "");
  if (first)
    known->second = unusedConstant(name);
  const Weight *same = file.weights.find(known->second);
  bool equal = same && same->dtype == host.dtype && same->shape == host.shape &&
               std::memcmp(same->data, bytes.data(), bytes.size()) == 0;
  std::string state = equal ? known->second : unusedConstant(name);
  if (!equal)
    file.weights.own(state, host.dtype, host.shape, std::move(bytes));
  return readState(state, host.dtype, host.shape, loc);
}

constexpr float kLargestF16 = 65504;

void Importer::addState(const std::string &name, RankedTensorType type,
                        Role role) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(body->getParentOp());
  auto irRole = role == Role::Param    ? ir::Role::param
                : role == Role::Buffer ? ir::Role::buffer
                                       : ir::Role::constant;
  auto state = ir::StateOp::create(
      builder, NameLoc::get(builder.getStringAttr(name)), stateOf(name), type,
      irRole, builder.getStringAttr(name), FlatSymbolRefAttr(),
      role == Role::Param);
  if (auto known = names.find(name);
      known != names.end() && known->second.size() > 1)
    state->setAttr("dlc.names",
                   builder.getStrArrayAttr(llvm::to_vector_of<StringRef>(
                       llvm::drop_begin(known->second))));
  const Weight *weight = file.weights.find(name);
  if (role != Role::Constant || !weight)
    return;
  if (auto triangle = triangleOf(*weight))
    state->setAttr("dlc.triangle", builder.getF64ArrayAttr(
                                       {triangle->first, triangle->second}));
  if (weight->dtype != DType::F32)
    return;
  if (float largest = largestFinite(*weight); largest > kLargestF16)
    state->setAttr("dlc.largest", builder.getF64FloatAttr(largest));
}

Value Importer::readState(const std::string &name, DType dtype,
                          const Shape &shape, Location loc) {
  auto type = RankedTensorType::get(shape, toMlir(dtype, &context));
  auto role = roles.find(name);
  if (states.insert(name).second)
    addState(name, type, role == roles.end() ? Role::Constant : role->second);
  return ir::ReadOp::create(builder, loc, type, stateOf(name));
}

bool Importer::isDefined(const std::string &name) {
  auto it = entries.find(name);
  return it != entries.end() && (it->second.value || it->second.host ||
                                 it->second.weight || it->second.isSequence);
}

std::string Importer::unusedName(std::string name) {
  while (entries.count(name) || uses.count(name))
    name += "'";
  return name;
}

/// Evaluates a node whose inputs are all known. Returns false for other nodes,
/// and if another program may have trained an input.
FailureOr<bool> Importer::fold(const Node &node) {
  const std::string op = operatorName(node.proto);
  if (!evaluator.knows(op) ||
      (allRows().count(op) &&
       llvm::any_of(node.proto.input(), [&](const std::string &input) {
         return frozen.count(input) > 0;
       })))
    return false;
  std::vector<const HostTensor *> inputs;
  for (size_t i = 0; i < node.inputs(); ++i) {
    inputs.push_back(node.host(i));
    if (node.has(i) && !inputs.back())
      return false;
  }
  auto results = evaluator.evaluate(node, std::move(inputs));
  if (!results.ok())
    return node.fail(results.status());
  for (size_t i = 0; i < results->size(); ++i)
    DLC_CHECK(node.result(i, std::move((*results)[i])));
  return true;
}

LogicalResult Importer::importNode(const onnx::NodeProto &proto) {
  if (!rebatch.isNeeded())
    return build(proto);
  auto nodes = rebatch.adapted(proto, *this);
  if (!nodes.ok())
    return fail(nodes.status());
  for (const onnx::NodeProto &node : *nodes)
    if (failed(build(node)))
      return emitError(locationOf(&context, proto)) << rebatch.advice();
  return success();
}

LogicalResult Importer::build(const onnx::NodeProto &proto) {
  Node node(proto, file.opset, builder, locationOf(&context, proto), *this);
  TypeCheck types(proto, file.opset);
  auto typeOf = [&](const std::string &name) { return valueType(name); };
  if (Status status = types.inputs(typeOf); !status.ok())
    return node.fail(status);
  auto folded = fold(node);
  if (!overBudget.ok())
    return node.fail(overBudget);
  DLC_CHECK(folded);
  const std::string op = operatorName(proto);
  const CustomOps::Found *own = *folded ? nullptr : custom.find(op);
  if (own && failed(custom.import(node, *own)))
    return failure();
  if (!*folded && !own) {
    auto row = allRows().find(op);
    if (row == allRows().end())
      return node.fail("{} is supported only on values known at compile time",
                       proto.op_type());
    LogicalResult built = row->second(node);
    if (!overBudget.ok())
      return node.fail(overBudget);
    DLC_CHECK(built);
  }
  if (Status status = node.problem(); !status.ok())
    return node.fail(status);
  for (const std::string &output : proto.output())
    if (!output.empty() && isUsed(output) && !entries.count(output))
      return node.fail("output '{}' is not supported", output);
  DLC_CHECK(narrowResults(node, types, narrow));
  if (Status status = types.outputs(typeOf); !status.ok())
    return node.fail(status);
  DLC_CHECK(dropOut(node));
  for (const std::string &output : proto.output())
    if (Status status = checkDeclared(output); !status.ok())
      return node.fail(status);
  release(proto);
  return success();
}

/// nullopt if `name` has no value yet; an empty sequence has no type.
std::optional<ValueType> Importer::valueType(const std::string &name) {
  auto it = entries.find(name);
  if (it == entries.end())
    return std::nullopt;
  const Entry &entry = it->second;
  RankedTensorType tensor;
  if (!entry.isSequence)
    tensor = type(name);
  else if (!entry.sequence.empty())
    tensor = ir::tensorType(entry.sequence[0]);
  if (!tensor)
    return std::nullopt;
  if (auto held = narrow.find(name); held != narrow.end())
    return ValueType{held->second, entry.isSequence};
  return ValueType{toOnnxType(toDType(tensor.getElementType())),
                   entry.isSequence};
}

Status Importer::checkDeclared(const std::string &name) {
  auto found = valueType(name);
  if (!found)
    return {};
  RankedTensorType tensor = type(name);
  return declared.check(name, *found,
                        tensor ? Shape(tensor.getShape()) : Shape());
}

/// Frees host values after their last use.
void Importer::release(const onnx::NodeProto &proto) {
  for (const std::string &name : proto.input())
    if (!name.empty() && --uses[name] == 0)
      entries[name].host = nullptr;
}

LogicalResult Importer::addReturn(func::FuncOp func) {
  SmallVector<Value> results;
  for (const auto &output : file.model->graph().output()) {
    Value result = value(output.name(), here());
    if (!overBudget.ok())
      return fail(overBudget);
    if (!result)
      return emitError(here()) << "output '" << output.name()
                               << "' is a sequence, expected a tensor";
    if (rebatch.isLost(output, shapeOf(result)))
      return emitError(result.getLoc())
             << "output '" << output.name() << "' has no row for each sample; "
             << rebatch.advice();
    results.push_back(result);
  }
  func::ReturnOp::create(builder, func.getLoc(), results);
  func.setType(builder.getFunctionType(func.getArgumentTypes(),
                                       ValueRange(results).getTypes()));
  describeOutputs(func, file, narrow);
  return success();
}

FailureOr<OwningOpRef<ModuleOp>> Importer::run() {
  OwningOpRef<ModuleOp> owned = ModuleOp::create(here());
  module = *owned;
  SmallVector<Type> types;
  for (const GraphInput &input : inputs.all)
    types.push_back(input.type);
  builder.setInsertionPointToEnd(module.getBody());
  auto func = func::FuncOp::create(builder, here(), "predict",
                                   builder.getFunctionType(types, {}));
  body = func.addEntryBlock();
  SmallVector<DictionaryAttr> attributes;
  for (auto [i, input] : llvm::enumerate(inputs.all)) {
    attributes.push_back(builder.getDictionaryAttr(
        builder.getNamedAttr("dlc.name", builder.getStringAttr(input.name))));
    define(input.name, func.getArgument(i));
  }
  func.setAllArgAttrs(attributes);
  for (const GraphInput &input : inputs.known)
    define(input.name, valueOfKnown(input));
  for (const auto &[name, weight] : file.weights.all()) {
    entries[name].weight = &weight;
    if (Status status = checkDeclared(name); !status.ok())
      return fail(status);
  }
  for (auto &i : llvm::concat<const GraphInput>(inputs.all, inputs.known))
    if (Status status = checkDeclared(i.name); !status.ok())
      return fail(status);

  builder.setInsertionPointToEnd(body);
  for (const auto *node : file.nodes)
    DLC_CHECK(importNode(*node));
  if (std::string stale = declared.staleShapes();
      !stale.empty() && !rebatch.isNeeded())
    emitWarning(here()) << stale;
  DLC_CHECK(addReturn(func));
  DLC_CHECK(verify(module));
  return owned;
}

} // namespace

Result<OwningOpRef<ModuleOp>> translate(Graph &graph, CustomOps &custom) {
  Importer importer(graph, custom);
  auto module = importer.run();
  if (failed(module))
    return Status(importer.code, "");
  return std::move(*module);
}

} // namespace dlc::import
