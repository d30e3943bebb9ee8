// SPDX-License-Identifier: Apache-2.0
#include "runtime/collective/Reduce.h"

#include <type_traits>

namespace dlc {
namespace {

// A number as it is stored, and as it is computed with.
struct Plain {
  template <class T> static T load(T value) { return value; }
  template <class T, class U> static T store(U value) {
    return static_cast<T>(value);
  }
};
struct Bf16 {
  static float load(uint16_t bits) { return fromBf16(bits); }
  template <class T> static uint16_t store(float value) {
    return toBf16(value);
  }
};
struct F16 {
  static float load(uint16_t bits) { return fromF16(bits); }
  template <class T> static uint16_t store(float value) { return toF16(value); }
};

template <class F> auto visit(DType type, F &&f) {
  switch (type) {
  case DType::F32:
    return f(float(), Plain());
  case DType::F64:
    return f(double(), Plain());
  case DType::BF16:
    return f(uint16_t(), Bf16());
  case DType::F16:
    return f(uint16_t(), F16());
  case DType::I64:
    return f(int64_t(), Plain());
  case DType::I32:
  default:
    return f(int32_t(), Plain());
  }
}

constexpr size_t kBlock = 1024; // elements whose sums stay near

// `count` is a constant for all blocks but the last, so that they are vectors.
template <class T, class Form, class Count>
void reduceBlock(T *to, std::span<const std::byte *const> sources, size_t first,
                 Count count, ReduceOp op) {
  const auto from = [&](size_t i) {
    return reinterpret_cast<const T *>(sources[i]) + first;
  };
  decltype(Form::load(T())) values[kBlock];
  const T *x = from(0);
  for (size_t i = 0; i < count; ++i)
    values[i] = Form::load(x[i]);
  for (size_t rank = 1; rank < sources.size(); ++rank) {
    x = from(rank);
    if (op == ReduceOp::Max)
      for (size_t i = 0; i < count; ++i) {
        const auto value = Form::load(x[i]);
        values[i] = value > values[i] || value != value ? value : values[i];
      }
    else
      for (size_t i = 0; i < count; ++i)
        values[i] += Form::load(x[i]);
  }
  using Value = std::remove_reference_t<decltype(values[0])>;
  if constexpr (std::is_floating_point_v<Value>)
    if (op == ReduceOp::Mean) {
      const auto factor = static_cast<Value>(1.0 / double(sources.size()));
      for (size_t i = 0; i < count; ++i)
        values[i] *= factor;
    }
  for (size_t i = 0; i < count; ++i)
    to[first + i] = Form::template store<T>(values[i]);
}

} // namespace

bool canReduce(DType type, ReduceOp op) {
  return isFloat(type) ||
         (op != ReduceOp::Mean && (type == DType::I64 || type == DType::I32));
}

void reduceInOrder(void *to, std::span<const std::byte *const> sources,
                   size_t count, DType type, ReduceOp op) {
  visit(type, [&]<class T, class Form>(T, Form) {
    auto *out = static_cast<T *>(to);
    size_t i = 0;
    for (; i + kBlock <= count; i += kBlock)
      reduceBlock<T, Form>(out, sources, i,
                           std::integral_constant<size_t, kBlock>(), op);
    reduceBlock<T, Form>(out, sources, i, count - i, op);
  });
}

} // namespace dlc
