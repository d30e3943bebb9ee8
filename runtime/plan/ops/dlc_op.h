/* SPDX-License-Identifier: Apache-2.0 */
/* User-defined operators in a shared library, for `dlc compile
 * --op-library=FILE`. The interface is plain C, for use from any language. The
 * library exports a function named DLC_OP_LIBRARY, which returns its table:
 *
 *   static int shapes(const dlc_op_call *call) {
 *     call->outputs[0] = call->inputs[0];
 *     return 0;
 *   }
 *   static int forward(const dlc_op_call *call) {
 *     ... call->outputs[0].data ...
 *     return 0;
 *   }
 *   static const dlc_op_code codes[] = {{"cpu", forward, backward}};
 *   static const dlc_op ops[] = {{"my.domain", "MyOp", shapes, codes, 1}};
 *   static const dlc_op_library library = {DLC_OP_VERSION, ops, 1};
 *   const dlc_op_library *dlc_op_library_v1(void) { return &library; }
 *
 * It is native code that runs inside dlc, with all of its rights. The artifact
 * contains a copy of the library with its hash, which is used wherever the
 * artifact runs; other libraries that it needs must be installed there.
 *
 * An operator is a pure function of its inputs and attributes, without state or
 * random numbers: unused calls are removed, equal calls may be merged, and a
 * backward pass may repeat a call. Every function returns 0, or another value
 * after it wrote the reason to `error`. Exceptions must not leave it.
 */
#ifndef DLC_OP_H
#define DLC_OP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DLC_OP_VERSION 1
#define DLC_OP_RANK 8 /* dimensions of a tensor, at most */
#define DLC_OP_LIBRARY "dlc_op_library_v1"

/* Element types. A boolean is a byte, 0 or 1. */
enum {
  DLC_OP_F32 = 1,
  DLC_OP_F16 = 2,
  DLC_OP_BF16 = 3,
  DLC_OP_F64 = 4,
  DLC_OP_I64 = 5,
  DLC_OP_I32 = 6,
  DLC_OP_U8 = 7,
  DLC_OP_BOOL = 8
};

/* Dense, row-major. Memory belongs to dlc: inputs are read-only, outputs are
 * written, and addresses must not be kept. */
typedef struct {
  int32_t type;
  int32_t rank;
  int64_t shape[DLC_OP_RANK]; /* `rank` of them */
  void *data;                 /* on the device; aligned to 64 bytes */
} dlc_op_tensor;

/* An attribute of the ONNX node. `count` is 1 for a scalar; integers are also
 * given as `numbers`. */
typedef struct {
  const char *name;
  size_t count;
  const int64_t *integers; /* null: not integers */
  const double *numbers;   /* null: a text */
  const char *text;        /* null: not a text */
} dlc_op_attribute;

typedef struct {
  const dlc_op_tensor *inputs;
  size_t input_count;
  dlc_op_tensor *outputs;
  size_t output_count;
  const dlc_op_attribute *attributes; /* sorted by name */
  size_t attribute_count;
  void *stream; /* a CUstream to enqueue work on; null: work is complete on
                   return */
  char *error;  /* has `error_size` bytes, including the final 0 */
  size_t error_size;
} dlc_op_call;

typedef int (*dlc_op_function)(const dlc_op_call *call);

/* The code of an operator for a device. Each process calls the functions from
 * one thread at a time; with a stream they must only enqueue work, since it may
 * be recorded and replayed without them. */
typedef struct {
  const char *device; /* its name in `--target`: "cpu", "cuda" */
  dlc_op_function forward;
  /* Null: the operator has no gradient, and a model that needs it is rejected.
   * Inputs: those of the forward call, its outputs, and the gradients of its
   * floating-point outputs. Outputs: the gradients of its floating-point
   * inputs. A gradient has the shape and type of its input or output. */
  dlc_op_function backward;
} dlc_op_code;

typedef struct {
  const char *domain; /* not ONNX's own */
  const char *name;   /* op_type of the node */
  /* Called when a model is compiled: sets type, rank and shape of the outputs;
   * their number is that of the node. `data` of an input is null unless its
   * values are known then. */
  dlc_op_function shapes;
  const dlc_op_code *codes;
  size_t code_count;
} dlc_op;

typedef struct {
  uint32_t version; /* DLC_OP_VERSION */
  const dlc_op *ops;
  size_t op_count;
} dlc_op_library;

#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
const dlc_op_library *
dlc_op_library_v1(void);

#ifdef __cplusplus
}
#endif
#endif
