// SPDX-License-Identifier: Apache-2.0
// all_finite and global_norm: a scalar from all elements of all operands,
// viewed as one flat array and split into chunks of a fixed size, so the work
// does not depend on the number of operands.
//   count_nonfinite and square_sums return their partial results as integers,
// which ranks may add; none_counted and norm_of_squares compute the results.
// Squares of 16 elements from the beginning of an operand are added first, and
// then these sums exactly, so a norm does not depend on the number of threads,
// nor on that of ranks that have parts of the operands in whole groups of 16.
#include "runtime/device/cpu/Dispatch.h"
#include "runtime/device/cpu/Kinds.h"
#include "runtime/device/cpu/kernels/ExactSum.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace dlc {

DLC_INLINE uint32_t bitsOf(float x) { return __builtin_bit_cast(uint32_t, x); }
DLC_INLINE uint64_t bitsOf(double x) { return __builtin_bit_cast(uint64_t, x); }
DLC_INLINE uint16_t bitsOf(Bf16 x) { return x.bits; }
DLC_INLINE uint16_t bitsOf(F16 x) { return x.bits; }

// Whether an element is infinite or NaN: adding one to an exponent of all ones
// carries into the sign bit. `exponent` has the exponent's bits set.
template <class Bits, class T>
DLC_INLINE bool anyNonFinite(const T *x, int64_t n, Bits exponent) {
  const Bits one = exponent & -exponent;
  Bits seen = 0;
#pragma omp simd reduction(| : seen)
  for (int64_t i = 0; i < n; ++i)
    seen |= static_cast<Bits>((bitsOf(x[i]) & exponent) + one);
  return seen >> (std::numeric_limits<Bits>::digits - 1);
}

constexpr int64_t kGroup = 16; // elements

// Clamps elements or not; NaN is preserved.
struct Unlimited {
  DLC_INLINE double operator()(double x) const { return x; }
};
struct Limited {
  double limit;
  DLC_INLINE double operator()(double x) const {
    return x > limit ? limit : x < -limit ? -limit : x;
  }
};

// In f64, where the square of an f32 is exact and cannot overflow.
template <class T, class Form>
DLC_INLINE double squaresOfGroup(const T *x, Form form) {
  double lanes[kGroup / 2];
  for (int64_t i = 0; i < kGroup / 2; ++i) {
    const double a = form(load(x[i])), b = form(load(x[i + kGroup / 2]));
    lanes[i] = a * a + b * b;
  }
  return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) +
         ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

template <class T, class Form>
DLC_INLINE void addSquares(ExactSum &sum, const T *x, int64_t n, Form form) {
  int64_t i = 0;
  for (; i + kGroup <= n; i += kGroup)
    sum.add(squaresOfGroup(x + i, form));
  if (i == n)
    return;
  T last[kGroup] = {};
  std::copy(x + i, x + n, last);
  sum.add(squaresOfGroup(last, form));
}

#define DLC_FLAT_LOOPS(T, Bits, exponent)                                      \
  DLC_MULTIVERSION bool nonFinite(const T *x, int64_t n) {                     \
    return anyNonFinite<Bits>(x, n, exponent);                                 \
  }                                                                            \
  DLC_MULTIVERSION void squares(ExactSum &sum, const T *x, int64_t n) {        \
    addSquares(sum, x, n, Unlimited());                                        \
  }                                                                            \
  DLC_MULTIVERSION void squaresWithin(ExactSum &sum, const T *x, int64_t n,    \
                                      double limit) {                          \
    addSquares(sum, x, n, Limited{limit});                                     \
  }
DLC_FLAT_LOOPS(float, uint32_t, 0x7f800000u)
DLC_FLAT_LOOPS(Bf16, uint16_t, uint16_t(0x7f80))
DLC_FLAT_LOOPS(F16, uint16_t, uint16_t(0x7c00))
DLC_FLAT_LOOPS(double, uint64_t, uint64_t(0x7ff) << 52)
#undef DLC_FLAT_LOOPS

namespace {

constexpr int64_t kChunk = 16 << 10; // elements of a chunk
constexpr int64_t kFlatGrain = 2;    // chunks worth a thread
constexpr double kNoLimit = std::numeric_limits<double>::infinity();

// An operand's range [begin, end) in the flat array, in whole groups.
struct Piece {
  const std::byte *data;
  plan::DType type;
  int64_t begin, end, count;
};

struct AllFinite {
  using Partial = int64_t; // chunks with a non-finite element
  static constexpr size_t kWords = 1;
  template <class T>
  static void add(Partial &bad, const T *x, int64_t n, double) {
    bad += nonFinite(x, n);
  }
  static void add(Partial &bad, const Partial &other) { bad += other; }
  static void carry(Partial &) {}
  static void finish(const Partial &bad, const Operand &y) {
    *y.data = std::byte(bad == 0);
  }
  static Status expectResult(const CommandSpec &spec, const Operand &y) {
    return expectType(spec, y, {plan::BOOL}, "y");
  }
};

struct GlobalNorm {
  using Partial = ExactSum; // of squares
  static constexpr size_t kWords = ExactSum::kWords;
  template <class T>
  static void add(Partial &sum, const T *x, int64_t n, double limit) {
    limit < kNoLimit ? squaresWithin(sum, x, n, limit) : squares(sum, x, n);
  }
  static void add(Partial &sum, const Partial &other) { sum.add(other); }
  static void carry(Partial &sum) { sum.carry(); }
  static void finish(const Partial &sum, const Operand &y) {
    const double norm = std::sqrt(sum.value());
    if (typeOf(y) == plan::F64)
      *reinterpret_cast<double *>(y.data) = norm;
    else
      *reinterpret_cast<float *>(y.data) = static_cast<float>(norm);
  }
  static Status expectResult(const CommandSpec &spec, const Operand &y) {
    return expectType(spec, y, {plan::F32, plan::F64}, "y");
  }
};

// `partial`: y is the partial result.
template <class R, bool partial> class Flat final : public Command {
public:
  Flat(const Threads &threads, std::vector<Piece> pieces, double limit,
       Operand y)
      : threads_(threads), pieces_(std::move(pieces)), limit_(limit), y_(y),
        partials_((pieces_.back().end + kChunk - 1) / kChunk) {}

  Status enqueue() override {
    threads_.parallelFor(static_cast<int64_t>(partials_.size()), kFlatGrain,
                         [&](int64_t begin, int64_t end) {
                           for (int64_t chunk = begin; chunk < end; ++chunk)
                             partials_[chunk] = reduce(chunk);
                         });
    Partial all{};
    for (const Partial &chunk : partials_)
      R::add(all, chunk);
    R::carry(all);
    if constexpr (partial)
      std::memcpy(y_.data, &all, sizeof all);
    else
      R::finish(all, y_);
    return {};
  }

private:
  using Partial = typename R::Partial;

  Partial reduce(int64_t chunk) const {
    const int64_t first = chunk * kChunk;
    const int64_t last = std::min(first + kChunk, pieces_.back().end);
    auto piece = std::upper_bound(
        pieces_.begin(), pieces_.end(), first,
        [](int64_t at, const Piece &piece) { return at < piece.end; });
    Partial sum{};
    for (; piece != pieces_.end() && piece->begin < last; ++piece)
      dispatchFloat(piece->type, [&]<class T>(T) {
        const int64_t begin = std::max(first, piece->begin) - piece->begin;
        const int64_t end = std::min(last - piece->begin, piece->count);
        const T *x = reinterpret_cast<const T *>(piece->data);
        R::add(sum, x + begin, end - begin, limit_);
      });
    return sum;
  }

  const Threads &threads_;
  const std::vector<Piece> pieces_;
  const double limit_; // of magnitudes
  const Operand y_;
  std::vector<Partial> partials_; // by chunk
};

template <class R> class FlatResult final : public Command {
public:
  FlatResult(Operand x, Operand y) : x_(x), y_(y) {}

  Status enqueue() override {
    typename R::Partial sum;
    std::memcpy(&sum, x_.data, sizeof sum);
    R::carry(sum); // sums over ranks
    R::finish(sum, y_);
    return {};
  }

private:
  const Operand x_, y_;
};

template <class R> Status expectSum(const CommandSpec &spec, const Operand &x) {
  DLC_TRY(expectType(spec, x, {plan::I64}, "the sum"));
  return expectShape(spec, x, {static_cast<int64_t>(R::kWords)}, "the sum");
}

template <class R, bool partial>
Result<std::unique_ptr<Command>> bindFlat(CpuDevice &device,
                                          const CommandSpec &spec) {
  DLC_TRY(expectOperands(spec, std::max<size_t>(1, spec.inputs.size()), 1));
  std::vector<Piece> pieces;
  int64_t end = 0;
  for (const Operand &x : spec.inputs) {
    DLC_TRY(expectFloats(spec, {x}));
    const int64_t begin = end, count = elements(x);
    end += (count + kGroup - 1) / kGroup * kGroup;
    pieces.push_back({x.data, typeOf(x), begin, end, count});
  }
  const Operand &y = spec.outputs[0];
  if constexpr (partial) {
    DLC_TRY(expectSum<R>(spec, y));
  } else {
    DLC_TRY(R::expectResult(spec, y));
    DLC_TRY(expectShape(spec, y, {}, "y"));
  }
  const double limit = plan::floatAttribute(spec.command, "limit", kNoLimit);
  if (!(limit > 0))
    return corrupt("{} '{}': its limit is {}", spec.command.kind(),
                   spec.command.label(), limit);
  return std::make_unique<Flat<R, partial>>(device.threads(), std::move(pieces),
                                            limit, y);
}

template <class R>
Result<std::unique_ptr<Command>> bindResult(CpuDevice &,
                                            const CommandSpec &spec) {
  DLC_TRY(expectOperands(spec, 1, 1));
  DLC_TRY(expectSum<R>(spec, spec.inputs[0]));
  DLC_TRY(R::expectResult(spec, spec.outputs[0]));
  DLC_TRY(expectShape(spec, spec.outputs[0], {}, "y"));
  return std::make_unique<FlatResult<R>>(spec.inputs[0], spec.outputs[0]);
}

constexpr Kind kFlatKinds[] = {{"all_finite", bindFlat<AllFinite, false>},
                               {"count_nonfinite", bindFlat<AllFinite, true>},
                               {"none_counted", bindResult<AllFinite>},
                               {"global_norm", bindFlat<GlobalNorm, false>},
                               {"square_sums", bindFlat<GlobalNorm, true>},
                               {"norm_of_squares", bindResult<GlobalNorm>}};

} // namespace

std::span<const Kind> flatKinds() { return kFlatKinds; }

} // namespace dlc
