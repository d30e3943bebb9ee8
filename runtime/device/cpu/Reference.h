// Plain loops in double, for f64, for empty tensors, and as the truth that
// tests compare libraries with.
#pragma once

#include "runtime/device/cpu/Bf16.h"
#include "runtime/device/cpu/Checks.h"

namespace dlc {

// Elements of an operand of any float type, read and written as double.
class Elements {
public:
  explicit Elements(const Operand &operand)
      : data_(operand.data), type_(typeOf(operand)) {}

  double operator[](int64_t i) const {
    if (type_ == plan::F64)
      return reinterpret_cast<const double *>(data_)[i];
    if (type_ == plan::F32)
      return reinterpret_cast<const float *>(data_)[i];
    return toFloat(reinterpret_cast<const Bf16 *>(data_)[i]);
  }
  void set(int64_t i, double value) const {
    if (type_ == plan::F64)
      reinterpret_cast<double *>(data_)[i] = value;
    else if (type_ == plan::F32)
      reinterpret_cast<float *>(data_)[i] = static_cast<float>(value);
    else
      reinterpret_cast<Bf16 *>(data_)[i] =
          roundToBf16(static_cast<float>(value));
  }

private:
  std::byte *data_;
  plan::DType type_;
};

// True where the reference is what runs: an operand is f64, or one is empty.
bool wantsReference(const CommandSpec &spec);

// A command that calls `function`, which keeps what it needs.
template <class F> std::unique_ptr<Command> makeReference(F function) {
  class Reference final : public Command {
  public:
    explicit Reference(F function) : function_(std::move(function)) {}
    Status enqueue() override {
      function_();
      return {};
    }

  private:
    F function_;
  };
  return std::make_unique<Reference>(std::move(function));
}

} // namespace dlc
