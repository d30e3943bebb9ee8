// SPDX-License-Identifier: Apache-2.0
// gather: rows of a table by index, and scatter_add, its gradient; that by the
// rows that have updates, unique_rows, and put_rows, which replaces rows.
#include "runtime/device/cpu/Dispatch.h"
#include "runtime/device/cpu/Kinds.h"
#include "runtime/plan/Attributes.h"

#include <cstring>

namespace dlc {
namespace {

constexpr int64_t kGatherGrain = 8 << 10; // elements worth a thread
constexpr int64_t kScatterBlock = 64;     // columns per task

// A table [outer, size, inner], indices into `size`, and the rows [outer,
// count, inner] that they select.
struct Lookup {
  std::string name;
  const int64_t *indices;
  int64_t outer, size, inner, count;
};

// `table` and `picked` are gather's data and y, or scatter_add's y and updates.
Result<Lookup> lookupOf(const CommandSpec &spec, const Operand &table,
                        const Operand &indices, const Operand &picked) {
  DLC_TRY(expectType(spec, indices, {plan::I64}, "indices"));
  const Shape shape = shapeOf(table), index = shapeOf(indices);
  int64_t axis = plan::intAttribute(spec.command, "axis", 0);
  const int64_t rank = static_cast<int64_t>(shape.size());
  axis += axis < 0 ? rank : 0;
  if (axis < 0 || axis >= rank)
    return corrupt(
        spec, fmt::format("axis is {}, but the table has rank {}", axis, rank));
  Lookup lookup{describe(spec),
                reinterpret_cast<const int64_t *>(indices.data),
                1,
                shape[axis],
                1,
                elements(indices)};
  Shape expected(shape.begin(), shape.begin() + axis);
  expected.insert(expected.end(), index.begin(), index.end());
  expected.insert(expected.end(), shape.begin() + axis + 1, shape.end());
  DLC_TRY(expectShape(spec, picked, expected, "the rows"));
  for (int64_t i = 0; i < rank; ++i)
    (i < axis ? lookup.outer : lookup.inner) *= i == axis ? 1 : shape[i];
  return lookup;
}

Status outOfRange(const Lookup &l, int64_t position) {
  return failed(
      "{}: index {} at position {} is out of range, expected {} to {}", l.name,
      l.indices[position], position, -l.size, l.size - 1);
}

// Checks that every index is in [-size, size).
Status checkIndices(const Lookup &l) {
  for (int64_t i = 0; i < l.count; ++i)
    if (l.indices[i] < -l.size || l.indices[i] >= l.size)
      return outOfRange(l, i);
  return {};
}

int64_t rowOf(const Lookup &l, int64_t i) {
  return l.indices[i] < 0 ? l.indices[i] + l.size : l.indices[i];
}

class Gather final : public Command {
public:
  Gather(const Threads &threads, Lookup lookup, const Operand &table,
         const Operand &to)
      : threads_(threads), l_(std::move(lookup)),
        bytes_(l_.inner * elementSize(typeOf(table))), table_(table.data),
        to_(to.data) {}

  Status enqueue() override {
    DLC_TRY(checkIndices(l_));
    const int64_t grain = 1 + 4 * kGatherGrain / (bytes_ + 1);
    threads_.parallelFor(l_.outer * l_.count, grain,
                         [&](int64_t begin, int64_t end) {
                           for (int64_t row = begin; row < end; ++row)
                             std::memcpy(to_ + row * bytes_,
                                         table_ + (row / l_.count * l_.size +
                                                   rowOf(l_, row % l_.count)) *
                                                      bytes_,
                                         static_cast<size_t>(bytes_));
                         });
    return {};
  }

private:
  const Threads &threads_;
  Lookup l_;
  int64_t bytes_; // per row
  const std::byte *table_;
  std::byte *to_;
};

template <class To, class From>
void addRow(To *__restrict sum, const From *__restrict from, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i)
    sum[i] += static_cast<To>(load(from[i]));
}

// Each task adds all updates to its own columns, in the order of indices.
template <class From, class To> class ScatterAdd final : public Command {
public:
  ScatterAdd(CpuDevice &device, Lookup lookup, const Operand &updates,
             const Operand &to)
      : device_(device), l_(std::move(lookup)),
        updates_(reinterpret_cast<const From *>(updates.data)),
        to_(reinterpret_cast<To *>(to.data)) {}

  // Whether 16-bit results need f32 sums.
  static constexpr bool kNeedsSums = !std::is_same_v<To, Compute<To>>;

  Status enqueue() override {
    DLC_TRY(checkIndices(l_));
    const int64_t blocks = (l_.inner + kScatterBlock - 1) / kScatterBlock;
    const int64_t work = std::max<int64_t>(l_.count, l_.size) *
                         std::min(l_.inner, kScatterBlock);
    device_.threads().parallelFor(
        l_.outer * blocks, 1 + kGatherGrain / (work + 1),
        [&](int64_t begin, int64_t end) {
          for (int64_t task = begin; task < end; ++task)
            addBlock(task / blocks, task % blocks * kScatterBlock);
        });
    return {};
  }

private:
  void addBlock(int64_t outer, int64_t column) {
    const int64_t columns = std::min(kScatterBlock, l_.inner - column),
                  table = outer * l_.size * l_.inner + column;
    Compute<To> *sums;
    if constexpr (kNeedsSums)
      sums =
          reinterpret_cast<Compute<To> *>(device_.workspace().data()) + table;
    else
      sums = to_ + table;
    for (int64_t row = 0; row < l_.size; ++row)
      std::fill_n(sums + row * l_.inner, columns, Compute<To>(0));
    for (int64_t i = 0; i < l_.count; ++i)
      addRow(sums + rowOf(l_, i) * l_.inner,
             updates_ + (outer * l_.count + i) * l_.inner + column, columns);
    if constexpr (kNeedsSums)
      for (int64_t row = 0; row < l_.size; ++row)
        for (int64_t c = 0; c < columns; ++c)
          store(to_[table + row * l_.inner + c], sums[row * l_.inner + c]);
  }

  CpuDevice &device_;
  Lookup l_;
  const From *updates_;
  To *to_;
};

// The sums of a row's updates are bitwise equal to those of ScatterAdd.
template <class T> class UniqueRows final : public Command {
public:
  UniqueRows(const Threads &threads, Lookup lookup, const CommandSpec &spec)
      : threads_(threads), l_(std::move(lookup)),
        updates_(as<T>(spec.inputs[1])), rows_(as<int64_t>(spec.outputs[0])),
        sums_(as<T>(spec.outputs[1])), order_(static_cast<size_t>(l_.count)),
        other_(order_.size()), starts_(order_.size() + 1) {}

  Status enqueue() override {
    DLC_TRY(sort());
    int64_t found = 0, i = 0;
    for (; i < l_.count && order_[i].row < l_.size; ++i)
      if (i == 0 || order_[i].row != order_[i - 1].row) {
        starts_[found] = i;
        rows_[found++] = order_[i].row;
      }
    starts_[found] = i;
    std::fill(rows_ + found, rows_ + l_.count, l_.size);
    std::fill(sums_ + found * l_.inner, sums_ + l_.count * l_.inner, T{});
    threads_.parallelFor(found, 1 + kGatherGrain * found / (i * l_.inner + 1),
                         [&](int64_t begin, int64_t end) {
                           for (int64_t row = begin; row < end; ++row)
                             for (int64_t column = 0; column < l_.inner;
                                  column += kScatterBlock)
                               addBlock(row, column);
                         });
    return {};
  }

private:
  struct Update {
    int64_t row, position;
  };

  // Radix sort by row, then by position.
  Status sort() {
    for (int64_t i = 0; i < l_.count; ++i) {
      if (l_.indices[i] < -l_.size || l_.indices[i] > l_.size)
        return outOfRange(l_, i);
      order_[i] = {rowOf(l_, i), i};
    }
    constexpr int kBits = 11;
    for (int shift = 0; l_.size >> shift; shift += kBits) {
      int64_t ends[(1 << kBits) + 1] = {};
      const auto digit = [&](const Update &u) {
        return u.row >> shift & ((1 << kBits) - 1);
      };
      for (const Update &u : order_)
        ++ends[digit(u) + 1];
      for (int d = 0; d < 1 << kBits; ++d)
        ends[d + 1] += ends[d];
      for (const Update &u : order_)
        other_[ends[digit(u)]++] = u;
      order_.swap(other_);
    }
    return {};
  }

  void addBlock(int64_t row, int64_t column) {
    const int64_t columns = std::min(kScatterBlock, l_.inner - column);
    Compute<T> sums[kScatterBlock] = {};
    for (int64_t i = starts_[row]; i < starts_[row + 1]; ++i)
      addRow(sums, updates_ + order_[i].position * l_.inner + column, columns);
    for (int64_t c = 0; c < columns; ++c)
      store(sums_[row * l_.inner + column + c], sums[c]);
  }

  const Threads &threads_;
  Lookup l_;
  const T *updates_;
  int64_t *rows_;
  T *sums_;
  std::vector<Update> order_, other_;
  std::vector<int64_t> starts_; // of each row found, in sorted order
};

class PutRows final : public Command {
public:
  PutRows(const Threads &threads, Lookup lookup, const CommandSpec &spec)
      : threads_(threads), l_(std::move(lookup)),
        bytes_(l_.inner * elementSize(typeOf(spec.inputs[0]))),
        x_(spec.inputs[0].data), values_(spec.inputs[2].data),
        y_(spec.outputs[0].data) {}

  Status enqueue() override {
    for (int64_t i = 0; i < l_.count; ++i)
      if (l_.indices[i] < 0 || l_.indices[i] > l_.size)
        return outOfRange(l_, i);
    const int64_t grain = 1 + 4 * kGatherGrain / (bytes_ + 1);
    if (y_ != x_)
      threads_.parallelFor(l_.size, grain, [&](int64_t begin, int64_t end) {
        std::memcpy(y_ + begin * bytes_, x_ + begin * bytes_,
                    static_cast<size_t>((end - begin) * bytes_));
      });
    threads_.parallelFor(l_.count, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        if (l_.indices[i] < l_.size)
          std::memcpy(y_ + l_.indices[i] * bytes_, values_ + i * bytes_,
                      static_cast<size_t>(bytes_));
    });
    return {};
  }

private:
  const Threads &threads_;
  Lookup l_;
  int64_t bytes_; // per row
  const std::byte *x_, *values_;
  std::byte *y_;
};

Result<std::unique_ptr<Command>> bindGather(CpuDevice &device,
                                            const CommandSpec &spec) {
  DLC_TRY(expectOperands(spec, 2, 1));
  const Operand &table = spec.inputs[0], &indices = spec.inputs[1],
                &y = spec.outputs[0];
  DLC_TRY(expectType(spec, y, {typeOf(table)}, "y"));
  DLC_ASSIGN(Lookup lookup, lookupOf(spec, table, indices, y));
  return std::make_unique<Gather>(device.threads(), std::move(lookup), table,
                                  y);
}

Result<std::unique_ptr<Command>> bindScatterAdd(CpuDevice &device,
                                                const CommandSpec &spec) {
  DLC_TRY(expectOperands(spec, 2, 1));
  const Operand &indices = spec.inputs[0], &updates = spec.inputs[1],
                &y = spec.outputs[0];
  DLC_TRY(expectFloats(spec, {updates, y}));
  DLC_ASSIGN(Lookup lookup, lookupOf(spec, y, indices, updates));
  return dispatchFloat(typeOf(updates), [&]<class From>(From) {
    return dispatchFloat(
        typeOf(y), [&]<class To>(To) -> Result<std::unique_ptr<Command>> {
          using Scatter = ScatterAdd<From, To>;
          if (Scatter::kNeedsSums)
            DLC_TRY(
                device.workspace().reserve(elements(y) * sizeof(Compute<To>)));
          return std::make_unique<Scatter>(device, std::move(lookup), updates,
                                           y);
        });
  });
}

Result<std::unique_ptr<Command>> bindUniqueRows(CpuDevice &device,
                                                const CommandSpec &spec) {
  DLC_TRY(expectOperands(spec, 2, 2));
  const Operand &updates = spec.inputs[1];
  DLC_TRY(expectFloats(spec, {updates}));
  DLC_TRY(expectType(spec, spec.outputs[0], {plan::I64}, "the rows"));
  DLC_TRY(
      expectShape(spec, spec.outputs[0], shapeOf(spec.inputs[0]), "the rows"));
  DLC_TRY(expectType(spec, spec.outputs[1], {typeOf(updates)}, "the sums"));
  DLC_TRY(expectShape(spec, spec.outputs[1], shapeOf(updates), "the sums"));
  // As if the updates were the table, except for its size.
  DLC_ASSIGN(Lookup lookup, lookupOf(spec, updates, spec.inputs[0], updates));
  lookup.size = plan::intAttribute(spec.command, "size", 0);
  if (lookup.size < 1)
    return corrupt(spec, fmt::format("size is {}", lookup.size));
  return dispatchFloat(typeOf(updates),
                       [&]<class T>(T) -> Result<std::unique_ptr<Command>> {
                         return std::make_unique<UniqueRows<T>>(
                             device.threads(), std::move(lookup), spec);
                       });
}

Result<std::unique_ptr<Command>> bindPutRows(CpuDevice &device,
                                             const CommandSpec &spec) {
  DLC_TRY(expectOperands(spec, 3, 1));
  const Operand &x = spec.inputs[0], &y = spec.outputs[0];
  DLC_TRY(expectType(spec, spec.inputs[2], {typeOf(x)}, "the values"));
  DLC_TRY(expectType(spec, y, {typeOf(x)}, "y"));
  DLC_TRY(expectShape(spec, y, shapeOf(x), "y"));
  DLC_ASSIGN(Lookup lookup, lookupOf(spec, x, spec.inputs[1], spec.inputs[2]));
  return std::make_unique<PutRows>(device.threads(), std::move(lookup), spec);
}

constexpr Kind kGatherKinds[] = {{"gather", bindGather},
                                 {"put_rows", bindPutRows},
                                 {"scatter_add", bindScatterAdd},
                                 {"unique_rows", bindUniqueRows}};

} // namespace

std::span<const Kind> gatherKinds() { return kGatherKinds; }

} // namespace dlc
