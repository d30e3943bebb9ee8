// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/repair/torch/Restoring.h"
#include "onnx-ml.pb.h"

namespace dlc::import {
namespace {

/// Consecutive ascending numbers.
bool isRange(const std::vector<int64_t> &rows) {
  for (size_t i = 1; i < rows.size(); ++i)
    if (rows[i] != rows[0] + int64_t(i))
      return false;
  return true;
}

/// Records how the file's initializer is computed from `source`.
Replaced recordOf(Restoring &work, const std::string &name,
                  const std::string &source, const Arrangement &how) {
  GraphEdit &edit = work.edit;
  const Weight &held = *edit.weight(source);
  Replaced r{name,       edit.typeOf(name), edit.weight(name)->shape,
             held.shape, how.perm,          {},
             {}};
  if (how.kind != Arrangement::Rows) {
    r.pieces.push_back({source, 0, held.elements(), held.shape});
    return r;
  }
  r.from = r.shape;
  for (int64_t row : how.rows)
    r.pieces.push_back(
        {source, row * held.shape.back(), held.shape.back(), held.shape});
  return r;
}

} // namespace

void becomes(Restoring &work, const std::string &name,
             const std::string &source, const Arrangement &how) {
  if (name == source)
    return;
  Replaced record = recordOf(work, name, source, how);
  bool known = true;
  for (const Use &use : work.edit.uses(name)) {
    known &= use.node->output_size() > 0 && !work.edit.isNew(*use.node);
    auto through = work.through.find({use.node, use.slot});
    if (known)
      record.uses.push_back(
          {use.node->output(0), use.slot,
           through == work.through.end() ? name : through->second, ""});
  }
  const std::string now = arranged(work, source, how, name);
  replaceUses(work, name, now);
  for (Replaced::Use &use : record.uses)
    use.now = now;
  if (known)
    work.file.replaced.push_back(std::move(record));
}

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
  if (how.kind == Arrangement::Transpose)
    return edit.add("Transpose", {source}, source + "/transposed",
                    {{"perm", how.perm}});
  std::string value = source;
  if (how.kind == Arrangement::Rows) {
    if (own.size() != 2)
      value = edit.add("Reshape", {source, edit.integers({-1, own.back()})},
                       source + "/table");
    value = isRange(how.rows)
                ? edit.add("Slice",
                           {value, edit.integers({how.rows.front()}),
                            edit.integers({how.rows.back() + 1}),
                            edit.integers({0})},
                           source + "/rows")
                : edit.add("Gather", {value, edit.integers(how.rows)},
                           source + "/rows");
    if (shape.size() == 2)
      return value;
  }
  return edit.add("Reshape", {value, edit.integers(shape)},
                  source + "/reshaped");
}

} // namespace dlc::import
