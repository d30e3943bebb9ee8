/* SPDX-License-Identifier: Apache-2.0 */
/* dlc's compiler from C: ONNX models to artifacts, and trained weights back to
   ONNX. Link libdlc.so (the target dlc::compiler).

   The compiler is a separate program, dlc-compile, which these functions run
   and wait for: LLVM is not loaded into the caller's process, and its faults
   cannot end it. dlc-compile is searched at the path in the environment's
   DLC_COMPILER, then in ../bin and ../../bin of libdlc.so's folder, then in
   PATH.

   Errors as in dlc.h: dlc_message() has the compiler's error. Its other
   messages go to dlc_set_log's function, or to stderr. Any number of threads
   may call these functions concurrently. A program that ignores SIGCHLD does
   not learn how the compiler ended, which is an error. */
#ifndef DLC_COMPILE_H
#define DLC_COMPILE_H

#include "dlc/dlc.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Compiles the ONNX file `model` to the artifact `artifact`, a folder that
   appears atomically and replaces an existing artifact. The options are the
   flags of `dlc compile` without dashes, and may be repeated like them:
   {"amp", NULL}, {"optimizer", "adamw"}. */
DLC_API dlc_code dlc_compile(const char *model, const char *artifact,
                             const dlc_option *options, size_t count);

/* Exports an artifact, a run (its newest checkpoint) or a checkpoint to the
   ONNX file `file`. The options are the flags of `dlc export`: {"ema", NULL}.
 */
DLC_API dlc_code dlc_export(const char *model, const char *file,
                            const dlc_option *options, size_t count);

#ifdef __cplusplus
}
#endif
#endif
