// all_finite and global_norm: one scalar of all elements of all operands, which
// are seen as one flat array. It is cut into chunks of a fixed size, so results
// do not depend on the number of threads, nor does the work of many small
// operands.
#include "runtime/device/cpu/Dispatch.h"
#include "runtime/device/cpu/Kinds.h"

#include <cmath>
#include <limits>

namespace dlc {

DLC_INLINE uint32_t bitsOf(float x) { return __builtin_bit_cast(uint32_t, x); }
DLC_INLINE uint64_t bitsOf(double x) { return __builtin_bit_cast(uint64_t, x); }
DLC_INLINE uint16_t bitsOf(Bf16 x) { return x.bits; }
DLC_INLINE uint16_t bitsOf(F16 x) { return x.bits; }

// Whether some element is infinite or NaN: one added to an exponent of ones
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

// In f64, where the square of an f32 is exact and does not overflow.
template <class T> DLC_INLINE double sumSquares(const T *x, int64_t n) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) {
    const double value = load(x[i]);
    sum += value * value;
  }
  return sum;
}

#define DLC_FLAT_LOOPS(T, Bits, exponent)                                      \
  DLC_MULTIVERSION bool nonFinite(const T *x, int64_t n) {                     \
    return anyNonFinite<Bits>(x, n, exponent);                                 \
  }                                                                            \
  DLC_MULTIVERSION double squares(const T *x, int64_t n) {                     \
    return sumSquares(x, n);                                                   \
  }
DLC_FLAT_LOOPS(float, uint32_t, 0x7f800000u)
DLC_FLAT_LOOPS(Bf16, uint16_t, uint16_t(0x7f80))
DLC_FLAT_LOOPS(F16, uint16_t, uint16_t(0x7c00))
DLC_FLAT_LOOPS(double, uint64_t, uint64_t(0x7ff) << 52)
#undef DLC_FLAT_LOOPS

namespace {

constexpr int64_t kChunk = 16 << 10; // elements of a chunk
constexpr int64_t kFlatGrain = 2;    // chunks worth a thread

// An operand at [begin, end) of the flat array.
struct Piece {
  const std::byte *data;
  plan::DType type;
  int64_t begin, end;
};

struct AllFinite {
  using Partial = uint8_t; // whether some element is not finite
  template <class T> static void add(Partial &bad, const T *x, int64_t n) {
    bad |= nonFinite(x, n);
  }
  static void add(Partial &bad, Partial other) { bad |= other; }
  static void finish(Partial bad, const Operand &y) {
    *y.data = std::byte(!bad);
  }
  static Status expectResult(const CommandSpec &spec, const Operand &y) {
    return expectType(spec, y, {plan::BOOL}, "y");
  }
};

struct GlobalNorm {
  using Partial = double; // sum of squares
  template <class T> static void add(Partial &sum, const T *x, int64_t n) {
    sum += squares(x, n);
  }
  static void add(Partial &sum, Partial other) { sum += other; }
  static void finish(Partial sum, const Operand &y) {
    const double norm = std::sqrt(sum);
    if (typeOf(y) == plan::F64)
      *reinterpret_cast<double *>(y.data) = norm;
    else
      *reinterpret_cast<float *>(y.data) = static_cast<float>(norm);
  }
  static Status expectResult(const CommandSpec &spec, const Operand &y) {
    return expectType(spec, y, {plan::F32, plan::F64}, "y");
  }
};

template <class R> class Flat final : public Command {
public:
  Flat(const Threads &threads, std::vector<Piece> pieces, Operand y)
      : threads_(threads), pieces_(std::move(pieces)), y_(y),
        partials_((pieces_.back().end + kChunk - 1) / kChunk) {}

  Status enqueue() override {
    threads_.parallelFor(static_cast<int64_t>(partials_.size()), kFlatGrain,
                         [&](int64_t begin, int64_t end) {
                           for (int64_t chunk = begin; chunk < end; ++chunk)
                             partials_[chunk] = reduce(chunk);
                         });
    Partial all = 0;
    for (Partial partial : partials_)
      R::add(all, partial);
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
    Partial partial = 0;
    for (; piece != pieces_.end() && piece->begin < last; ++piece)
      dispatchFloat(piece->type, [&]<class T>(T) {
        const int64_t begin = std::max(first, piece->begin);
        const int64_t end = std::min(last, piece->end);
        const T *x = reinterpret_cast<const T *>(piece->data);
        R::add(partial, x + (begin - piece->begin), end - begin);
      });
    return partial;
  }

  const Threads &threads_;
  const std::vector<Piece> pieces_;
  const Operand y_;
  std::vector<Partial> partials_; // of each chunk
};

template <class R>
Result<std::unique_ptr<Command>> bindFlat(CpuDevice &device,
                                          const CommandSpec &spec) {
  DLC_TRY(expectOperands(spec, std::max<size_t>(1, spec.inputs.size()), 1));
  std::vector<Piece> pieces;
  int64_t end = 0;
  for (const Operand &x : spec.inputs) {
    DLC_TRY(expectFloats(spec, {x}));
    const int64_t begin = end;
    end += elements(x);
    pieces.push_back({x.data, typeOf(x), begin, end});
  }
  const Operand &y = spec.outputs[0];
  DLC_TRY(R::expectResult(spec, y));
  DLC_TRY(expectShape(spec, y, {}, "y"));
  return std::make_unique<Flat<R>>(device.threads(), std::move(pieces), y);
}

constexpr Kind kFlatKinds[] = {{"all_finite", bindFlat<AllFinite>},
                               {"global_norm", bindFlat<GlobalNorm>}};

} // namespace

std::span<const Kind> flatKinds() { return kFlatKinds; }

} // namespace dlc
