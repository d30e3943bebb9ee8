/* SPDX-License-Identifier: Apache-2.0 */
/* dlc's C interface, also for languages with a C foreign function interface:
   training, evaluation and prediction with artifacts of `dlc compile`. Link
   libdlc.so. dlc.hpp has C++ classes over it; compile.h compiles and exports
   models.

   Errors. A function that can fail returns DLC_OK (0) or an error code;
   dlc_message() then returns the message. No function throws or ends the
   process. A null handle, buffer or string is DLC_USAGE, or returns an empty
   list, unless a comment allows null; a list without elements, a pointer to a
   `count` and a `user` may always be null.
   Ownership. The caller owns a handle that a function creates, and releases it
   by dlc_..._close(), which accepts null. Other returned data belongs to the
   handle, until the call that the comment names. Arguments are not kept unless
   a comment says so.
   Structs. A struct that begins with `size` may get more fields at its end in
   later versions. A program that creates one, or provides one for results, sets
   `size` to its sizeof and unused fields to 0. A `size` below that of version
   0.1 or over 4096, or a nonzero field that this library does not know, is
   DLC_USAGE. The library writes at most `size` bytes, and 0 to fields that it
   does not know. Other structs never change.
   Threads. A handle is for one thread at a time; different handles may be used
   concurrently. A forked process can use its parent's sessions on CPUs, but not
   its trainers. An artifact is machine code: open only trusted artifacts. */
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
  DLC_PEER_LOST = 7,    /* another rank is lost */
  DLC_DIVERGED = 8      /* the loss is no longer finite */
} dlc_code;

/* The library's version, "0.1.0". */
DLC_API const char *dlc_version(void);

/* The message of this thread's last failed call; "" if none has failed. Valid
   until this thread's next failed call. */
DLC_API const char *dlc_message(void);

typedef enum dlc_level {
  DLC_INFO = 0,
  DLC_WARNING = 1,
  DLC_ERROR = 2,
  DLC_PROGRESS = 3 /* where a run is: it replaces the last such line */
} dlc_level;

/* Receives the library's messages, one line each, instead of stderr; null:
   stderr again. Called by any thread, one at a time; it must not call dlc. */
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
  const int64_t *shape; /* `rank` dimensions */
  void *data;           /* only read where it is an argument; null: none */
  uint64_t bytes;       /* of data */
} dlc_tensor;

/* An option: a flag of the tool without dashes: {"epochs", "3"}. A null value
   means a flag without a value. */
typedef struct dlc_option {
  const char *name;
  const char *value;
} dlc_option;

/* The description of an option. */
typedef struct dlc_option_row {
  const char *name;  /* "epochs" */
  const char *word;  /* the value's form, "N", "{a,b}"; "": no value */
  const char *group; /* its heading in the tool's help */
  const char *help;  /* its help text */
  int optional;      /* 1: the value may be omitted */
  int list;          /* 1: the value is a comma-separated list */
} dlc_option_row;

/* The options of a "dataset", a "session" or a "trainer", valid while the
   library is loaded; null, and *count 0, for other words. `dlc compile --help`
   lists those of dlc_compile. */
DLC_API const dlc_option_row *dlc_options(const char *of, size_t *count);

/* ---- Samples ------------------------------------------------------------ */

/* Named arrays whose rows are the samples. They are checked and bound to a
   model's inputs by the function that uses them: by the input's name, or as "x"
   if the model has a single input besides the labels, which are "y". Sessions
   and trainers may share a data set, also in several threads. */
typedef struct dlc_dataset dlc_dataset;

/* Opens a path as `dlc train --data` does: a file of arrays, tables, tokens or
   text, shards, or a folder with one folder of pictures per class. */
DLC_API dlc_code dlc_dataset_open(const char *path, dlc_dataset **made);

/* The same with the options of `dlc train` that select and preprocess samples:
   "columns", "classes", "tokens", "tokenizer", "bad-samples", "scale", "mean",
   "std", "pad", "crop", "hflip", ... A run that trains on the data set stores
   them; its validation data must have the same ones. A session uses them
   instead of its run's. */
DLC_API dlc_code dlc_dataset_open_with(const char *path,
                                       const dlc_option *options, size_t count,
                                       dlc_dataset **made);

/* Arrays in memory, which are copied. */
DLC_API dlc_code dlc_dataset_from_arrays(const dlc_tensor *arrays, size_t count,
                                         dlc_dataset **made);

/* Samples that the program provides on demand. */
typedef struct dlc_source {
  size_t size; /* sizeof(dlc_source) */
  void *user;
  const char *name; /* in messages; copied */
  int64_t samples;
  const dlc_tensor *columns; /* of one sample: name, dtype, shape; copied */
  size_t column_count;
  /* Writes column `column` of sample `sample` to `to`, which has the bytes of
     one sample. Returns 0, or another number for an error, which ends the
     caller. Several threads may call it concurrently. A sample must have the
     same values each time, so that resumed runs are exact. */
  int (*read)(void *user, size_t column, int64_t sample, void *to);
  /* Identifies the data for a resumed run; copied. Null: unknown, not
     checked. */
  const char *identity;
  /* Called after the last read; may be null. */
  void (*release)(void *user);
} dlc_source;
DLC_API dlc_code dlc_dataset_from_source(const dlc_source *source,
                                         dlc_dataset **made);
/* Arrays in memory, without a copy: `release`, unless null, is called with
   `user` by any thread after the last read. Elements have C's alignment. If
   this function fails, `release` is not called. */
DLC_API dlc_code dlc_dataset_from_views(const dlc_tensor *arrays, size_t count,
                                        void (*release)(void *user), void *user,
                                        dlc_dataset **made);

DLC_API void dlc_dataset_close(dlc_dataset *dataset);

/* ---- A model that is loaded --------------------------------------------- */

typedef struct dlc_session dlc_session;

/* Opens an artifact, a run (its newest checkpoint) or a checkpoint. Options:
   "threads" (CPU); "ema", moving averages instead of the weights; "no-graph",
   "tune", "cache", "tf32" as for `dlc train`. A model compiled for several
   ranks evaluates and predicts, but trains only with dlc_trainer. */
DLC_API dlc_code dlc_session_open(const char *path, const dlc_option *options,
                                  size_t count, dlc_session **made);
DLC_API void dlc_session_close(dlc_session *session);

/* The inputs of "train_step", "eval_step" or "predict" without data, in
   argument order; null, and *count 0, if the model has no such program. With
   several sizes, those of the largest; other sizes are programs such as
   "train_step@batch=8,time=128" (dlc inspect). Owned by the session. */
DLC_API const dlc_tensor *
dlc_session_inputs(dlc_session *session, const char *program, size_t *count);

/* Trains on one micro-batch: `inputs` are train_step's in order, with its
   dtypes and the shapes of any compiled size; names may be null. A model
   compiled with
   --last-batch=pad also takes "dlc.sample_weight": 1 for each sample, or 0 for
   padding and (all samples / real samples) for the others. *updated, unless
   null, is 1 after the last micro-batch of an update, whose metrics are then
   available. The data is read before this returns, without a copy. DLC_USAGE if
   the learning-rate schedule has no length: compile with --steps, or write the
   state "schedule.steps". */
DLC_API dlc_code dlc_session_train_step(dlc_session *session,
                                        const dlc_tensor *inputs, size_t count,
                                        int *updated);
/* "loss", "lr", "grad_norm", ... of the last update. */
DLC_API dlc_code dlc_session_metric(dlc_session *session, const char *name,
                                    double *value);

/* Sets a function that is called after each batch of an evaluation or a
   prediction, by its thread; null: none. A result other than 0 ends it with
   DLC_FAILED. */
DLC_API void dlc_session_on_batch(dlc_session *session,
                                  int (*batch)(void *user), void *user);

typedef struct dlc_evaluation {
  size_t size; /* sizeof(dlc_evaluation), set before the call */
  double loss; /* mean over all samples */
  int has_accuracy;
  double accuracy; /* share of correct rows */
  int64_t samples;
} dlc_evaluation;
/* Samples get the preprocessing of the session's run. */
DLC_API dlc_code dlc_session_evaluate(dlc_session *session,
                                      const dlc_dataset *samples,
                                      dlc_evaluation *result);

/* The outputs of predict for all samples, in order, for any number of samples.
   The session owns *outputs, until its next prediction. */
DLC_API dlc_code dlc_session_predict(dlc_session *session,
                                     const dlc_dataset *samples,
                                     const dlc_tensor **outputs, size_t *count);

/* Parameters, buffers and the optimizer's state by name, without data. */
DLC_API const dlc_tensor *dlc_session_states(dlc_session *session,
                                             size_t *count);
/* `bytes` must be the state's size. A write takes effect with the next step. */
DLC_API dlc_code dlc_session_read(dlc_session *session, const char *state,
                                  void *to, uint64_t bytes);
DLC_API dlc_code dlc_session_write(dlc_session *session, const char *state,
                                   const void *from, uint64_t bytes);
/* All state, to a new safetensors file and back. */
DLC_API dlc_code dlc_session_save(dlc_session *session, const char *path);
DLC_API dlc_code dlc_session_load(dlc_session *session, const char *path);

/* ---- A training run ----------------------------------------------------- */

typedef struct dlc_trainer dlc_trainer;

/* An update; pointers are valid during the call. */
typedef struct dlc_step {
  size_t size;              /* set by the library */
  int64_t step;             /* the first of a run is 1 */
  int64_t steps;            /* of the run */
  int64_t epoch;            /* from 0 */
  const char *const *names; /* "loss", "lr", ... */
  const double *values;
  size_t count;
  double samples_per_second;
} dlc_step;

/* An epoch, after its validation. */
typedef struct dlc_epoch {
  size_t size;              /* set by the library */
  int64_t epoch;            /* completed epochs */
  int64_t step;             /* completed steps */
  const char *const *names; /* "val_loss", "val_accuracy", "ema_loss", ... */
  const double *values;
  size_t count;
} dlc_epoch;

/* Called on rank 0 by the thread that runs the trainer. A result other than 0
   ends the run with a checkpoint, after this step or, on a GPU, a few steps
   later. Either may be null. */
typedef struct dlc_callbacks {
  size_t size; /* sizeof(dlc_callbacks) */
  void *user;
  int (*step)(void *user, const dlc_step *step);
  int (*epoch)(void *user, const dlc_epoch *epoch);
} dlc_callbacks;

/* A run like `dlc train`'s, whose flags are the options: "run", "epochs",
   "steps", "seed", "save-every", "keep", ... `model` is an artifact; to resume
   a run it is null, with the option {"resume", RUN}. `train` and `val` may be
   null if the options "data" and "val" name files. A process started by a
   launcher (RANK, WORLD_SIZE, ...) is a rank of its job, any other process the
   only rank. Signals are left to the program unless the option {"signals",
   "true"} is given. `callbacks` may be null and is copied; the data sets are
   kept. */
DLC_API dlc_code dlc_trainer_open(const char *model, const dlc_dataset *train,
                                  const dlc_dataset *val,
                                  const dlc_option *options, size_t count,
                                  const dlc_callbacks *callbacks,
                                  dlc_trainer **made);

typedef struct dlc_run {
  size_t size;        /* sizeof(dlc_run), set before the call */
  const char *folder; /* owned by the trainer; "" on ranks other than 0 for
                         a new run */
  int64_t steps;      /* completed steps in all */
  int stopped;        /* 1: ended early by a callback */
  int signal;         /* the signal that ended it early; 0: none */
} dlc_run;

/* Trains to the end, once, and leaves the run's folder to others. `run` may be
   null. The run is as durable as one of the tool: killed at any moment, it
   resumes with the same bits. */
DLC_API dlc_code dlc_trainer_run(dlc_trainer *trainer, dlc_run *run);
DLC_API void dlc_trainer_close(dlc_trainer *trainer);

#ifdef __cplusplus
}
#endif

#endif
