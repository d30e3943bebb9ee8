// SPDX-License-Identifier: Apache-2.0
#include "test/gpu/PackedAttention.h"

#include <cmath>

namespace dlc::test {
namespace {

using Array = std::vector<double>;

Array read(const Elements &type, const void *array) {
  Array values;
  for (int64_t i = 0; i < type.count; ++i)
    values.push_back(readElement(type.type, array, i));
  return values;
}
void write(const Elements &type, void *array, const Array &values) {
  for (int64_t i = 0; i < type.count; ++i)
    writeElement(type.type, array, i, values[static_cast<size_t>(i)]);
}

// In a gradient dy is first, y and lse follow v.
AttentionValues givenTo(const PackedKernel &k,
                        const std::vector<void *> &inputs) {
  const bool isBackward = k.attention->isBackward();
  size_t next = 0;
  const auto take = [&] {
    const size_t i = next++;
    return read(k.inputs[i], inputs[i]);
  };
  AttentionValues x;
  if (isBackward)
    x.dy = take();
  x.q = take();
  x.k = take();
  x.v = take();
  if (isBackward) {
    x.y = take();
    x.lse = take();
  }
  if (!k.attention->shape.hasMask())
    return x;
  x.mask = take();
  if (k.inputs.back().type == DType::Bool)
    for (double &m : x.mask)
      m = m != 0 ? 0 : -INFINITY;
  return x;
}

} // namespace

void completeInputs(const PackedKernel &k, const std::vector<void *> &inputs) {
  if (!k.attention->isBackward())
    return;
  AttentionValues x = givenTo(k, inputs);
  attentionForward(k.attention->shape, x);
  write(k.inputs[4], inputs[4], x.y);
  write(k.inputs[5], inputs[5], x.lse);
}

void runOnHost(const PackedKernel &k, const std::vector<void *> &inputs,
               const std::vector<void *> &outputs) {
  AttentionValues x = givenTo(k, inputs);
  if (k.attention->isBackward())
    attentionBackward(k.attention->shape, x);
  else
    attentionForward(k.attention->shape, x);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string &name = k.attention->results[i];
    write(k.outputs[i], outputs[i],
          name == "y"     ? x.y
          : name == "lse" ? x.lse
          : name == "dq"  ? x.dq
          : name == "dk"  ? x.dk
                          : x.dv);
  }
}

} // namespace dlc::test
