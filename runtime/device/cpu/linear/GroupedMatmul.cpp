// SPDX-License-Identifier: Apache-2.0
// grouped_matmul: each row of x times the matrix of its group, and the gradient
// of these matrices. The rows of a group are copied side by side, some at a
// time, and multiplied by oneDNN. Which rows these are is known in the step
// alone, so there is a product for each of a few numbers of rows; those that
// are missing are zeros.
#include "runtime/device/cpu/Kinds.h"
#include "runtime/device/cpu/Onednn.h"
#include "runtime/device/cpu/Reference.h"
#include "runtime/device/cpu/kernels/HalfLoops.h"
#include "runtime/plan/Attributes.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace dlc {
namespace {

using dnnl::memory;

constexpr int64_t kFewestRows = 8, kMostRows = 512; // of one product
constexpr int64_t kCopyGrain = 16 << 10;            // elements worth a thread

// x [rows, inner], w [groups, inner, outer] or, transposed, [groups, outer,
// inner], y [rows, outer].
struct GroupedProduct {
  std::string name;
  const int64_t *numbers; // the group of each row
  int64_t rows, groups, inner, outer;
  bool transposed;
  plan::DType type;

  int64_t groupOf(int64_t row) const {
    return numbers[row] < 0 ? numbers[row] + groups : numbers[row];
  }
};

Result<GroupedProduct> groupedProductOf(const CommandSpec &spec,
                                        const Operand &x, const Operand &w,
                                        const Operand &y) {
  const Operand &numbers = spec.inputs[2];
  DLC_TRY(expectFloats(spec, {x, w, y}));
  DLC_TRY(expectType(spec, numbers, {plan::I64}, "groups"));
  for (const Operand *other : {&w, &y})
    DLC_TRY(expectType(spec, *other, {typeOf(x)}, "an operand"));
  const Shape sx = shapeOf(x), sw = shapeOf(w);
  if (sx.size() != 2 || sw.size() != 3)
    return corrupt(spec, "x is no matrix, or w no matrices");
  const bool transposed = plan::intAttribute(spec.command, "trans_w", 0);
  const GroupedProduct p{describe(spec),
                         reinterpret_cast<const int64_t *>(numbers.data),
                         sx[0],
                         sw[0],
                         sw[transposed ? 2 : 1],
                         sw[transposed ? 1 : 2],
                         transposed,
                         typeOf(x)};
  DLC_TRY(expectShape(spec, x, {p.rows, p.inner}, "x"));
  DLC_TRY(expectShape(spec, y, {p.rows, p.outer}, "y"));
  DLC_TRY(expectShape(spec, numbers, {p.rows}, "groups"));
  return p;
}

// The rows of each group, in their order.
class Groups {
public:
  explicit Groups(const GroupedProduct &p)
      : starts_(size_t(p.groups) + 1), order_(size_t(p.rows)) {}

  Status sort(const GroupedProduct &p) {
    std::fill(starts_.begin(), starts_.end(), 0);
    for (int64_t row = 0; row < p.rows; ++row) {
      const int64_t group = p.groupOf(row);
      if (group < 0 || group >= p.groups)
        return failed("{}: group {} of row {} is out of range, expected {} to "
                      "{}",
                      p.name, p.numbers[row], row, -p.groups, p.groups - 1);
      ++starts_[size_t(group)];
    }
    int64_t end = 0; // starts_ has the ends, which filling moves to the starts
    for (int64_t &count : starts_)
      count = end += count;
    for (int64_t row = p.rows; row-- > 0;)
      order_[size_t(--starts_[size_t(p.groupOf(row))])] = row;
    return {};
  }
  std::span<const int64_t> operator[](int64_t group) const {
    const int64_t start = starts_[size_t(group)];
    return {order_.data() + start, size_t(starts_[size_t(group) + 1] - start)};
  }

private:
  std::vector<int64_t> starts_, order_;
};

// Rows as oneDNN computes with them: halves that it lacks are f32.
class RowBuffer {
public:
  RowBuffer(plan::DType type, int64_t columns)
      : type_(type), columns_(columns),
        isWide_(type != plan::F32 &&
                onednnType(type) == memory::data_type::f32),
        stored_(columns * elementSize(type)),
        row_(columns * (isWide_ ? 4 : elementSize(type))) {}

  bool isWide() const { return isWide_; }
  int64_t bytes(int64_t rows) const { return rows * row_; }

  // Rows `rows` of `from`, and zeros up to `count`.
  void take(const Threads &threads, const std::byte *from,
            std::span<const int64_t> rows, int64_t count,
            std::byte *buffer) const {
    threads.parallelFor(
        count, 1 + kCopyGrain / columns_, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i)
            if (i < int64_t(rows.size()))
              read(from + rows[size_t(i)] * stored_, buffer + i * row_);
            else
              std::memset(buffer + i * row_, 0, size_t(row_));
        });
  }
  // The other way.
  void put(const Threads &threads, const std::byte *buffer,
           std::span<const int64_t> rows, std::byte *to) const {
    threads.parallelFor(int64_t(rows.size()), 1 + kCopyGrain / columns_,
                        [&](int64_t begin, int64_t end) {
                          for (int64_t i = begin; i < end; ++i)
                            write(buffer + i * row_,
                                  to + rows[size_t(i)] * stored_);
                        });
  }

private:
  template <class F> void asHalf(F &&f) const {
    type_ == plan::F16 ? f(F16{}) : f(Bf16{});
  }
  void read(const std::byte *from, std::byte *to) const {
    if (!isWide_)
      std::memcpy(to, from, size_t(row_));
    else
      asHalf([&]<class T>(T) {
        widen(reinterpret_cast<const T *>(from), reinterpret_cast<float *>(to),
              0, columns_);
      });
  }
  void write(const std::byte *from, std::byte *to) const {
    if (!isWide_)
      std::memcpy(to, from, size_t(row_));
    else
      asHalf([&]<class T>(T) {
        narrow(reinterpret_cast<const float *>(from), reinterpret_cast<T *>(to),
               0, columns_);
      });
  }

  plan::DType type_;
  int64_t columns_;
  bool isWide_;
  int64_t stored_, row_; // bytes
};

// A product of oneDNN for each number of rows.
class Products {
public:
  struct Operands {
    memory::desc source, weights, result;
  };
  // `adds` to the result instead of replacing it.
  template <class F> Products(int64_t most, bool adds, F operandsOf) {
    for (int64_t rows = kFewestRows;; rows *= 2) {
      const Operands o = operandsOf(rows);
      dnnl::primitive_attr attributes = onednnAttributes();
      if (adds) {
        dnnl::post_ops sum;
        sum.append_sum();
        attributes.set_post_ops(sum);
      }
      const dnnl::matmul::primitive_desc desc(onednnEngine(), o.source,
                                              o.weights, o.result, attributes);
      sizes_.push_back({rows, dnnl::matmul(desc), memoryOf(o.source),
                        memoryOf(o.weights), memoryOf(o.result),
                        memoryOf(desc.scratchpad_desc())});
      if (rows >= std::min(most, kMostRows))
        break;
    }
  }
  int64_t most() const { return sizes_.back().rows; }
  int64_t scratchBytes() const {
    size_t bytes = 0;
    for (const Size &size : sizes_)
      bytes = std::max(bytes, size.scratch.get_desc().get_size());
    return int64_t(bytes);
  }
  // Of the next product where `left` rows are left: at most a quarter of it are
  // zeros, but of the smallest.
  int64_t rowsOf(int64_t left) const {
    for (const Size &size : sizes_)
      if (size.rows >= left)
        return size.rows == kFewestRows || size.rows <= left + size.rows / 4
                   ? size.rows
                   : size.rows / 2;
    return most();
  }
  Status run(int64_t rows, const std::byte *source, const std::byte *weights,
             std::byte *result, std::byte *scratch) {
    auto &size = *std::find_if(sizes_.begin(), sizes_.end(),
                               [&](const Size &s) { return s.rows == rows; });
    std::vector<dnnl_exec_arg_t> arguments;
    const auto pass = [&](int index, memory &m, const std::byte *data) {
      m.set_data_handle(const_cast<std::byte *>(data));
      arguments.push_back({index, m.get()});
    };
    pass(DNNL_ARG_SRC, size.source, source);
    pass(DNNL_ARG_WEIGHTS, size.weights, weights);
    pass(DNNL_ARG_DST, size.result, result);
    if (size.scratch.get_desc().get_size())
      pass(DNNL_ARG_SCRATCHPAD, size.scratch, scratch);
    const FatalAllocations fatal;
    const dnnl_status_t status =
        dnnl_primitive_execute(size.product.get(), onednnStream().get(),
                               int(arguments.size()), arguments.data());
    if (status != dnnl_success)
      return failed("oneDNN reports {}", dnnl_status2str(status));
    return {};
  }

private:
  struct Size {
    int64_t rows;
    dnnl::matmul product;
    memory source, weights, result, scratch;
  };
  static memory memoryOf(const memory::desc &desc) {
    return memory(desc, onednnEngine(), nullptr);
  }
  std::vector<Size> sizes_;
};

memory::desc matrix(int64_t rows, int64_t columns, bool transposed,
                    memory::data_type type) {
  return {{rows, columns},
          type,
          transposed ? memory::dims{1, rows} : memory::dims{columns, 1}};
}

int64_t aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }

class GroupedMatmul final : public Command {
public:
  GroupedMatmul(CpuDevice &device, const GroupedProduct &p, const Operand &x,
                const Operand &w, const Operand &y)
      : device_(device), p_(p), x_(x.data), w_(w.data), y_(y.data), groups_(p),
        rows_(p.type, p.inner), results_(p.type, p.outer),
        weights_(p.type, p.inner * p.outer),
        products_(p.rows, false, [&](int64_t rows) {
          const memory::data_type type = onednnType(p.type);
          return Products::Operands{
              matrix(rows, p.inner, false, type),
              matrix(p.inner, p.outer, p.transposed, type),
              matrix(rows, p.outer, false, type)};
        }) {}
  int64_t scratchBytes() const {
    return aligned(rows_.bytes(products_.most())) +
           aligned(results_.bytes(products_.most())) +
           aligned(weights_.isWide() ? weights_.bytes(1) : 0) +
           products_.scratchBytes();
  }

  Status enqueue() override {
    DLC_TRY(groups_.sort(p_));
    for (int64_t group = 0; group < p_.groups; ++group)
      if (!groups_[group].empty())
        if (Status status = multiply(group); !status.ok())
          return failed("{}: {}", p_.name, status.message());
    return {};
  }

private:
  Status multiply(int64_t group) {
    const Threads &threads = device_.threads();
    std::byte *rows = device_.workspace().data(),
              *results = rows + aligned(rows_.bytes(products_.most())),
              *wide = results + aligned(results_.bytes(products_.most())),
              *scratch =
                  wide + aligned(weights_.isWide() ? weights_.bytes(1) : 0);
    const std::byte *w =
        w_ + group * p_.inner * p_.outer * elementSize(p_.type);
    if (weights_.isWide()) {
      weights_.take(threads, w, std::array<int64_t, 1>{0}, 1, wide);
      w = wide;
    }
    for (auto left = groups_[group]; !left.empty();) {
      const int64_t count = products_.rowsOf(int64_t(left.size()));
      const auto now = left.first(std::min(left.size(), size_t(count)));
      rows_.take(threads, x_, now, count, rows);
      DLC_TRY(products_.run(count, rows, w, results, scratch));
      results_.put(threads, results, now, y_);
      left = left.subspan(now.size());
    }
    return {};
  }

  CpuDevice &device_;
  GroupedProduct p_;
  const std::byte *x_, *w_;
  std::byte *y_;
  Groups groups_;
  RowBuffer rows_, results_, weights_;
  Products products_;
};

// dw of a group is the sum of a^T b over its rows, where a has dw's rows and b
// its columns: in f32, in place where it is stored so.
class GroupedGradient final : public Command {
public:
  GroupedGradient(CpuDevice &device, const GroupedProduct &p, const Operand &x,
                  const Operand &dy, const Operand &dw)
      : device_(device), p_(p), a_((p.transposed ? dy : x).data),
        b_((p.transposed ? x : dy).data), dw_(dw.data),
        height_(p.transposed ? p.outer : p.inner),
        width_(p.transposed ? p.inner : p.outer), groups_(p),
        as_(p.type, height_), bs_(p.type, width_),
        first_(p.rows, false, [&](int64_t rows) { return operands(rows); }),
        more_(p.rows, true, [&](int64_t rows) { return operands(rows); }) {}
  int64_t scratchBytes() const {
    return aligned(as_.bytes(first_.most())) +
           aligned(bs_.bytes(first_.most())) + aligned(sumBytes()) +
           std::max(first_.scratchBytes(), more_.scratchBytes());
  }

  Status enqueue() override {
    DLC_TRY(groups_.sort(p_));
    for (int64_t group = 0; group < p_.groups; ++group)
      if (Status status = sum(group); !status.ok())
        return failed("{}: {}", p_.name, status.message());
    return {};
  }

private:
  Products::Operands operands(int64_t rows) const {
    const memory::data_type type = onednnType(p_.type);
    return {matrix(height_, rows, true, type),
            matrix(rows, width_, false, type),
            matrix(height_, width_, false, memory::data_type::f32)};
  }
  bool isStoredWide() const { return p_.type == plan::F32; }
  int64_t sumBytes() const { return isStoredWide() ? 0 : height_ * width_ * 4; }

  Status sum(int64_t group) {
    const Threads &threads = device_.threads();
    const int64_t count = height_ * width_;
    std::byte *to = dw_ + group * count * elementSize(p_.type);
    auto left = groups_[group];
    if (left.empty()) {
      std::memset(to, 0, size_t(count * elementSize(p_.type)));
      return {};
    }
    std::byte *a = device_.workspace().data(),
              *b = a + aligned(as_.bytes(first_.most())),
              *sums = b + aligned(bs_.bytes(first_.most())),
              *scratch = sums + aligned(sumBytes());
    std::byte *result = isStoredWide() ? to : sums;
    for (Products *products = &first_; !left.empty(); products = &more_) {
      const int64_t rows = products->rowsOf(int64_t(left.size()));
      const auto now = left.first(std::min(left.size(), size_t(rows)));
      as_.take(threads, a_, now, rows, a);
      bs_.take(threads, b_, now, rows, b);
      DLC_TRY(products->run(rows, a, b, result, scratch));
      left = left.subspan(now.size());
    }
    if (!isStoredWide())
      threads.parallelFor(count, kCopyGrain, [&](int64_t begin, int64_t end) {
        const auto *from = reinterpret_cast<const float *>(sums);
        if (p_.type == plan::F16)
          narrow(from, reinterpret_cast<F16 *>(to), begin, end);
        else
          narrow(from, reinterpret_cast<Bf16 *>(to), begin, end);
      });
    return {};
  }

  CpuDevice &device_;
  GroupedProduct p_;
  const std::byte *a_, *b_;
  std::byte *dw_;
  int64_t height_, width_;
  Groups groups_;
  RowBuffer as_, bs_;
  Products first_, more_;
};

// In f64, and of nothing. `sums` are y, or dw.
std::unique_ptr<Command> reference(const CommandSpec &spec, GroupedProduct p,
                                   bool isGradient) {
  const Elements x(spec.inputs[0]), other(spec.inputs[1]), to(spec.outputs[0]);
  return makeReference([=, size = elements(spec.outputs[0])] {
    std::vector<double> sums(static_cast<size_t>(size));
    for (int64_t row = 0; row < p.rows; ++row)
      for (int64_t k = 0; k < p.inner; ++k)
        for (int64_t n = 0; n < p.outer; ++n) {
          const int64_t w = p.groupOf(row) * p.inner * p.outer +
                            (p.transposed ? n * p.inner + k : k * p.outer + n),
                        y = row * p.outer + n;
          sums[size_t(isGradient ? w : y)] +=
              x[row * p.inner + k] * other[isGradient ? y : w];
        }
    for (int64_t i = 0; i < size; ++i)
      to.set(i, sums[size_t(i)]);
  });
}

template <class C>
Result<std::unique_ptr<Command>> bind(CpuDevice &device,
                                      const CommandSpec &spec) {
  constexpr bool isGradient = std::is_same_v<C, GroupedGradient>;
  DLC_TRY(expectOperands(spec, 3, 1));
  const Operand &first = spec.inputs[0], &second = spec.inputs[1],
                &to = spec.outputs[0];
  auto p = isGradient ? groupedProductOf(spec, first, to, second)
                      : groupedProductOf(spec, first, second, to);
  if (!p)
    return p.status();
  if (wantsReference(spec))
    return reference(spec, *p, isGradient);
  const FatalAllocations fatal;
  try {
    auto command = std::make_unique<C>(device, *p, first, second, to);
    DLC_TRY(device.workspace().reserve(uint64_t(command->scratchBytes())));
    return std::unique_ptr<Command>(std::move(command));
  } catch (const dnnl::error &error) {
    return onednnError(spec, error);
  }
}

constexpr Kind kGroupedMatmulKinds[] = {
    {"grouped_matmul", bind<GroupedMatmul>},
    {"grouped_matmul_backward_weight", bind<GroupedGradient>},
};

} // namespace

std::span<const Kind> groupedMatmulKinds() { return kGroupedMatmulKinds; }

} // namespace dlc
