/* SPDX-License-Identifier: Apache-2.0 */
/* What dlc's compiler does, from C: ONNX models to artifacts, and trained
   weights back to ONNX. Link libdlc.so (the target dlc::compiler).

   The compiler is a program of its own, dlc-compile, which these functions run
   and wait for: LLVM is not loaded into the caller's process, nor can a fault
   in it end it. It is looked for in the environment's DLC_COMPILER, a path;
   then in
   ../bin and ../../bin of libdlc.so's folder; then in PATH.

   Errors as in dlc.h: dlc_message() has what the compiler said. Its other
   messages are lines of dlc_set_log's, or of stderr. Any thread may call these
   functions, several at once. A program that ignores SIGCHLD does not learn
   what became of the compiler, which is an error. */
#ifndef DLC_COMPILE_H
#define DLC_COMPILE_H

#include "dlc/dlc.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The ONNX file `model` to the artifact `artifact`, a folder that appears
   complete or not at all; an artifact that was there is replaced. The options
   are the flags of `dlc compile` without their dashes, those that may come
   several times included: {"amp", NULL}, {"optimizer", "adamw"}. */
DLC_API dlc_code dlc_compile(const char *model, const char *artifact,
                             const dlc_option *options, size_t count);

/* An artifact, a run (its newest checkpoint) or a checkpoint to the ONNX file
   `file`. The options are the flags of `dlc export`: {"ema", NULL}. */
DLC_API dlc_code dlc_export(const char *model, const char *file,
                            const dlc_option *options, size_t count);

#ifdef __cplusplus
}
#endif
#endif
