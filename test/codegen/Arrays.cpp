// SPDX-License-Identifier: Apache-2.0
#include "Kernels.h"
#include <cmath>
#include <random>

namespace dlc::test {
namespace {

template <class F> auto dispatch(const std::string &type, F f) {
  if (type == "f64")
    return f(double());
  if (type == "f32")
    return f(float());
  if (type == "i64")
    return f(int64_t());
  if (type == "i32")
    return f(int32_t());
  return f(uint8_t()); // i8 is u8; i1 is stored as a byte
}
int64_t width(const std::string &type) {
  if (type == "bf16" || type == "f16")
    return 2;
  return dispatch(type, [](auto t) { return (int64_t)sizeof t; });
}
float fromBits(uint32_t bits) {
  float f;
  std::memcpy(&f, &bits, 4);
  return f;
}
uint16_t toBf16(double v) {
  float f = (float)v;
  uint32_t bits;
  std::memcpy(&bits, &f, 4);
  if (std::isnan(f))
    return 0x7fc0;
  return (uint16_t)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

} // namespace

float roundToBf16(double v) { return fromBits((uint32_t)toBf16(v) << 16); }

Array::Array(std::string type, std::vector<int64_t> shape)
    : type(std::move(type)), shape(std::move(shape)) {
  bytes.resize(size() * width(this->type));
}
Array::Array(std::string type, std::vector<int64_t> shape,
             const std::function<double(int64_t)> &f)
    : Array(std::move(type), std::move(shape)) {
  for (int64_t i = 0; i < size(); ++i)
    set(i, f(i));
}
int64_t Array::size() const {
  int64_t n = 1;
  for (int64_t s : shape)
    n *= s;
  return n;
}
double Array::get(int64_t i) const {
  if (type == "bf16" || type == "f16") {
    uint16_t bits;
    std::memcpy(&bits, &bytes[i * 2], 2);
    if (type == "bf16")
      return fromBits((uint32_t)bits << 16);
    _Float16 half;
    std::memcpy(&half, &bits, 2);
    return (double)half;
  }
  return dispatch(type, [&](auto t) {
    std::memcpy(&t, &bytes[i * sizeof t], sizeof t);
    return (double)t;
  });
}
void Array::set(int64_t i, double v) {
  if (type == "bf16") {
    uint16_t bits = toBf16(v);
    std::memcpy(&bytes[i * 2], &bits, 2);
  } else if (type == "f16") {
    _Float16 half = (_Float16)v;
    std::memcpy(&bytes[i * 2], &half, 2);
  } else {
    dispatch(type, [&](auto t) {
      t = static_cast<decltype(t)>(v);
      std::memcpy(&bytes[i * sizeof t], &t, sizeof t);
    });
  }
}

std::function<double(int64_t)> uniform(double low, double high, unsigned seed) {
  auto random = std::make_shared<std::mt19937>(seed);
  return [=](int64_t) {
    return std::uniform_real_distribution<>(low, high)(*random);
  };
}

std::string tensor(const Sizes &shape, const std::string &type) {
  std::string s = "tensor<";
  for (int64_t d : shape)
    s += std::to_string(d) + "x";
  return s + type + ">";
}
std::string list(const Sizes &v) {
  std::string s = "array<i64";
  for (size_t i = 0; i < v.size(); ++i)
    s += (i ? ", " : ": ") + std::to_string(v[i]);
  return s + ">";
}
std::string module(const std::string &kernels) {
  return "module {\n" + kernels + "}\n";
}

} // namespace dlc::test
