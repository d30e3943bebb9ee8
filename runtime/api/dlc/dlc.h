/* SPDX-License-Identifier: Apache-2.0 */
/* dlc from C, and from every language that can call C: training, evaluation
   and prediction with what `dlc compile` made. Link libdlc.so. C++ programs
   have dlc.hpp, which is this with classes; compile.h compiles models and
   exports them.

   Errors. A function that can fail returns DLC_OK (0) or the code of what went
   wrong; dlc_message() then says it in words. Nothing throws, nothing ends the
   process. A handle, buffer or text that is null is DLC_USAGE, or an empty list
   where a list is returned, unless a comment says that it may be null; a list
   without elements, a place for a `count` and a `user` may be.
   Ownership. What a function makes through a pointer to a handle is the
   caller's, to be given back by dlc_..._close(), which takes null. What a
   function returns otherwise belongs to the handle, until the call that its
   comment names. Nothing that is handed in is kept unless it is said.
   Structs. One that begins with `size` may get more fields at its end in later
   versions. Where a program makes it, or a place for it, it sets `size` to its
   sizeof and what it does not use to 0; a `size` below that of version 0.1,
   over 4096, or with anything but 0 in fields that this library does not know,
   is DLC_USAGE. The library writes no more than `size` bytes, and 0 to fields
   that it does not know. Other structs never change. Threads. One thread at a
   time uses a handle; different handles may be used at the same time. An
   artifact is machine code: open only what you trust. */
#ifndef DLC_DLC_H
#define DLC_DLC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DLC_API __attribute__((visibility("default")))

/* The exit codes of the tool `dlc`. */
typedef enum dlc_code {
  DLC_OK = 0,
  DLC_FAILED = 1,       /* a file, the data, the system */
  DLC_USAGE = 2,        /* an argument or option */
  DLC_BAD_MODEL = 3,    /* the ONNX file */
  DLC_CORRUPT = 4,      /* an artifact or checkpoint is damaged */
  DLC_INCOMPATIBLE = 5, /* made for another version, device or CPU */
  DLC_LIMIT = 6,        /* out of memory, or over a limit */
  DLC_PEER_LOST = 7,    /* another rank is gone or silent */
  DLC_DIVERGED = 8      /* the loss is no longer finite */
} dlc_code;

/* "0.1.0", of the library. */
DLC_API const char *dlc_version(void);

/* What went wrong in the last call of this thread that failed; "" if none has.
   Valid until this thread's next call that fails. */
DLC_API const char *dlc_message(void);

typedef enum dlc_level {
  DLC_INFO = 0,
  DLC_WARNING = 1,
  DLC_ERROR = 2
} dlc_level;

/* Gets the library's messages, a line each, instead of stderr; null: stderr
   again. Any thread may call it, one at a time; it must not call dlc. */
typedef void (*dlc_log)(void *user, dlc_level level, const char *line);
DLC_API void dlc_set_log(dlc_log log, void *user);

typedef enum dlc_dtype {
  DLC_F32 = 0,
  DLC_F16 = 1,
  DLC_BF16 = 2,
  DLC_F64 = 3,
  DLC_I64 = 4,
  DLC_I32 = 5,
  DLC_U8 = 6,
  DLC_BOOL = 7 /* a byte, 0 or 1 */
} dlc_dtype;

/* Bytes of an element. */
DLC_API size_t dlc_dtype_size(dlc_dtype dtype);

/* A row-major tensor in the host's memory. */
typedef struct dlc_tensor {
  const char *name;
  dlc_dtype dtype;
  int32_t rank;
  const int64_t *shape; /* `rank` sizes */
  void *data;           /* read only where dlc takes it; null: none */
  uint64_t bytes;       /* of data */
} dlc_tensor;

/* An option, as a flag of the tool without its dashes: {"epochs", "3"}. A null
   value is a flag alone. */
typedef struct dlc_option {
  const char *name;
  const char *value;
} dlc_option;

/* What an option is. */
typedef struct dlc_option_row {
  const char *name;  /* "epochs" */
  const char *word;  /* of its value, "N", "{a,b}"; "": a flag alone */
  const char *group; /* its heading among the flags of the tool */
  const char *help;  /* a sentence */
  int optional;      /* 1: it may come without a value, too */
  int list;          /* 1: the value is a list, of words between commas */
} dlc_option_row;

/* The options of a "dataset", a "session" or a "trainer", as long as the
   library is loaded; null, and *count 0, for other words. Those of dlc_compile
   are the compiler's: `dlc compile --help`. */
DLC_API const dlc_option_row *dlc_options(const char *of, size_t *count);

/* ---- Samples ------------------------------------------------------------ */

/* Named arrays of which a row is a sample; bound to a model's inputs, and
   checked, where they are used. An input is found by its name, or as "x" if it
   is the only one besides the labels, which are "y". Any number of users, also
   in several threads, may share one. */
typedef struct dlc_dataset dlc_dataset;

/* What `dlc train --data` takes, by its path: a file of arrays, tables, tokens
   or text, shards, or a folder with a folder of pictures for each class. */
DLC_API dlc_code dlc_dataset_open(const char *path, dlc_dataset **made);

/* The same with options of `dlc train` that make samples of what is there:
   "columns", "classes", "tokens", "tokenizer", "bad-samples", "scale", "mean",
   "std", "pad", "crop", "hflip", ... A run that trains on it takes them as its
   own and keeps them; what it validates on must agree. A session takes them
   instead of those of the run that it is of. */
DLC_API dlc_code dlc_dataset_open_with(const char *path,
                                       const dlc_option *options, size_t count,
                                       dlc_dataset **made);

/* Arrays in memory, which are copied. */
DLC_API dlc_code dlc_dataset_from_arrays(const dlc_tensor *arrays, size_t count,
                                         dlc_dataset **made);

/* Samples that the program makes as they are needed. */
typedef struct dlc_source {
  size_t size; /* sizeof(dlc_source) */
  void *user;
  const char *name; /* in messages; copied */
  int64_t samples;
  const dlc_tensor *columns; /* of one sample: name, dtype, shape; copied */
  size_t column_count;
  /* Writes column `column` of sample `sample` to `to`, which has a sample's
     bytes. 0, or anything else for an error, which ends what needed it. Several
     threads may call it at once. The same sample must have the same values each
     time, if a run that is resumed is to be what it would have been. */
  int (*read)(void *user, size_t column, int64_t sample, void *to);
  /* What tells this data from other data, to a run that is resumed; copied.
     Null: not known, any will do. */
  const char *identity;
  /* Called once nobody reads any more; may be null. */
  void (*release)(void *user);
} dlc_source;
DLC_API dlc_code dlc_dataset_from_source(const dlc_source *source,
                                         dlc_dataset **made);
/* Arrays in memory, read where they are: `release`, unless null, is called with
   `user` once nobody reads them any more, by any thread. Elements are aligned
   as C aligns them. If this fails, `release` is not called. */
DLC_API dlc_code dlc_dataset_from_views(const dlc_tensor *arrays, size_t count,
                                        void (*release)(void *user), void *user,
                                        dlc_dataset **made);

DLC_API void dlc_dataset_close(dlc_dataset *dataset);

/* ---- A model that is loaded --------------------------------------------- */

typedef struct dlc_session dlc_session;

/* An artifact, a run (its newest checkpoint) or a checkpoint, by path. Options:
   "threads", of a CPU; "ema", use the averages instead of the last weights;
   "no-graph"; "tune", "cache", "tf32" as of `dlc train`. A model compiled for
   several ranks evaluates and predicts, but trains with dlc_trainer only. */
DLC_API dlc_code dlc_session_open(const char *path, const dlc_option *options,
                                  size_t count, dlc_session **made);
DLC_API void dlc_session_close(dlc_session *session);

/* The inputs of "train_step", "eval_step" or "predict" without data, in the
   order in which they are given; null, and *count 0, if the model has no such
   program. Of several sizes, those of the largest; others are of programs as
   "train_step@batch=8,time=128" (dlc inspect). The session's. */
DLC_API const dlc_tensor *
dlc_session_inputs(dlc_session *session, const char *program, size_t *count);

/* One micro-batch of training: `inputs` are those of train_step in order, in
   its dtypes and shapes, those of any size that the model has; names may be
   null. Compiled with --last-batch=pad it takes "dlc.sample_weight", too: 1 for
   each sample, or 0 for what does not count and all / those that do for the
   others. *updated, unless null, is 1 if it was the last of an update, whose
   metrics are then to be had. The data is read where it is, once, and is the
   caller's again when this returns. DLC_USAGE where the learning rate's
   schedule has no length: compile with --steps, or write the state
   "schedule.steps". */
DLC_API dlc_code dlc_session_train_step(dlc_session *session,
                                        const dlc_tensor *inputs, size_t count,
                                        int *updated);
/* "loss", "lr", "grad_norm", ... of the last update. */
DLC_API dlc_code dlc_session_metric(dlc_session *session, const char *name,
                                    double *value);

/* Called after each batch of an evaluation or a prediction, by its thread, from
   now on; null: nothing is. Not 0: it ends, with DLC_FAILED. */
DLC_API void dlc_session_on_batch(dlc_session *session,
                                  int (*batch)(void *user), void *user);

typedef struct dlc_evaluation {
  size_t size; /* sizeof(dlc_evaluation), set before the call */
  double loss; /* mean over all samples */
  int has_accuracy;
  double accuracy; /* share of rows whose label was hit */
  int64_t samples;
} dlc_evaluation;
/* Samples are scaled, cropped and normalized as the run was that the session is
   of. */
DLC_API dlc_code dlc_session_evaluate(dlc_session *session,
                                      const dlc_dataset *samples,
                                      dlc_evaluation *result);

/* The outputs of predict for all samples in their order, whatever their number
   is. *outputs is the session's until its next prediction. */
DLC_API dlc_code dlc_session_predict(dlc_session *session,
                                     const dlc_dataset *samples,
                                     const dlc_tensor **outputs, size_t *count);

/* Parameters, buffers and the optimizer's state by name, without data. */
DLC_API const dlc_tensor *dlc_session_states(dlc_session *session,
                                             size_t *count);
/* `bytes` must be the state's size. Writing one takes effect with the next
   step. */
DLC_API dlc_code dlc_session_read(dlc_session *session, const char *state,
                                  void *to, uint64_t bytes);
DLC_API dlc_code dlc_session_write(dlc_session *session, const char *state,
                                   const void *from, uint64_t bytes);
/* All of it, to a new safetensors file and back. */
DLC_API dlc_code dlc_session_save(dlc_session *session, const char *path);
DLC_API dlc_code dlc_session_load(dlc_session *session, const char *path);

/* ---- A training run ----------------------------------------------------- */

typedef struct dlc_trainer dlc_trainer;

/* An update; pointers are valid during the call. */
typedef struct dlc_step {
  size_t size;              /* set by the library */
  int64_t step;             /* the first of a run is 1 */
  int64_t steps;            /* of the run */
  int64_t epoch;            /* counted from 0 */
  const char *const *names; /* "loss", "lr", ... */
  const double *values;
  size_t count;
  double samples_per_second;
} dlc_step;

/* An epoch, after its validation. */
typedef struct dlc_epoch {
  size_t size;              /* set by the library */
  int64_t epoch;            /* done */
  int64_t step;             /* done */
  const char *const *names; /* "val_loss", "val_accuracy", "ema_loss", ... */
  const double *values;
  size_t count;
} dlc_epoch;

/* Called on rank 0 by the thread that runs the trainer. Not 0: the run ends
   after this step, or on a GPU a few later, with a checkpoint. Either may be
   null. */
typedef struct dlc_callbacks {
  size_t size; /* sizeof(dlc_callbacks) */
  void *user;
  int (*step)(void *user, const dlc_step *step);
  int (*epoch)(void *user, const dlc_epoch *epoch);
} dlc_callbacks;

/* A run as of `dlc train`, whose flags are the options: "run", "epochs",
   "steps", "seed", "save-every", "keep", ... `model` is an artifact; to go on
   with a run it is null and {"resume", RUN} an option. `train` and `val` may be
   null where the options "data" and "val" name files. A process that a launcher
   started (RANK, WORLD_SIZE, ...) is a rank of its job, any other the only one.
   Unless the option {"signals", "true"} is given, signals are the program's
   own. `callbacks` may be null; it is copied, the data sets are kept. */
DLC_API dlc_code dlc_trainer_open(const char *model, const dlc_dataset *train,
                                  const dlc_dataset *val,
                                  const dlc_option *options, size_t count,
                                  const dlc_callbacks *callbacks,
                                  dlc_trainer **made);

typedef struct dlc_run {
  size_t size;        /* sizeof(dlc_run), set before the call */
  const char *folder; /* the trainer's; on ranks but 0 "" for a new run */
  int64_t steps;      /* done in all */
  int stopped;        /* 1: by a callback, before its end */
  int signal;         /* that ended it early; 0: none */
} dlc_run;

/* Trains to the end, once. `run` may be null. The run is as lasting as one of
   the tool: killed at any moment, it is resumed with the same bits. */
DLC_API dlc_code dlc_trainer_run(dlc_trainer *trainer, dlc_run *run);
DLC_API void dlc_trainer_close(dlc_trainer *trainer);

#ifdef __cplusplus
}
#endif

#endif
