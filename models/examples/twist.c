/* SPDX-License-Identifier: Apache-2.0 */
/* An operator of one's own for dlc: Twist, y = x * tanh(rate * x), in the
   domain "example". -I is not needed where dlc is installed.

     cc -O2 -shared -fPIC -Ibuild/include twist.c -lm -o libtwist.so
     dlc compile model.onnx --op-library=libtwist.so */
#include <dlc/dlc_op.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

static double rate_of(const dlc_op_call *call) {
  for (size_t i = 0; i < call->attribute_count; ++i)
    if (!strcmp(call->attributes[i].name, "rate") &&
        call->attributes[i].count == 1)
      return call->attributes[i].numbers[0];
  return 1;
}

static size_t elements(const dlc_op_tensor *x) {
  size_t n = 1;
  for (int32_t d = 0; d < x->rank; ++d)
    n *= (size_t)x->shape[d];
  return n;
}

static int shapes(const dlc_op_call *call) {
  if (call->input_count != 1 || call->output_count != 1 ||
      call->inputs[0].type != DLC_OP_F32) {
    snprintf(call->error, call->error_size,
             "Twist has one input of type f32 and one output");
    return 1;
  }
  call->outputs[0] = call->inputs[0];
  return 0;
}

static int forward(const dlc_op_call *call) {
  const float *x = call->inputs[0].data, rate = (float)rate_of(call);
  float *y = call->outputs[0].data;
  for (size_t i = 0, n = elements(&call->inputs[0]); i < n; ++i)
    y[i] = x[i] * tanhf(rate * x[i]);
  return 0;
}

/* Inputs: x, y, dy. Output: dx = dy (tanh(r x) + r x (1 - tanh^2(r x))). */
static int backward(const dlc_op_call *call) {
  const float *x = call->inputs[0].data, *dy = call->inputs[2].data,
              rate = (float)rate_of(call);
  float *dx = call->outputs[0].data;
  for (size_t i = 0, n = elements(&call->inputs[0]); i < n; ++i) {
    const float t = tanhf(rate * x[i]);
    dx[i] = dy[i] * (t + rate * x[i] * (1 - t * t));
  }
  return 0;
}

static const dlc_op_code codes[] = {{"cpu", forward, backward}};
static const dlc_op ops[] = {{"example", "Twist", shapes, codes, 1}};
static const dlc_op_library library = {DLC_OP_VERSION, ops, 1};

const dlc_op_library *dlc_op_library_v1(void) { return &library; }
