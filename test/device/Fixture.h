// SPDX-License-Identifier: Apache-2.0
// One command on made-up tensors: the same values in every precision, so that
// a device's results are compared with the plain loops in f64.
#pragma once

#include "ProductEpilogues.h"
#include "runtime/base/numbers/DType.h"
#include "runtime/device/cpu/CpuDevice.h"
#include "runtime/plan/Types.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <span>
#include <variant>

namespace dlc::test {

using Shape = std::vector<int64_t>;
using Value = std::variant<int64_t, double, std::string, Shape>;
using Attributes = std::map<std::string, Value>;

inline constexpr double kInf = std::numeric_limits<double>::infinity();
// A case by its own name.
inline constexpr auto nameOf = [](const auto &info) { return info.param.name; };

inline int64_t count(const Shape &shape) {
  int64_t n = 1;
  for (int64_t dim : shape)
    n *= dim;
  return n;
}

// Random values that all types hold exactly, so that all precisions start
// from the same numbers: multiples of 1/16 in [-2, 2].
inline std::vector<double> randomValues(int64_t n, int seed) {
  std::mt19937 random(seed);
  std::vector<double> values(n);
  for (double &value : values)
    value = static_cast<double>(static_cast<int>(random() % 65) - 32) / 16;
  return values;
}

// Any type, with its elements as double.
class Tensor {
public:
  Tensor(plan::DType type, const Shape &shape) {
    type_.set_dtype(type);
    for (int64_t dim : shape)
      type_.add_shape(dim);
    bytes_.resize(plan::bytesOf(type_).value() + 64, std::byte(0xff));
  }
  Tensor(plan::DType type, const Shape &shape,
         const std::vector<double> &values)
      : Tensor(type, shape) {
    for (size_t i = 0; i < values.size(); ++i)
      set(static_cast<int64_t>(i), values[i]);
  }

  Tensor(Tensor &&) = default; // no copy: it would lose the alignment

  int64_t size() const {
    return static_cast<int64_t>(*checkedElements(type_.shape()));
  }
  double operator[](int64_t i) const;
  void set(int64_t i, double value);
  std::vector<double> values() const {
    std::vector<double> result(size());
    for (int64_t i = 0; i < size(); ++i)
      result[i] = (*this)[i];
    return result;
  }
  std::span<const std::byte> raw() const {
    return {data(), *plan::bytesOf(type_)};
  }
  Operand operand() { return {data(), &type_}; }

private:
  std::byte *data() const {
    auto address = reinterpret_cast<uintptr_t>(bytes_.data());
    return reinterpret_cast<std::byte *>((address + 63) / 64 * 64);
  }
  plan::TensorType type_;
  mutable std::vector<std::byte> bytes_;
};

inline double Tensor::operator[](int64_t i) const {
  const std::byte *at = data();
  switch (type_.dtype()) {
  case plan::F64:
    return reinterpret_cast<const double *>(at)[i];
  case plan::F32:
    return reinterpret_cast<const float *>(at)[i];
  case plan::F16:
    return fromF16(reinterpret_cast<const uint16_t *>(at)[i]);
  case plan::BF16:
    return fromBf16(reinterpret_cast<const uint16_t *>(at)[i]);
  case plan::I64:
    return static_cast<double>(reinterpret_cast<const int64_t *>(at)[i]);
  default:
    return static_cast<double>(reinterpret_cast<const uint8_t *>(at)[i]);
  }
}

inline void Tensor::set(int64_t i, double value) {
  std::byte *at = data();
  switch (type_.dtype()) {
  case plan::F64:
    reinterpret_cast<double *>(at)[i] = value;
    break;
  case plan::F32:
    reinterpret_cast<float *>(at)[i] = static_cast<float>(value);
    break;
  case plan::F16:
    reinterpret_cast<uint16_t *>(at)[i] = toF16(static_cast<float>(value));
    break;
  case plan::BF16:
    reinterpret_cast<uint16_t *>(at)[i] = toBf16(static_cast<float>(value));
    break;
  case plan::I64:
    reinterpret_cast<int64_t *>(at)[i] = static_cast<int64_t>(value);
    break;
  default:
    reinterpret_cast<uint8_t *>(at)[i] =
        static_cast<uint8_t>(static_cast<int64_t>(value));
  }
}

inline plan::Command makeCommand(const std::string &kind,
                                 const Attributes &attributes) {
  plan::Command command;
  command.set_kind(kind);
  command.set_label("node");
  for (const auto &[name, value] : attributes) {
    plan::Attribute &attribute = *command.add_attributes();
    attribute.set_name(name);
    if (auto i = std::get_if<int64_t>(&value))
      attribute.set_i(*i);
    else if (auto f = std::get_if<double>(&value))
      attribute.set_f(*f);
    else if (auto s = std::get_if<std::string>(&value))
      attribute.set_s(*s);
    else
      for (int64_t element : std::get<Shape>(value))
        attribute.mutable_ints()->add_values(element);
  }
  return command;
}

// `command` must outlive it, and so must the tensors.
inline CommandSpec specOf(const plan::Command &command,
                          std::vector<Tensor> &inputs,
                          std::vector<Tensor> &outputs) {
  CommandSpec spec{command, {}, {}};
  for (Tensor &tensor : inputs)
    spec.inputs.push_back(tensor.operand());
  for (Tensor &tensor : outputs)
    spec.outputs.push_back(tensor.operand());
  return spec;
}

// Binds and runs; the error of either.
inline Status tryRun(Device &device, const std::string &kind,
                     const Attributes &attributes, std::vector<Tensor> &inputs,
                     std::vector<Tensor> &outputs) {
  const plan::Command command = makeCommand(kind, attributes);
  const CommandSpec spec = specOf(command, inputs, outputs);
  auto bound = device.bind(spec);
  return bound ? (*bound)->enqueue() : bound.status();
}

// A command described once and run in any precision. Element types: F32 stands
// for "the precision of the case"; operands that are not float, or that stay
// f32 when the rest is a half, say so.
struct Case {
  struct Slot {
    Shape shape;
    plan::DType fixed = plan::DTYPE_INVALID; // not the case's precision
    std::vector<double> values = {};         // empty: random
  };
  std::string kind;
  Attributes attributes;
  std::vector<Slot> inputs, outputs;
};

inline plan::DType typeOf(const Case::Slot &slot, plan::DType type) {
  if (slot.fixed == plan::DTYPE_INVALID)
    return type;
  return slot.fixed == plan::F32 && type == plan::F64 ? plan::F64 : slot.fixed;
}

inline std::vector<Tensor> makeInputs(const Case &c, plan::DType type) {
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    const Case::Slot &slot = c.inputs[i];
    tensors.emplace_back(
        typeOf(slot, type), slot.shape,
        slot.values.empty()
            ? randomValues(count(slot.shape), static_cast<int>(i) + 1)
            : slot.values);
  }
  return tensors;
}

inline std::vector<Tensor> makeOutputs(const Case &c, plan::DType type) {
  std::vector<Tensor> tensors;
  for (const Case::Slot &slot : c.outputs)
    tensors.emplace_back(typeOf(slot, type), slot.shape);
  return tensors;
}

inline std::vector<Tensor> run(const Case &c, plan::DType type, int threads) {
  CpuDevice device(threads);
  device.add(productEpilogues());
  auto inputs = makeInputs(c, type), outputs = makeOutputs(c, type);
  const plan::Command command = makeCommand(c.kind, c.attributes);
  auto bound = device.bind(specOf(command, inputs, outputs));
  if (!bound) {
    ADD_FAILURE() << bound.status().message();
    return outputs;
  }
  // Commands share the workspace: one finds what others left there.
  std::fill_n(device.workspace().data(), device.workspace().bytes(),
              std::byte{0xff});
  const Status status = (*bound)->enqueue();
  EXPECT_TRUE(status.ok()) << status.message();
  return outputs;
}

// Error of a tensor relative to the largest element of the truth.
inline double relativeError(const Tensor &found, const Tensor &truth) {
  double error = 0, scale = 1e-30;
  for (int64_t i = 0; i < truth.size(); ++i) {
    if (std::isnan(found[i]) != std::isnan(truth[i]))
      return INFINITY;
    if (!std::isnan(truth[i]))
      error = std::max(error, std::abs(found[i] - truth[i]));
    scale = std::max(scale, std::abs(truth[i]));
  }
  return error / scale;
}

// Outputs on the device that a program judges (Judged.cpp here and in
// test/gpu); none if it has no code for the case, and says so.
std::optional<std::vector<Tensor>> runJudged(const Case &c, plan::DType type,
                                             int threads);
extern const double kSlack; // factor of f32's tolerance on that device
// Its attention is of f32, too, and adds masks of f32; else it is of halves,
// and masks are of their type.
extern const bool kAttendsInF32;

// f32, bf16 and f16, which has three more bits, agree with the f64 loops.
inline void expectConforms(const Case &c, double f32 = 2e-6,
                           double bf16 = 1e-2) {
  const auto truth = run(c, plan::F64, 1);
  for (auto [type, tolerance] :
       {std::pair(plan::F32, kSlack * f32),
        std::pair(plan::BF16, std::max(kSlack * f32, bf16)),
        std::pair(plan::F16, std::max(kSlack * f32, bf16 / 8))}) {
    const auto found = runJudged(c, type, 2);
    for (size_t i = 0; found && i < truth.size(); ++i)
      EXPECT_LE(relativeError((*found)[i], truth[i]), tolerance)
          << c.kind << " output " << i << " in " << plan::DType_Name(type);
  }
}

// The same bits with one thread and with several.
inline void expectThreadInvariant(const Case &c, plan::DType type,
                                  std::initializer_list<int> counts = {2, 3,
                                                                       7}) {
  const auto one = run(c, type, 1);
  for (int threads : counts) {
    const auto many = run(c, type, threads);
    for (size_t i = 0; i < one.size(); ++i)
      EXPECT_EQ(0, std::memcmp(one[i].raw().data(), many[i].raw().data(),
                               one[i].raw().size()))
          << c.kind << " output " << i << " with " << threads << " threads";
  }
}

// d(sum of weights * forward(inputs)) / d(inputs[which]) by central differences
// in f64 equals `gradient`; `output` is the forward's that is weighed.
inline void expectIsGradient(const Case &forward, size_t which, size_t output,
                             const std::vector<double> &weights,
                             const std::vector<double> &gradient) {
  CpuDevice device(1);
  device.add(productEpilogues());
  auto inputs = makeInputs(forward, plan::F64);
  auto outputs = makeOutputs(forward, plan::F64);
  const auto objective = [&] {
    const Status status =
        tryRun(device, forward.kind, forward.attributes, inputs, outputs);
    EXPECT_TRUE(status.ok()) << status.message();
    double sum = 0;
    for (int64_t i = 0; i < outputs[output].size(); ++i)
      sum += weights[i] * outputs[output][i];
    return sum;
  };
  constexpr double kStep = 1e-4;
  ASSERT_EQ(static_cast<int64_t>(gradient.size()), inputs[which].size());
  for (int64_t i = 0; i < inputs[which].size(); ++i) {
    const double value = inputs[which][i];
    inputs[which].set(i, value + kStep);
    const double above = objective();
    inputs[which].set(i, value - kStep);
    const double below = objective();
    inputs[which].set(i, value);
    EXPECT_NEAR((above - below) / (2 * kStep), gradient[i], 2e-6)
        << forward.kind << " input " << which << " element " << i;
  }
}

} // namespace dlc::test
