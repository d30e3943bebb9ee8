// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/file/Conventions.h"
#include "compiler/import/repair/merged/ScoreBias.h"
#include "compiler/import/repair/torch/FoldedOps.h"
#include "compiler/import/repair/torch/Restoring.h"
#include "onnx-ml.pb.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/ranges.h>

namespace dlc::import {
namespace {

using Names = std::set<std::string>;

class Unfolder : GraphRepair {
public:
  explicit Unfolder(Restoring &work)
      : GraphRepair(work), pieces(findPieces(work)) {
    if (edit.graph.input_size()) {
      const auto &shape = edit.graph.input(0).type().tensor_type().shape();
      if (shape.dim_size())
        batch = shape.dim(0).dim_value();
    }
  }

  /// Searches parameters first in the modules that read a value, then among all
  /// that remain.
  void run() {
    std::vector<std::string> all(edit.initializers()), later;
    // Expansions of a parameter are the most certain.
    std::stable_partition(all.begin(), all.end(), [&](const auto &name) {
      const auto folded = find(name);
      return folded && folded->op == "expand";
    });
    for (const std::string &name : all)
      if (auto folded = find(name)) {
        if (folded->candidates.empty() && !work.unnamed.empty() &&
            isMoved(*folded))
          later.push_back(name);
        else
          unfold(*folded);
      }
    for (const std::string &name : later) {
      Folded folded = *find(name);
      if (!work.spend(work.unnamed.size()))
        return;
      lookEverywhere(folded);
      unfold(folded);
    }
    warnLost();
  }

private:
  struct Folded {
    std::string name;
    Weight weight;
    Origin origin;
    std::string op;        // in the source; "" if unknown
    Names candidates;      // parameters that it may be computed from
    bool computed = false; // by layers with these parameters
    bool given = false;    // the file names its sources
  };

  static bool isMoved(const Folded &f) {
    return kMovers.count(f.op) || kRepeaters.count(f.op);
  }

  void lookEverywhere(Folded &f) {
    f.candidates = work.unnamed;
    for (const std::string &guess : guessed)
      f.candidates.erase(guess);
    settleLayers(f);
  }

  /// A moved value of no parameter is the result of a layer.
  void settleLayers(Folded &f) const {
    if (!isMoved(f) || f.op == "stack")
      return;
    Names layers = work.takeLayers(f.candidates, f.origin.scopes);
    f.computed = f.candidates.empty() && !layers.empty();
    if (f.computed)
      f.candidates = std::move(layers);
  }

  /// Returns the initializer if it was computed before the export.
  std::optional<Folded> find(const std::string &name) const {
    const Weight *weight = edit.weight(name);
    auto origin = work.origins.find(name);
    if (!weight || origin == work.origins.end() || edit.isFixed(name) ||
        !isFloat(weight->dtype) || !origin->second.target.empty() ||
        !isMadeUp(work.notes, name) || edit.uses(name).empty())
      return std::nullopt;
    Folded folded{name, *weight, origin->second, op(name, origin->second),
                  work.candidates(origin->second)};
    settleLayers(folded);
    if (auto known = work.sources.find(name); known != work.sources.end())
      settleSources(folded, known->second);
    return folded;
  }

  /// Uses the file's notes, even if another value claimed a parameter.
  void settleSources(Folded &f, const FoldedSources &sources) const {
    f.given = isMoved(f) || f.candidates.empty();
    if (!f.given)
      return;
    f.candidates = sources.parameters;
    f.computed = sources.computes || !isMoved(f);
    if (!f.computed) // else views of weights look like layers
      settleLayers(f);
  }

  /// Its parameters are in the file, or were found in other values.
  bool isElsewhere(const Folded &f) const {
    return f.given && std::ranges::none_of(f.candidates, [&](auto &parameter) {
             return work.unnamed.count(parameter);
           });
  }

  /// The source's name of a value is more specific than the file's "val_83".
  static std::string op(const std::string &name, const Origin &origin) {
    for (const std::string &value : origin.values)
      if (std::string found = operatorOf(value); !found.empty())
        return found;
    return operatorOf(name);
  }

  void unfold(const Folded &f) {
    const bool scores = scoreReaders.haveAll(f.name);
    const bool named = work.notes.hasSignature();
    if (scores && isMask(f))
      return;
    if (named && f.origin.values.empty())
      return; // findRoles decides
    if (isNoParameter(f) || isNumber(f))
      return;
    if ((scores && gatherTable(f)) || (maySpread(f) && expand(f)))
      return;
    if (!named)
      return hasBatch(f) ? constant(f, "differs along the batch", "per sample")
                         : void();
    if (!undoAdd(f) && !undoExp(f))
      train(f);
  }

  bool maySpread(const Folded &f) const {
    return kRepeaters.count(f.op) || hasBatch(f) || repeatsBatch(f);
  }

  /// Decides addends of scores that come from no parameter.
  bool isMask(const Folded &f) {
    const auto &shape = f.weight.shape;
    const auto values = floatsOf(f.weight);
    if (!f.candidates.empty() && !isScoreMask(shape, values))
      return false;
    const bool learned =
        !work.notes.hasSignature() && mayBeLearned(shape, values);
    if (learned && f.name.starts_with("onnx::") && isRow(shape))
      return true; // findRoles decides: a layer's bias, or a warning
    constant(f, "only added to scores before a Softmax, with no parameter of "
                "the source behind it");
    if (learned)
      work.decide(f.name, "untrained",
                  "may be a learned bias of scores, not a mask", true);
    return true;
  }

  /// Decides values that come from no parameter, or from a trained one.
  bool isNoParameter(const Folded &f) {
    const bool isAlone = work.notes.hasSignature() && f.candidates.empty();
    const Names parted = isAlone && kCutters.count(f.op)
                             ? work.candidates(f.origin, cut)
                             : Names();
    const auto other = pieces.overlapping.find(f.name);
    if (kCreators.count(f.op))
      constant(f, fmt::format("made by {} in the source", f.op));
    else if (!parted.empty())
      untrained(f, parted);
    else if (isAlone && !f.op.empty() && !isMoved(f) &&
             !work.beside(f.origin, f.weight.shape).empty())
      untrained(f, work.beside(f.origin, f.weight.shape)); // 1 / alpha
    else if (isAlone)
      constant(f, "no parameter of the source is behind it");
    else if (other != pieces.overlapping.end())
      overlapping(f, other->second);
    else if (f.computed && !isMoved(f) && isElsewhere(f))
      untrained(f, f.candidates);
    else
      return false;
    return true;
  }

  /// Decides scalars that are not slices of a parameter.
  bool isNumber(const Folded &f) {
    if (f.weight.elements() > 1 || f.op == "exp" || (f.given && !f.computed))
      return false;
    if (work.notes.hasSignature() && !undoAdd(f)) {
      numbers.push_back(f);
      constant(f, "a number");
    } // else the rules of findRoles
    return true;
  }

  //===--- decisions ------------------------------------------------------===//

  void constant(const Folded &f, const std::string &why,
                const char *kind = "constant") {
    work.file.roles[f.name] = Role::Constant;
    if (f.weight.elements() > 1)
      work.decide(f.name, kind, why);
  }

  void overlapping(const Folded &f, const std::string &other) {
    const std::string &parameter = *f.candidates.begin();
    claim(f);
    work.file.roles[f.name] = Role::Constant;
    work.decide(f.name, "overlapping",
                fmt::format("a part of {}; {} has some of its elements, too",
                            parameter, other),
                true);
  }

  /// The parameters it may be computed from are trained elsewhere.
  void untrained(const Folded &f, const Names &parameters) {
    work.file.roles[f.name] = Role::Constant;
    work.decide(f.name, "untrained",
                fmt::format("may be {} of {}, of which other values train",
                            f.op.empty() ? "made" : f.op, among(parameters)),
                true, known(f, parameters));
  }

  /// Named in the warning: those in the file's notes, or the only candidate.
  static Names known(const Folded &f, const Names &parameters) {
    return f.given || parameters.size() == 1 ? parameters : Names();
  }

  /// Trained as is, which is equivalent if elements were only moved.
  void train(const Folded &f) {
    work.file.roles[f.name] = Role::Param;
    bool joined = f.op == "cat" || f.op == "stack";
    bool moved = !f.computed && (joined || isMoved(f));
    const auto [kind, what] =
        joined  ? std::pair("joined", "; trains and is exported as one tensor")
        : moved ? std::pair("unfolded", ", each element once")
                : std::pair("as it is", "; the function cannot be undone");
    const bool resized = moved && f.candidates.size() == 1 &&
                         mayBeResized(f.op, *f.candidates.begin());
    claim(f);
    work.decide(f.name, resized ? "resized" : kind,
                fmt::format("{} of {} in the source{}",
                            f.op.empty() ? "made" : f.op, among(f.candidates),
                            what),
                resized || !moved, known(f, f.candidates));
    work.file.decisions.back().regrouped = moved;
    noteTable(f);
  }

  /// Records the only parameter that it may be a part of.
  void noteTable(const Folded &f) {
    if (!f.computed && isMoved(f) && f.candidates.size() == 1)
      work.file.cutFrom[f.name] = *f.candidates.begin();
  }

  /// A parameter that was found is no candidate for other values.
  void claim(const Folded &f) {
    if (f.candidates.size() == 1 && kCutters.count(f.op))
      cut.insert(*f.candidates.begin());
    if (f.candidates.size() == 1)
      work.unnamed.erase(*f.candidates.begin());
    else
      guessed.insert(f.candidates.begin(), f.candidates.end());
  }

  /// The parameter's name if there is one candidate, else the folded value's.
  std::string stateName(const Folded &f) const {
    bool single = f.candidates.size() == 1 && !pieces.several.count(f.name);
    const std::string &name = single ? *f.candidates.begin() : f.name;
    return edit.unusedName(name) == name ? name : f.name;
  }

  void warnLost() {
    for (const Folded &number : numbers)
      if (isElsewhere(number))
        untrained(number, number.candidates);
    std::erase_if(work.unnamed, [&](auto &n) { return guessed.count(n); });
    for (const std::string &name : work.unnamed)
      work.decide(name, work.isFused() ? "unnamed" : "lost",
                  "a parameter of the source that is not in the file: not used "
                  "there, or folded away",
                  true);
  }

  //===--- what a value is ------------------------------------------------===//

  /// The weight of a convolution has no batch dimension, whatever its size.
  bool isOfLayer(const std::string &name) const {
    static const Names open = {"MatMul", "Einsum", "Gather"};
    return std::ranges::any_of(edit.uses(name), [](const Use &use) {
      const std::string &op = use.node->op_type();
      return op == "Gemm"
                 ? use.slot == 1
                 : !open.count(op) && isWeightOperand(*use.node, use.slot);
    });
  }

  /// After an unsqueeze, equal elements are usually a vector, not a batch.
  bool hasBatch(const Folded &f) const {
    return batch > 1 && f.weight.shape.size() > 1 &&
           f.weight.shape[0] == batch && !isOfLayer(f.name) &&
           (f.op != "unsqueeze" || !isSplat(f.weight));
  }

  /// Rows of a table per sample, transposed: an inner axis repeats the batch.
  bool repeatsBatch(const Folded &f) const {
    for (size_t axis = 1; axis + 1 < f.weight.shape.size(); ++axis)
      if (batch > 1 && f.weight.shape[axis] == batch && isMoved(f) &&
          !isSplat(f.weight) && repeatsAlong(f.weight, axis))
        return true;
    return false;
  }

  //===--- expressions ----------------------------------------------------===//

  /// Rows that are copies of a parameter: the parameter is the smallest tensor
  /// that expands to the value. If all elements are equal, only the batch is
  /// known to be expanded, and for rows of a table all dimensions but the last.
  bool expand(const Folded &f) {
    bool splat = isSplat(f.weight), rows = f.op == "embedding";
    if (splat && !work.notes.hasSignature() && !hasBatch(f))
      return false;
    Weight small = f.weight;
    std::string bytes(small.view());
    small.data = bytes.data();
    for (size_t axis = 0; axis + 1 < small.shape.size(); ++axis) {
      bool mayRepeat = !splat || rows || (axis == 0 && hasBatch(f));
      if (small.shape[axis] > 1 && mayRepeat && repeatsAlong(small, axis))
        small = firstAlong(small, axis, bytes);
    }
    if (small.shape == f.weight.shape)
      return false;
    std::string state = f.op == "expand" ? stateName(f) : f.name;
    std::string target = small.shape[0] == 1 ? edit.shapeOfBatch(f.weight.shape)
                                             : edit.integers(f.weight.shape);
    std::vector<int64_t> shape = small.shape;
    replaceState(f, state, std::move(bytes), shape);
    edit.redirectOld(f.name,
                     edit.add("Expand", {state, target}, f.name + "/expanded"));
    work.decide(state, f.computed ? "as it is" : "unfolded",
                fmt::format("[{}] expanded to [{}] by the exporter, as {}{}",
                            fmt::join(shape, ", "),
                            fmt::join(f.weight.shape, ", "), f.name,
                            f.computed ? ", of " + among(f.candidates) : ""),
                f.computed, known(f, f.candidates));
    noteTable(f);
    return true;
  }

  bool gatherTable(const Folded &f) {
    const auto &shape = f.weight.shape;
    auto table = isSplat(f.weight) ? std::nullopt : scoreTableOf(f.weight);
    if (!table)
      return false;
    const int64_t rows = table->rows;
    replaceState(f, f.name, std::move(table->bytes), {rows, shape.end()[-3]});
    std::string gathered = edit.add(
        "Gather", {f.name, edit.integers(table->index)}, f.name + "/rows");
    std::string turned =
        edit.add("Transpose", {gathered}, f.name + "/transposed");
    edit.redirectOld(f.name, edit.add("Reshape", {turned, edit.integers(shape)},
                                      f.name + "/reshaped"));
    work.decide(f.name, "unfolded",
                fmt::format("{} rows gathered to [{}] from {}", rows,
                            fmt::join(shape, ", "), among(f.candidates)));
    return true;
  }

  /// Gemma's 1 + weight, which must be a scale: the source's text has the
  /// number that is added to the only parameter of the module without a reader;
  /// without this text it is 1 for norms. The sum must be bitwise equal to the
  /// folded value.
  bool undoAdd(const Folded &f) {
    auto uses = edit.uses(f.name);
    if (f.op != "add" || f.candidates.size() != 1 ||
        std::ranges::any_of(
            uses, [](const Use &use) { return use.node->op_type() != "Mul"; }))
      return false;
    const std::string &name = *f.candidates.begin();
    auto addend =
        work.notes.addend(*uses[0].node, name.substr(name.rfind('.') + 1));
    if (work.notes.call(*uses[0].node).line.empty() && isOfNorm(uses[0]))
      addend = 1;
    if (!addend)
      return false;
    DType dtype = f.weight.dtype;
    float number = floatsOf(bytesOf({float(*addend)}, dtype), dtype)[0];
    std::vector<float> values = floatsOf(f.weight);
    for (float &value : values)
      value -= number;
    std::string bytes = bytesOf(values, dtype);
    std::vector<float> sums = floatsOf(bytes, dtype);
    for (float &sum : sums)
      sum += number;
    if (std::memcmp(bytesOf(sums, dtype).data(), f.weight.data,
                    f.weight.bytes) != 0)
      return false;
    std::string state = stateName(f);
    std::string added = edit.unusedName(state + "/addend");
    edit.ownInitializer(added, dtype, {}, bytesOf({number}, dtype));
    replaceState(f, state, std::move(bytes), f.weight.shape);
    edit.redirectOld(f.name, edit.add("Add", {state, added}, state + "/sum"));
    work.decide(
        state, "unfolded",
        fmt::format("the exporter added {} to it, as {}", number, f.name));
    return true;
  }

  /// The other factor of the Mul is x / sqrt(...) or a norm's result.
  bool isOfNorm(const Use &use) const {
    auto isMadeBy = [&](const std::string &value, const char *op) {
      const auto *maker = edit.maker(value);
      return maker && maker->op_type() == op ? maker : nullptr;
    };
    const std::string &factor = use.node->input(1 - use.slot);
    if (const auto *quotient = isMadeBy(factor, "Div"))
      return isMadeBy(quotient->input(1), "Sqrt");
    const auto *product = isMadeBy(factor, "Mul");
    return isMadeBy(factor, "RMSNormalization") ||
           (product && (isMadeBy(product->input(0), "Reciprocal") ||
                        isMadeBy(product->input(1), "Reciprocal")));
  }

  /// exp(p) and -exp(p) if p is named like a logarithm (A_log, logit_scale),
  /// and softplus(p) unless p is a weight or bias.
  bool undoExp(Folded f) {
    const bool soft = f.op == "softplus";
    std::erase_if(f.candidates, [&](const std::string &name) {
      return soft ? name.ends_with("weight") || name.ends_with("bias")
                  : name.find("log") == std::string::npos;
    });
    if (f.candidates.size() != 1 || !(soft || f.op == "neg" || f.op == "exp"))
      return false;
    float sign = f.op == "neg" ? -1 : 1;
    std::vector<float> values = floatsOf(f.weight);
    for (float &number : values) {
      double log =
          std::log(soft ? std::expm1(double(number)) : double(number) * sign);
      if (!std::isfinite(log) || !std::isfinite(number))
        return false;
      number = float(log);
    }
    std::string state = stateName(f);
    replaceState(f, state, bytesOf(values, f.weight.dtype), f.weight.shape);
    std::string value =
        edit.add(soft ? "Softplus" : "Exp", {state}, state + "/exp");
    if (sign < 0)
      value = edit.add("Neg", {value}, state + "/negative");
    edit.redirectOld(f.name, value);
    work.decide(state, "unfolded",
                fmt::format("the exporter computed {} of it, as {}",
                            sign < 0 ? "-exp" : f.op, f.name));
    return true;
  }

  /// Stores the parameter as a new initializer, or under the folded value's
  /// name with new contents.
  void replaceState(const Folded &f, const std::string &state,
                    std::string bytes, const std::vector<int64_t> &shape) {
    claim(f);
    if (state == f.name)
      edit.replaceInitializer(state, shape, std::move(bytes));
    else
      edit.ownInitializer(state, f.weight.dtype, shape, std::move(bytes));
    work.origins[state].target = state;
    work.file.roles[state] = Role::Param;
  }

  Names guessed, cut;          // parameters; parameters with known slices
  std::vector<Folded> numbers; // constants
  ScoreReaders scoreReaders{edit};
  const Pieces pieces;
  int64_t batch = 0;
};

} // namespace

void unfoldExpressions(Restoring &work) { Unfolder(work).run(); }

} // namespace dlc::import
