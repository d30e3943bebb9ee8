// SPDX-License-Identifier: Apache-2.0
// grouped_matmul: each row of x times the matrix of its group, and the gradient
// of these matrices. The rows of a group are gathered, some at a time, and
// multiplied by oneDNN. Threads take such pieces of work in turn; the pieces,
// and so the results, do not depend on the number of threads.
#include "runtime/device/cpu/Kinds.h"
#include "runtime/device/cpu/Reference.h"
#include "runtime/device/cpu/linear/RowProducts.h"
#include "runtime/plan/Attributes.h"

#include <array>
#include <atomic>

namespace dlc {
namespace {

using dnnl::memory;

constexpr int64_t kStrip = 256; // rows of a gradient per piece

// x [rows, inner], w [groups, inner, outer] or, transposed, [groups, outer,
// inner], y [rows, outer].
struct GroupedProduct {
  std::string name;
  const int64_t *numbers; // each row's group
  int64_t rows, groups, inner, outer;
  bool transposed;
  plan::DType type;

  int64_t groupOf(int64_t row) const {
    return numbers[row] < 0 ? numbers[row] + groups : numbers[row];
  }
  Status check() const {
    for (int64_t row = 0; row < rows; ++row)
      if (groupOf(row) < 0 || groupOf(row) >= groups)
        return failed("{}: group {} of row {} is out of range, expected {} to "
                      "{}",
                      name, numbers[row], row, -groups, groups - 1);
    return {};
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

// The rows of each group, in order.
class Groups {
public:
  explicit Groups(const GroupedProduct &p)
      : starts_(size_t(p.groups) + 1), order_(size_t(p.rows)) {}

  Status sort(const GroupedProduct &p) {
    DLC_TRY(p.check());
    std::fill(starts_.begin(), starts_.end(), 0);
    for (int64_t row = 0; row < p.rows; ++row)
      ++starts_[size_t(p.groupOf(row))];
    int64_t end = 0; // becomes ends, then, by filling, starts
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

// Work of a step for any thread: rows of a group (none in a gradient that is
// 0), and a part of the group's matrix.
struct Piece {
  int64_t group;
  std::span<const int64_t> rows;
  int64_t part = 0;
};

// Runs pieces on all threads. `Lane` is the state of a thread: bytes() of
// scratch memory, and run(piece, scratch).
template <class Lane> class Pieces {
public:
  // For up to `most` pieces. oneDNN's products are created for one thread.
  template <class F>
  Pieces(CpuDevice &device, int64_t most, F make)
      : device_(device), statuses_(size_t(device.threads().count())) {
    pieces_.reserve(size_t(most));
    Threads(1).makeCurrent();
    for (int i = 0; i < device.threads().count(); ++i)
      lanes_.push_back(make());
    device.threads().makeCurrent();
  }
  int64_t scratchBytes() const {
    return int64_t(lanes_.size()) * lanes_.front()->bytes();
  }
  // Adds a piece for the next run.
  void add(const Piece &piece) { pieces_.push_back(piece); }
  Status run(const GroupedProduct &p) {
    std::atomic<size_t> next = 0;
    std::fill(statuses_.begin(), statuses_.end(), Status());
    device_.threads().parallelParts(
        int64_t(lanes_.size()), 1, [&](int lane, int64_t, int64_t) {
          std::byte *scratch =
              device_.workspace().data() + lane * lanes_.front()->bytes();
          Status &status = statuses_[size_t(lane)];
          for (size_t i; (i = next++) < pieces_.size() && status.ok();)
            status = lanes_[size_t(lane)]->run(pieces_[i], scratch);
        });
    pieces_.clear();
    for (const Status &status : statuses_)
      if (!status.ok())
        return failed("{}: {}", p.name, status.message());
    return {};
  }

private:
  CpuDevice &device_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::vector<Piece> pieces_;
  std::vector<Status> statuses_; // by lane
};

class GroupedMatmul final : public Command {
public:
  GroupedMatmul(CpuDevice &device, const GroupedProduct &p, const Operand &x,
                const Operand &w, const Operand &y)
      : p_(p), groups_(p), pieces_(device, p.rows / kMostRows + p.groups, [&] {
          return std::make_unique<Lane>(p_, x.data, w.data, y.data);
        }) {}
  int64_t scratchBytes() const { return pieces_.scratchBytes(); }

  Status enqueue() override {
    DLC_TRY(groups_.sort(p_));
    for (int64_t group = 0; group < p_.groups; ++group)
      for (auto left = groups_[group]; !left.empty();) {
        const size_t count = std::min(left.size(), size_t(kMostRows));
        pieces_.add({group, left.first(count)});
        left = left.subspan(count);
      }
    return pieces_.run(p_);
  }

private:
  class Lane {
  public:
    Lane(const GroupedProduct &p, const std::byte *x, const std::byte *w,
         std::byte *y)
        : x_(x), w_(w), y_(y), rows_(p.type, p.inner, p.inner),
          results_(p.type, p.outer, p.outer),
          weights_(p.type, p.inner * p.outer, p.inner * p.outer),
          bytesOfMatrix_(p.inner * p.outer * elementSize(p.type)),
          products_(p.rows, false, [&](int64_t rows) {
            const memory::data_type type = onednnType(p.type);
            return RowProducts::Operands{
                matrix(rows, p.inner, false, type),
                matrix(p.inner, p.outer, p.transposed, type),
                matrix(rows, p.outer, false, type)};
          }) {}
    int64_t bytes() const {
      return rows_.bytes(products_.most()) + results_.bytes(products_.most()) +
             (weights_.isWide() ? weights_.bytes(1) : 0) +
             products_.scratchBytes();
    }
    Status run(const Piece &piece, std::byte *rows) {
      std::byte *results = rows + rows_.bytes(products_.most()),
                *scratch = results + results_.bytes(products_.most());
      const std::byte *w = w_ + piece.group * bytesOfMatrix_;
      if (weights_.isWide()) {
        weights_.take(w, std::array<int64_t, 1>{0}, 1, scratch);
        w = scratch;
        scratch += weights_.bytes(1);
      }
      for (auto left = piece.rows; !left.empty();) {
        const int64_t count = products_.rowsOf(int64_t(left.size()));
        const auto now = left.first(std::min(left.size(), size_t(count)));
        rows_.take(x_, now, count, rows);
        DLC_TRY(products_.run(count, rows, w, results, scratch));
        results_.put(results, now, y_);
        left = left.subspan(now.size());
      }
      return {};
    }

  private:
    const std::byte *x_, *w_;
    std::byte *y_;
    RowBuffer rows_, results_, weights_;
    int64_t bytesOfMatrix_;
    RowProducts products_;
  };

  GroupedProduct p_;
  Groups groups_;
  Pieces<Lane> pieces_;
};

// dw of a group is the sum of a^T b over its rows, where a has dw's rows and b
// its columns: in f32, in place if dw is stored as f32. A piece is a strip of
// dw's rows.
class GroupedGradient final : public Command {
public:
  GroupedGradient(CpuDevice &device, const GroupedProduct &p, const Operand &x,
                  const Operand &dy, const Operand &dw)
      : p_(p), height_(p.transposed ? p.outer : p.inner), groups_(p),
        pieces_(device, p.groups * ((height_ + kStrip - 1) / kStrip), [&] {
          return std::make_unique<Lane>(p_, (p.transposed ? dy : x).data,
                                        (p.transposed ? x : dy).data, dw.data);
        }) {}
  int64_t scratchBytes() const { return pieces_.scratchBytes(); }

  Status enqueue() override {
    DLC_TRY(groups_.sort(p_));
    for (int64_t group = 0; group < p_.groups; ++group)
      for (int64_t row = 0; row < height_; row += kStrip)
        pieces_.add({group, groups_[group], row});
    return pieces_.run(p_);
  }

private:
  // `height` rows of dw; the first product overwrites them.
  struct Strip {
    RowBuffer a;
    RowProducts first, more;
    Strip(const GroupedProduct &p, int64_t whole, int64_t height, int64_t width)
        : a(p.type, whole, height), first(products(p, height, width, false)),
          more(products(p, height, width, true)) {}
    static RowProducts products(const GroupedProduct &p, int64_t height,
                                int64_t width, bool adds) {
      const memory::data_type type = onednnType(p.type);
      return RowProducts(p.rows, adds, [&](int64_t rows) {
        return RowProducts::Operands{
            matrix(height, rows, true, type), matrix(rows, width, false, type),
            matrix(height, width, false, memory::data_type::f32)};
      });
    }
    int64_t scratchBytes() const {
      return std::max(first.scratchBytes(), more.scratchBytes());
    }
  };
  class Lane {
  public:
    Lane(const GroupedProduct &p, const std::byte *a, const std::byte *b,
         std::byte *dw)
        : type_(p.type), a_(a), b_(b), dw_(dw),
          height_(p.transposed ? p.outer : p.inner),
          width_(p.transposed ? p.inner : p.outer), bs_(p.type, width_, width_),
          strip_(p, height_, std::min(height_, kStrip), width_) {
      if (height_ > kStrip && height_ % kStrip)
        rest_.emplace(p, height_, height_ % kStrip, width_);
    }
    int64_t bytes() const {
      return strip_.a.bytes(strip_.first.most()) +
             bs_.bytes(strip_.first.most()) + sumBytes() +
             std::max(strip_.scratchBytes(), rest_ ? rest_->scratchBytes() : 0);
    }
    Status run(const Piece &piece, std::byte *a) {
      const int64_t height = std::min(height_ - piece.part, kStrip),
                    count = height * width_, size = elementSize(type_);
      Strip &strip = rest_ && height < kStrip ? *rest_ : strip_;
      std::byte *to =
          dw_ + (piece.group * height_ + piece.part) * width_ * size;
      if (piece.rows.empty()) {
        std::memset(to, 0, size_t(count * size));
        return {};
      }
      std::byte *b = a + strip_.a.bytes(strip_.first.most()),
                *sums = b + bs_.bytes(strip_.first.most()),
                *scratch = sums + sumBytes(),
                *result = type_ == plan::F32 ? to : sums;
      RowProducts *products = &strip.first;
      for (auto left = piece.rows; !left.empty(); products = &strip.more) {
        const int64_t rows = products->rowsOf(int64_t(left.size()));
        const auto now = left.first(std::min(left.size(), size_t(rows)));
        strip.a.take(a_ + piece.part * size, now, rows, a);
        bs_.take(b_, now, rows, b);
        DLC_TRY(products->run(rows, a, b, result, scratch));
        left = left.subspan(now.size());
      }
      const auto *from = reinterpret_cast<const float *>(sums);
      if (type_ == plan::F16)
        narrow(from, reinterpret_cast<F16 *>(to), 0, count);
      else if (type_ == plan::BF16)
        narrow(from, reinterpret_cast<Bf16 *>(to), 0, count);
      return {};
    }

  private:
    int64_t sumBytes() const {
      return type_ == plan::F32
                 ? 0
                 : toLines(std::min(height_, kStrip) * width_ * 4);
    }

    plan::DType type_;
    const std::byte *a_, *b_;
    std::byte *dw_;
    int64_t height_, width_;
    RowBuffer bs_;
    Strip strip_;
    std::optional<Strip> rest_; // remainder after whole strips
  };

  GroupedProduct p_;
  int64_t height_;
  Groups groups_;
  Pieces<Lane> pieces_;
};

// For f64, and for empty operands. `sums` are y, or dw.
std::unique_ptr<Command> reference(const CommandSpec &spec, GroupedProduct p,
                                   bool isGradient) {
  const Elements x(spec.inputs[0]), other(spec.inputs[1]), to(spec.outputs[0]);
  return makeReference([=, size = elements(spec.outputs[0])]() -> Status {
    DLC_TRY(p.check());
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
    return {};
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
