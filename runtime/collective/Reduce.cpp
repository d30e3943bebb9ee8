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

template <class T, class Form>
void sum(void *to, const void *a, const void *b, size_t count) {
  auto *out = static_cast<T *>(to);
  auto *left = static_cast<const T *>(a);
  auto *right = static_cast<const T *>(b);
  for (size_t i = 0; i < count; ++i)
    out[i] =
        Form::template store<T>(Form::load(left[i]) + Form::load(right[i]));
}

template <class T, class Form>
void scaleAs(void *data, size_t count, double factor) {
  auto *values = static_cast<T *>(data);
  for (size_t i = 0; i < count; ++i) {
    auto value = Form::load(values[i]);
    values[i] =
        Form::template store<T>(value * static_cast<decltype(value)>(factor));
  }
}

} // namespace

SumFunction sumFunction(DType type) {
  switch (type) {
  case DType::F32:
    return sum<float, Plain>;
  case DType::F64:
    return sum<double, Plain>;
  case DType::BF16:
    return sum<uint16_t, Bf16>;
  case DType::F16:
    return sum<uint16_t, F16>;
  case DType::I64:
    return sum<int64_t, Plain>;
  case DType::I32:
    return sum<int32_t, Plain>;
  case DType::U8:
  case DType::Bool:
    return nullptr;
  }
  return nullptr;
}

void scale(void *data, size_t count, DType type, double factor) {
  if (type == DType::F32)
    scaleAs<float, Plain>(data, count, factor);
  else if (type == DType::F64)
    scaleAs<double, Plain>(data, count, factor);
  else if (type == DType::BF16)
    scaleAs<uint16_t, Bf16>(data, count, factor);
  else if (type == DType::F16)
    scaleAs<uint16_t, F16>(data, count, factor);
}

} // namespace dlc
