// SPDX-License-Identifier: Apache-2.0
#include "runtime/collective/Reduce.h"
#include "runtime/base/numbers/Forms.h"

#include <type_traits>

namespace dlc {
namespace {

constexpr size_t kBlock = 1024; // elements whose sums stay in the cache

// `count` is a constant for all blocks but the last, to vectorise the loop.
template <class Form, class Count>
void reduceBlock(typename Form::Word *to,
                 std::span<const std::byte *const> sources, size_t first,
                 Count count, ReduceOp op) {
  const auto from = [&](size_t i) {
    return reinterpret_cast<const typename Form::Word *>(sources[i]) + first;
  };
  using Value = typename Form::Value;
  Value values[kBlock];
  const auto *x = from(0);
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
  if constexpr (std::is_floating_point_v<Value>)
    if (op == ReduceOp::Mean) {
      const auto factor = static_cast<Value>(1.0 / double(sources.size()));
      for (size_t i = 0; i < count; ++i)
        values[i] *= factor;
    }
  for (size_t i = 0; i < count; ++i)
    to[first + i] = Form::store(values[i]);
}

} // namespace

bool canReduce(DType type, ReduceOp op) {
  return isFloat(type) ||
         (op != ReduceOp::Mean && (type == DType::I64 || type == DType::I32));
}

void reduceInOrder(void *to, std::span<const std::byte *const> sources,
                   size_t count, DType type, ReduceOp op) {
  withForm(type, [&]<class Form>(Form) {
    auto *out = static_cast<typename Form::Word *>(to);
    size_t i = 0;
    for (; i + kBlock <= count; i += kBlock)
      reduceBlock<Form>(out, sources, i,
                        std::integral_constant<size_t, kBlock>(), op);
    reduceBlock<Form>(out, sources, i, count - i, op);
  });
}

} // namespace dlc
