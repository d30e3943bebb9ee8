// SPDX-License-Identifier: Apache-2.0
// Plain loops in f64: for f64, empty tensors, and tests.
#pragma once

#include "runtime/device/commands/Checks.h"
#include "runtime/device/cpu/Dispatch.h"
#include "runtime/device/cpu/Half.h"

namespace dlc {

// Elements of an operand of any float type, read and written as f64.
class Elements {
public:
  explicit Elements(const Operand &operand)
      : data_(operand.data), type_(typeOf(operand)) {}

  double operator[](int64_t i) const {
    return dispatchFloat(type_, [&]<class T>(T) -> double {
      return load(reinterpret_cast<const T *>(data_)[i]);
    });
  }
  void set(int64_t i, double value) const {
    dispatchFloat(type_, [&]<class T>(T) {
      store(reinterpret_cast<T *>(data_)[i], static_cast<Compute<T>>(value));
    });
  }

private:
  std::byte *data_;
  plan::DType type_;
};

// Whether the reference is used: an operand is f64 or empty.
bool wantsReference(const CommandSpec &spec);

// A command that calls `function`, which must own its data and may return a
// Status.
template <class F> std::unique_ptr<Command> makeReference(F function) {
  class Reference final : public Command {
  public:
    explicit Reference(F function) : function_(std::move(function)) {}
    Status enqueue() override {
      if constexpr (std::is_same_v<decltype(function_()), Status>) {
        return function_();
      } else {
        function_();
        return {};
      }
    }

  private:
    F function_;
  };
  return std::make_unique<Reference>(std::move(function));
}

} // namespace dlc
