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

/// Input 0.
FailureOr<const Parts *> given(const Node &n) {
  if (const Parts *parts = n.table.sequence(n.inputName(0)))
    return parts;
  return n.fail("input '{}' is no sequence", n.inputName(0));
}
FailureOr<const Parts *> givenParts(const Node &n) {
  auto parts = given(n);
  if (succeeded(parts) && (*parts)->empty())
    return n.fail("the sequence is empty");
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
  DLC_GET(const Parts *parts, givenParts(n));
  DLC_GET(auto place, placeOf(n, 1, parts->size(), parts->size() - 1));
  return n.result((*parts)[place]);
}

/// Inserts before a position, or at the end.
LogicalResult insert(const Node &n) {
  DLC_GET(const Parts *from, given(n));
  DLC_GET(Value part, n.in(1));
  size_t place = from->size();
  if (n.has(2)) {
    DLC_GET(place, placeOf(n, 2, from->size(), from->size()));
  }
  Parts parts;
  parts.reserve(from->size() + 1); // an insert could allocate twice as much
  parts = *from;
  parts.insert(parts.begin() + ptrdiff_t(place), part);
  return giveSequence(n, std::move(parts));
}

LogicalResult erase(const Node &n) {
  DLC_GET(const Parts *from, givenParts(n));
  Parts parts = *from;
  size_t place = parts.size() - 1;
  if (n.has(1)) {
    DLC_GET(place, placeOf(n, 1, parts.size(), parts.size() - 1));
  }
  parts.erase(parts.begin() + ptrdiff_t(place));
  return giveSequence(n, std::move(parts));
}

LogicalResult length(const Node &n) {
  DLC_GET(const Parts *parts, given(n));
  return n.result(0, HostTensor::scalar(DType::I64, double(parts->size())));
}

/// Along an existing dimension, or a new one.
LogicalResult concat(const Node &n) {
  DLC_GET(const Parts *from, givenParts(n));
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
