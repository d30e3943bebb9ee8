/* SPDX-License-Identifier: Apache-2.0 */
/* Operators of your own, in a shared library that `dlc compile
 * --op-library=FILE` is given: plain C, so that any language makes one. The
 * library has one function of the name DLC_OP_LIBRARY, which returns its table:
 *
 *   static int shapes(const dlc_op_call *call) { call->outputs[0] =
 * call->inputs[0]; return 0; } static int forward(const dlc_op_call *call) {
 * ... call->outputs[0].data ...; return 0; } static const dlc_op_code codes[] =
 * {{"cpu", forward, backward}}; static const dlc_op ops[] = {{"my.domain",
 * "MyOp", shapes, codes, 1}}; static const dlc_op_library library =
 * {DLC_OP_VERSION, ops, 1}; const dlc_op_library *dlc_op_library_v1(void) {
 * return &library; }
 *
 * It is native code that runs inside dlc: with what it may do, nothing is
 * checked. The artifact keeps a copy of it with its hash, which runs wherever
 * the artifact does; other libraries that it needs must be there.
 *
 * An operator is a function of its inputs and attributes: no state, no random
 * numbers. A call that is not needed is left out, two of the same inputs may be
 * one, and a backward pass may make one again. Every function returns 0, or
 * anything else after it wrote why to `error`. Exceptions must not leave them.
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

/* Dense, row-major. Memory belongs to dlc: read inputs, write outputs, keep
 * neither. */
typedef struct {
  int32_t type;
  int32_t rank;
  int64_t shape[DLC_OP_RANK]; /* `rank` of them */
  void *data;                 /* on the device; aligned to 64 bytes */
} dlc_op_tensor;

/* An attribute of the ONNX node. Of a number `count` is 1; integers are there
 * as `numbers`, too. */
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
  void *stream; /* what to enqueue on: a CUstream; null where work is done on
                   return */
  char *error;  /* room for `error_size` bytes with the 0 at the end */
  size_t error_size;
} dlc_op_call;

typedef int (*dlc_op_function)(const dlc_op_call *call);

/* What computes an operator on a device. The functions are called from one
 * thread at a time in each process; those of a device with a stream only
 * enqueue, since what they enqueue may be recorded and run again without them.
 */
typedef struct {
  const char *device; /* as `--target` calls it: "cpu", "cuda" */
  dlc_op_function forward;
  /* Null: no gradient flows through the operator, and a model that needs one is
   * refused. Inputs: those of the forward call, its outputs, and the gradients
   * of its floating-point outputs. Outputs: the gradients of its floating-point
   * inputs. A gradient has the shape and type of what it belongs to. */
  dlc_op_function backward;
} dlc_op_code;

typedef struct {
  const char *domain; /* not ONNX's own */
  const char *name;   /* op_type of the node */
  /* Called when a model is compiled: sets type, rank and shape of the outputs,
   * whose number the node says. `data` of an input is null unless its values
   * are known then. */
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
