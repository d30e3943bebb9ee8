#include "compiler/import/restore/Restoring.h"
#include "onnx-ml.pb.h"
#include <cstring>
#include <fmt/ranges.h>
#include <numeric>

namespace dlc::import {
namespace {

/// The call of the source computes with the transposed matrix, as aten.linear
/// does, and the node with the matrix itself.
bool isStoredTransposed(const TorchNotes &notes, const Use &use,
                        const Weight &weight) {
  if (notes.call(*use.node).target != "linear" || use.slot != 1 ||
      weight.shape.size() != 2)
    return false;
  for (const auto &attribute : use.node->attribute())
    if (attribute.name() == "transB" && attribute.i())
      return false;
  return use.node->op_type() == "MatMul" || use.node->op_type() == "Gemm";
}

std::string transposedBytes(const Weight &matrix) {
  size_t size = sizeOf(matrix.dtype), rows = size_t(matrix.shape[0]),
         columns = size_t(matrix.shape[1]);
  std::string bytes(matrix.bytes, '\0');
  const char *from = static_cast<const char *>(matrix.data);
  for (size_t row = 0; row < rows; ++row)
    for (size_t column = 0; column < columns; ++column)
      std::memcpy(bytes.data() + (column * rows + row) * size,
                  from + (row * columns + column) * size, size);
  return bytes;
}

class Adopter {
public:
  explicit Adopter(Restoring &work) : work(work), edit(work.edit) {}

  void run() {
    for (const std::string &name : std::vector(edit.initializers())) {
      auto origin = work.origins.find(name);
      if (origin == work.origins.end() || origin->second.target.empty() ||
          origin->second.target == name || origin->second.buffer ||
          edit.isFixed(name) || !edit.weight(name))
        continue;
      adopt(name, origin->second.target, *edit.weight(name));
    }
    tieCopies();
  }

private:
  void adopt(const std::string &name, const std::string &target,
             const Weight weight) {
    if (const Weight *known = edit.weight(target)) {
      auto how = arrangementOf(*known, weight);
      if (!how)
        return work.decide(name, "as it is",
                           fmt::format("is {} in the source, but differs from "
                                       "it in value",
                                       target),
                           true);
      replaceUses(work, name, arranged(work, target, *how, name));
      return work.decide(name, "tied",
                         "is the same parameter as " + target + text(*how));
    }
    if (edit.unusedName(target) != target)
      return;
    auto uses = edit.uses(name);
    bool transposed =
        !uses.empty() && isStoredTransposed(work.notes, uses[0], weight);
    work.origins[target] = work.origins[name];
    if (!transposed) {
      edit.addInitializer(target, weight);
      replaceUses(work, name, target);
      return work.decide(target, "named",
                         "after the source; the file has it as " + name);
    }
    edit.ownInitializer(target, weight.dtype,
                        {weight.shape[1], weight.shape[0]},
                        transposedBytes(weight));
    replaceUses(
        work, name,
        arranged(work, target, {Arrangement::Transpose, {1, 0}, {}}, name));
    work.decide(target, "unfolded",
                fmt::format("the exporter stored it transposed, as {}", name));
  }

  static std::string text(const Arrangement &how) {
    switch (how.kind) {
    case Arrangement::Transpose:
      return ", transposed";
    case Arrangement::Reshape:
      return ", in another shape";
    case Arrangement::Rows:
      return fmt::format(", {} of its rows", how.rows.size());
    default:
      return "";
    }
  }

  /// An exporter that folds leaves copies of what is still there: the tied head
  /// beside its embedding, rows of a table beside the table. Two tensors with
  /// names of their own are one only if one is the other transposed and the
  /// file does not say what its parameters are.
  void tieCopies() {
    std::vector<std::string> copies, sources;
    CopyFinder finder;
    for (const std::string &name : edit.initializers()) {
      const Weight *weight = edit.weight(name);
      auto origin = work.origins.find(name);
      if (!weight || edit.isFixed(name) || origin == work.origins.end() ||
          !isFloat(weight->dtype) || origin->second.buffer ||
          edit.uses(name).empty())
        continue;
      bool madeUp = isMadeUp(work.notes, name);
      if (!madeUp)
        sources.push_back(name);
      if (madeUp || (!work.notes.hasSignature() && weight->shape.size() == 2)) {
        copies.push_back(name);
        finder.expect(*weight, madeUp);
      }
    }
    for (const std::string &name : sources)
      finder.add(name, *edit.weight(name));
    for (const std::string &name : copies)
      if (auto found = finder.find(*edit.weight(name)))
        tie(name, *found);
  }

  void tie(const std::string &name, const CopyFinder::Found &found) {
    if (name == found.name || (!isMadeUp(work.notes, name) &&
                               found.how.kind != Arrangement::Transpose))
      return;
    replaceUses(work, name, arranged(work, found.name, found.how, name));
    work.decide(name, "tied",
                "holds the values of " + found.name + text(found.how));
  }

  Restoring &work;
  GraphEdit &edit;
};

/// Consecutive ascending numbers.
bool isRange(const std::vector<int64_t> &rows) {
  for (size_t i = 1; i < rows.size(); ++i)
    if (rows[i] != rows[0] + int64_t(i))
      return false;
  return true;
}

} // namespace

void adoptParameters(Restoring &work) { Adopter(work).run(); }

void replaceUses(Restoring &work, const std::string &from,
                 const std::string &to) {
  if (from != to)
    for (const Use &use : work.edit.uses(from))
      work.edit.redirect(use, to);
}

std::string arranged(Restoring &work, const std::string &source,
                     const Arrangement &how, const std::string &copy) {
  GraphEdit &edit = work.edit;
  const std::vector<int64_t> shape = edit.weight(copy)->shape;
  const std::vector<int64_t> own = edit.weight(source)->shape;
  if (how.kind == Arrangement::Same)
    return source;
  if (how.kind == Arrangement::Transpose) {
    std::string value = edit.unusedName(source + "/transposed");
    auto &perm = *edit.addNode("Transpose", {source}, value).add_attribute();
    perm.set_name("perm");
    perm.set_type(onnx::AttributeProto::INTS);
    for (int64_t axis : how.perm)
      perm.add_ints(axis);
    return value;
  }
  std::string value = source;
  if (how.kind == Arrangement::Rows) {
    std::string table = source;
    if (own.size() != 2) {
      table = edit.unusedName(source + "/table");
      edit.addNode("Reshape", {source, edit.integers({-1, own.back()})}, table);
    }
    value = edit.unusedName(source + "/rows");
    if (isRange(how.rows))
      edit.addNode("Slice",
                   {table, edit.integers({how.rows.front()}),
                    edit.integers({how.rows.back() + 1}), edit.integers({0})},
                   value);
    else
      edit.addNode("Gather", {table, edit.integers(how.rows)}, value);
    if (shape.size() == 2)
      return value;
  }
  std::string shaped = edit.unusedName(source + "/reshaped");
  edit.addNode("Reshape", {value, edit.integers(shape)}, shaped);
  return shaped;
}

} // namespace dlc::import
