// SPDX-License-Identifier: Apache-2.0
// Sequences of tensors: lists of known length whose elements are computed.
#include "compiler/import/rows/Rows.h"
#include "onnx-ml.pb.h"

using namespace mlir;

namespace dlc::import {

LogicalResult giveSequence(const Node &n, std::vector<Value> parts) {
  constexpr size_t kPartBytes = 2 * sizeof(Value); // copies included
  DLC_CHECK(n.check(n.table.budget().keep(parts.size() * kPartBytes,
                                          "a sequence of tensors")));
  n.table.define(n.proto.output(0), std::move(parts));
  return success();
}

namespace sequences {
namespace {

using Parts = std::vector<Value>;

/// Input `i`; reports an error and returns null if it is no sequence.
const Parts *sequenceOf(const Node &n, size_t i) {
  const Parts *parts = n.has(i) ? n.table.sequence(n.inputName(i)) : nullptr;
  if (!parts)
    n.fail("input '{}' is no sequence", n.inputName(i));
  return parts;
}

/// Input `i` as one of `count` positions; negative ones are from the end.
FailureOr<size_t> placeOf(const Node &n, size_t i, size_t count, size_t most) {
  DLC_GET(auto at, n.integers(i, "the position"));
  const auto places = int64_t(count);
  if (at.size() != 1)
    return n.fail("the position has {} numbers, expected one", at.size());
  const int64_t place = at.front();
  if (place < -places || place > int64_t(most))
    return n.fail("position {} is outside of a sequence of {}", place, places);
  return size_t(place < 0 ? place + places : place);
}

/// The index of an existing element.
FailureOr<size_t> partOf(const Node &n, size_t i, size_t count) {
  if (count)
    return placeOf(n, i, count, count - 1);
  return n.fail("the sequence is empty");
}

LogicalResult empty(const Node &n) { return giveSequence(n, {}); }

LogicalResult construct(const Node &n) {
  Parts parts;
  for (size_t i = 0; i < n.inputs(); ++i) {
    parts.push_back(n.in(i));
    if (!parts.back())
      return failure();
  }
  return giveSequence(n, std::move(parts));
}

LogicalResult at(const Node &n) {
  const Parts *parts = sequenceOf(n, 0);
  if (!parts)
    return failure();
  auto place = partOf(n, 1, parts->size());
  return failed(place) ? failure() : n.result((*parts)[*place]);
}

/// Inserts before a position, or at the end.
LogicalResult insert(const Node &n) {
  const Parts *from = sequenceOf(n, 0);
  DLC_GET(Value part, from ? n.in(1) : Value());
  FailureOr<size_t> place = from->size();
  if (n.has(2))
    place = placeOf(n, 2, from->size(), from->size());
  DLC_CHECK(place);
  Parts parts;
  parts.reserve(from->size() + 1); // an insert could allocate twice as much
  parts = *from;
  parts.insert(parts.begin() + ptrdiff_t(*place), part);
  return giveSequence(n, std::move(parts));
}

LogicalResult erase(const Node &n) {
  const Parts *from = sequenceOf(n, 0);
  if (!from)
    return failure();
  if (from->empty())
    return n.fail("the sequence is empty");
  Parts parts = *from;
  FailureOr<size_t> place = parts.size() - 1;
  if (n.has(1))
    place = partOf(n, 1, parts.size());
  DLC_CHECK(place);
  parts.erase(parts.begin() + ptrdiff_t(*place));
  return giveSequence(n, std::move(parts));
}

LogicalResult length(const Node &n) {
  const Parts *parts = sequenceOf(n, 0);
  if (!parts)
    return failure();
  return n.result(0, HostTensor::scalar(DType::I64, double(parts->size())));
}

/// Along an existing dimension, or a new one.
LogicalResult concat(const Node &n) {
  const Parts *from = sequenceOf(n, 0);
  if (!from)
    return failure();
  if (from->empty())
    return n.fail("the sequence is empty");
  const bool isNew = n.integer("new_axis", 0) != 0;
  const auto rank = int64_t(shapeOf(from->front()).size());
  DLC_GET(auto axis, n.axis("axis", 0, rank + isNew));
  Parts parts = *from;
  for (Value &part : parts) {
    Shape shape = shapeOf(part);
    if (int64_t(shape.size()) != rank)
      return n.fail(
          "the sequence has tensors of rank {} and {}, expected one rank", rank,
          shape.size());
    if (isNew)
      shape.insert(shape.begin() + axis, 1);
    part = n.reshape(part, shape);
  }
  return n.result(n.make<ir::ConcatOp>(ValueRange(parts), uint64_t(axis)));
}

} // namespace
} // namespace sequences

void addSequenceRows(Rows &rows) {
  rows["SequenceEmpty"] = sequences::empty;
  rows["SequenceConstruct"] = sequences::construct;
  rows["SequenceAt"] = sequences::at;
  rows["SequenceInsert"] = sequences::insert;
  rows["SequenceErase"] = sequences::erase;
  rows["SequenceLength"] = sequences::length;
  rows["ConcatFromSequence"] = sequences::concat;
}

} // namespace dlc::import
