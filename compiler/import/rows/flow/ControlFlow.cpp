// SPDX-License-Identifier: Apache-2.0
// Expands If, Loop and Scan to the nodes of their bodies: the branch of a known
// condition, or both with a select; iterations in sequence, as many as the trip
// count allows if data decides when a loop ends.
#include "compiler/import/rows/Bodies.h"
#include "compiler/import/rows/Build.h"

using namespace mlir;

namespace dlc::import {
namespace {

const onnx::GraphProto &graphAttribute(const Node &n, const char *name) {
  return n.find(name)->g(); // checked: required by ONNX's definition
}

LogicalResult checkBodyOutputs(const Node &n, const onnx::GraphProto &graph,
                               const char *name, int count) {
  if (graph.output_size() == count)
    return success();
  return n.fail("{} has {} outputs, expected {}", name, graph.output_size(),
                count);
}

//===--- If ---------------------------------------------------------------===//

LogicalResult expandKnown(const BodyExpander &e, const onnx::GraphProto &graph,
                          const char *name) {
  DLC_GET(auto results, e.run(graph, e.label + "/" + name, {}));
  for (auto [i, result] : llvm::enumerate(results))
    DLC_CHECK(e.give(int(i), result));
  return success();
}

/// `a` if the condition (one element) is true, else `b`, of the same type.
FailureOr<std::string> choose(const BodyExpander &e, std::string condition,
                              const std::string &a, const std::string &b) {
  if (e.type(condition).getRank() > e.type(a).getRank()) {
    auto shape = e.define(e.label + "/shape", HostTensor::list({}));
    DLC_GET(condition,
            e.apply("Reshape", {condition, shape}, e.label + "/condition"));
  }
  return e.apply("Where", {condition, a, b}, e.label + "/chosen");
}

/// Computes both branches, so that both have gradients.
LogicalResult chooseBetween(const BodyExpander &e, const onnx::GraphProto &yes,
                            const onnx::GraphProto &no) {
  const Node &n = e.n;
  DLC_GET(auto whenTrue, e.run(yes, e.label + "/then_branch", {}));
  DLC_GET(auto whenFalse, e.run(no, e.label + "/else_branch", {}));
  for (auto [i, names] : llvm::enumerate(llvm::zip(whenTrue, whenFalse))) {
    auto &[a, b] = names;
    RankedTensorType ta = e.type(a), tb = e.type(b);
    if (!ta || !tb)
      return n.fail("output {} is a sequence, and the condition depends on the "
                    "model's data",
                    i);
    if (ta != tb)
      return n.fail(
          "the condition depends on the model's data, and output {} is {} in "
          "one branch, {} in the other; expected one type and shape",
          i, Shape(ta.getShape()), Shape(tb.getShape()));
    DLC_GET(auto chosen, choose(e, n.inputName(0), a, b));
    DLC_CHECK(e.give(int(i), chosen));
  }
  return success();
}

LogicalResult ifElse(const Node &n) {
  BodyExpander e(n);
  const auto &yes = graphAttribute(n, "then_branch"),
             &no = graphAttribute(n, "else_branch");
  const int count = n.proto.output_size();
  DLC_CHECK(checkBodyOutputs(n, yes, "then_branch", count));
  DLC_CHECK(checkBodyOutputs(n, no, "else_branch", count));
  if (!n.type(0) || n.type(0).getNumElements() != 1)
    return n.fail("expected a condition of one element");
  if (const HostTensor *known = n.host(0))
    return known->number(0) != 0 ? expandKnown(e, yes, "then_branch")
                                 : expandKnown(e, no, "else_branch");
  return chooseBetween(e, yes, no);
}

//===--- what Loop and Scan share -----------------------------------------===//

/// Stacks the values of one output, one per iteration, along a new dimension.
FailureOr<std::string> stackIterations(const BodyExpander &e,
                                       const std::vector<std::string> &parts,
                                       int64_t axis, const char *what) {
  const Node &n = e.n;
  if (parts.empty())
    return n.fail("{} of a loop without iterations are not supported", what);
  RankedTensorType type = e.type(parts.front());
  for (const std::string &part : parts)
    if (!type || e.type(part) != type)
      return n.fail(
          "{} differ in type or shape between iterations, or are sequences",
          what);
  DLC_GET(auto at, n.checked(normalizeAxis(axis, type.getRank() + 1)));
  Shape shape(type.getShape());
  shape.insert(shape.begin() + at, 1);
  std::string wanted = e.define(e.label + "/shape", HostTensor::list(shape));
  std::vector<std::string> wide;
  for (const std::string &part : parts) {
    DLC_GET(auto made,
            e.apply("Reshape", {part, wanted}, part + "/unsqueezed"));
    wide.push_back(made);
  }
  return e.apply("Concat", wide, e.label + "/stacked", at);
}

/// Name of an iteration: LABEL[i].
std::string iterationOf(const BodyExpander &e, int64_t i) {
  return fmt::format("{}[{}]", e.label, i);
}

/// Charges the cost of an iteration besides its nodes, since there may be many
/// iterations of an empty body.
LogicalResult keepIteration(const BodyExpander &e,
                            const onnx::GraphProto &body) {
  constexpr size_t kValueBytes = 64;
  const size_t values = size_t(body.input_size() + body.output_size());
  return e.n.check(e.n.table.budget().keep(
      kMadeNodeBytes + values * kValueBytes, "expanding '" + e.label + "'"));
}

//===--- Loop -------------------------------------------------------------===//

/// Maximum number of iterations: the trip count, or unlimited.
FailureOr<int64_t> mostTrips(const Node &n) {
  if (!n.has(0))
    return INT64_MAX;
  if (!n.type(0) || n.type(0).getNumElements() != 1)
    return n.fail("expected a trip count of one element");
  if (const HostTensor *known = n.host(0))
    return known->integer(0);
  return n.fail(
      "the trip count, input '{}', depends on the model's data; only loops "
      "whose number of iterations is known at compile time are supported",
      n.inputName(0));
}

/// Whether a loop continues, if known.
enum class More { Yes, No, Unknown };
FailureOr<More> goesOn(const Node &n, const std::string &condition,
                       int64_t most) {
  if (const HostTensor *known = n.table.host(condition))
    if (known->elements() == 1)
      return known->number(0) != 0 ? More::Yes : More::No;
  if (most != INT64_MAX)
    return More::Unknown;
  return n.fail(
      "the loop's condition, '{}', depends on the model's data, and no trip "
      "count bounds its iterations; only loops with a number of iterations at "
      "most that is known at compile time are supported",
      printable(condition));
}

/// Iterations of a loop whose end depends on data: the maximum number is
/// computed, and iterations after the end keep the states, so that gradients
/// are those of the iterations before.
class Masked {
public:
  explicit Masked(const BodyExpander &e) : e(e) {}

  /// Further iterations are active only if `condition` is true, too.
  LogicalResult require(const std::string &condition) {
    if (active.empty()) {
      active = condition;
      return success();
    }
    DLC_GET(active, e.apply("And", {active, condition}, e.label + "/active"));
    return success();
  }
  /// `now` if the iteration is active, else `before`.
  LogicalResult keep(const std::string &before, std::string &now) const {
    if (active.empty() || now == before)
      return success();
    RankedTensorType a = e.type(now), b = e.type(before);
    if (!a || a != b)
      return e.n.fail("the data decides when the loop ends, and '{}' is a "
                      "sequence or differs in type or shape between iterations",
                      printable(now));
    DLC_GET(now, choose(e, active, now, before));
    return success();
  }
  bool isUsed() const { return !active.empty(); }

private:
  const BodyExpander &e;
  std::string active; // conjunction of conditions; empty: none yet
};

/// Sets the results of a loop: states, then the used scan outputs, stacked.
LogicalResult giveResults(BodyExpander &e,
                          const std::vector<std::string> &state,
                          const std::vector<std::vector<std::string>> &stacked,
                          const std::vector<int64_t> &axes) {
  const int states = int(state.size());
  for (int i = 0; i < states; ++i)
    DLC_CHECK(e.give(i, state[i]));
  for (auto [k, parts] : llvm::enumerate(stacked)) {
    if (!e.n.uses(states + k))
      continue;
    DLC_GET(auto whole, stackIterations(e, parts, axes[k], "the scan outputs"));
    DLC_CHECK(e.give(states + int(k), whole));
  }
  return success();
}

LogicalResult unrollLoop(const Node &n) {
  BodyExpander e(n);
  const auto &body = graphAttribute(n, "body");
  DLC_GET(auto most, mostTrips(n));
  const int states = int(n.inputs()) - 2,
            scans = body.output_size() - 1 - states;
  if (body.input_size() != states + 2 || scans < 0 ||
      n.proto.output_size() > states + scans)
    return n.fail(
        "its body has {} inputs and {} outputs, expected {} and at least {}",
        body.input_size(), body.output_size(), states + 2,
        std::max(states, n.proto.output_size()) + 1);
  std::vector<std::string> state;
  for (int i = 0; i < states; ++i)
    state.push_back(n.inputName(i + 2));
  std::string condition = n.inputName(1);
  std::vector<std::vector<std::string>> stacked(scans);
  Masked masked(e);
  for (int64_t i = 0; i < most; ++i) {
    if (!condition.empty()) {
      DLC_GET(auto more, goesOn(n, condition, most));
      if (more == More::No)
        break;
      if (more == More::Unknown && failed(masked.require(condition)))
        return failure();
    }
    const std::string prefix = iterationOf(e, i);
    DLC_CHECK(keepIteration(e, body));
    GraphNames names;
    names[body.input(0).name()] =
        e.define(prefix + "/iteration", HostTensor::scalar(DType::I64, i));
    names[body.input(1).name()] =
        condition.empty() ? e.define(prefix + "/condition",
                                     HostTensor::scalar(DType::Bool, 1))
                          : condition;
    for (int k = 0; k < states; ++k)
      names[body.input(k + 2).name()] = state[k];
    DLC_GET(auto results, e.run(body, prefix, names));
    condition = results[0];
    for (int k = 0; k < states; ++k)
      DLC_CHECK(masked.keep(state[k], results[1 + k]));
    std::copy_n(results.begin() + 1, states, state.begin());
    for (size_t k = 0; k < stacked.size(); ++k)
      stacked[k].push_back(results[1 + states + k]);
  }
  for (int k = 0; masked.isUsed() && k < scans; ++k)
    if (n.uses(states + k))
      return n.fail("the data decides when the loop ends, and so the size of "
                    "its scan output '{}'; expected states alone",
                    printable(n.proto.output(states + k)));
  return giveResults(e, state, stacked, std::vector<int64_t>(scans, 0));
}

//===--- Scan -------------------------------------------------------------===//

/// An attribute with `count` numbers, zeros by default.
FailureOr<std::vector<int64_t>> numberEach(const Node &n, const char *name,
                                           int count) {
  auto numbers = n.integers(name, std::vector<int64_t>(count, 0));
  if (int(numbers.size()) == count)
    return numbers;
  return n.fail("{} has {} numbers, expected {}", name, numbers.size(), count);
}

/// An input that Scan iterates over.
struct ScanInput {
  std::string name;
  int64_t axis, steps;
  bool backward;
};

FailureOr<std::vector<ScanInput>> scanInputs(const Node &n, int states,
                                             int count) {
  DLC_GET(auto axes, numberEach(n, "scan_input_axes", count));
  DLC_GET(auto directions, numberEach(n, "scan_input_directions", count));
  std::vector<ScanInput> all;
  for (int i = 0; i < count; ++i) {
    RankedTensorType type = n.type(states + i);
    if (!type)
      return n.fail("scan input {} is a sequence", i);
    DLC_GET(auto axis, n.checked(normalizeAxis(axes[i], type.getRank())));
    all.push_back({n.inputName(states + i), axis, type.getDimSize(axis),
                   directions[i] != 0});
    if (all[i].steps != all[0].steps)
      return n.fail("scan inputs have {} and {} steps, expected one number",
                    all[0].steps, all[i].steps);
  }
  return all;
}

/// Slice `at` of a scan input, without the axis.
FailureOr<std::string> stepOf(const BodyExpander &e, const ScanInput &input,
                              int64_t at, const std::string &prefix) {
  const Node &n = e.n;
  const std::string name = prefix + "/" + input.name;
  if (n.table.host(input.name)) {
    auto index = e.define(name + "/index", HostTensor::scalar(DType::I64, at));
    return e.apply("Gather", {input.name, index}, name, input.axis);
  }
  DLC_GET(Value x, n.table.value(input.name, n.loc));
  const std::string made = n.table.unusedName(name);
  Expr step = part(n.expr(x), input.axis, at, 1);
  n.table.define(made, squeezed(step, input.axis).v);
  return made;
}

bool fitsScan(const Node &n, const onnx::GraphProto &body, int count,
              int states) {
  return count >= 1 && states >= 0 && body.input_size() == int(n.inputs()) &&
         body.output_size() >= states &&
         n.proto.output_size() <= body.output_size();
}

LogicalResult unrollScan(const Node &n) {
  BodyExpander e(n);
  const auto &body = graphAttribute(n, "body");
  const int count = int(n.integer("num_scan_inputs", 0)),
            states = int(n.inputs()) - count, outputs = body.output_size();
  if (!fitsScan(n, body, count, states))
    return n.fail("num_scan_inputs is {}, with {} inputs, {} outputs, and a "
                  "body of {} inputs and {} outputs",
                  count, n.inputs(), n.proto.output_size(), body.input_size(),
                  outputs);
  DLC_GET(auto over, scanInputs(n, states, count));
  DLC_GET(auto axes, numberEach(n, "scan_output_axes", outputs - states));
  DLC_GET(auto directions,
          numberEach(n, "scan_output_directions", outputs - states));
  std::vector<std::string> state;
  for (int i = 0; i < states; ++i)
    state.push_back(n.inputName(i));
  std::vector<std::vector<std::string>> stacked(outputs - states);
  const int64_t steps = over.front().steps;
  for (int64_t i = 0; i < steps; ++i) {
    const std::string prefix = iterationOf(e, i);
    DLC_CHECK(keepIteration(e, body));
    GraphNames names;
    for (int k = 0; k < states; ++k)
      names[body.input(k).name()] = state[k];
    for (auto [k, input] : llvm::enumerate(over)) {
      const int64_t at = input.backward ? steps - 1 - i : i;
      DLC_GET(auto part, stepOf(e, input, at, prefix));
      names[body.input(states + int(k)).name()] = part;
    }
    DLC_GET(auto results, e.run(body, prefix, names));
    std::copy_n(results.begin(), states, state.begin());
    for (size_t k = 0; k < stacked.size(); ++k)
      stacked[k].push_back(results[states + k]);
  }
  for (auto [k, parts] : llvm::enumerate(stacked))
    if (directions[k])
      std::reverse(parts.begin(), parts.end());
  return giveResults(e, state, stacked, axes);
}

} // namespace

void addControlFlowRows(Rows &rows) {
  rows["If"] = ifElse;
  rows["Loop"] = unrollLoop;
  rows["Scan"] = unrollScan;
}

} // namespace dlc::import
