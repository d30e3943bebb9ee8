/* SPDX-License-Identifier: Apache-2.0 */
/* Training and prediction from C, a batch at a time:
   embed_c MODEL.dlc STEPS

   The model takes x [batch, ...] and labels y [batch]; it learns whether the
   first half of its numbers is larger than the second. */
#include <dlc/dlc.h>

#include <stdio.h>
#include <stdlib.h>

static int fail(dlc_code code) {
  fprintf(stderr, "error: %s\n", dlc_message());
  return code;
}

/* Fills a batch with samples that `seed` decides. */
static void fill(float *x, int64_t *y, int64_t rows, int64_t columns,
                 unsigned seed) {
  for (int64_t r = 0; r < rows; ++r) {
    y[r] = (seed + (unsigned)r) % 2;
    for (int64_t c = 0; c < columns; ++c) {
      const int first = c < columns / 2;
      seed = seed * 1664525u + 1013904223u;
      x[r * columns + c] =
          (first == (int)y[r] ? 1.0f : 0.0f) + (float)(seed >> 24) / 256.0f;
    }
  }
}

/* Steps, then what the model says of a batch that it has not seen. */
static dlc_code run(dlc_session *session, long steps, float *x, int64_t *y,
                    dlc_tensor *inputs) {
  const int64_t rows = inputs[0].shape[0];
  const int64_t columns = (int64_t)(inputs[0].bytes / sizeof(float)) / rows;
  const dlc_tensor *outputs;
  dlc_dataset *unseen;
  dlc_code code;
  double loss = 0;
  size_t count;
  int64_t right = 0;

  for (long step = 0; step < steps; ++step) {
    fill(x, y, rows, columns, (unsigned)step);
    if ((code = dlc_session_train_step(session, inputs, 2, NULL)) ||
        (code = dlc_session_metric(session, "loss", &loss)))
      return code;
  }
  fill(x, y, rows, columns, 99999);
  if ((code = dlc_dataset_from_arrays(inputs, 1, &unseen)))
    return code;
  code = dlc_session_predict(session, unseen, &outputs, &count);
  dlc_dataset_close(unseen);
  if (code)
    return code;
  for (int64_t r = 0; r < rows; ++r) {
    const float *logits =
        (const float *)outputs[0].data + r * outputs[0].shape[1];
    right += (logits[1] > logits[0]) == (int)y[r];
  }
  printf("loss %.4f, %lld of %lld right\n", loss, (long long)right,
         (long long)rows);
  return DLC_OK;
}

int main(int count, char **words) {
  dlc_session *session;
  const dlc_tensor *expected;
  dlc_tensor inputs[2];
  size_t number;
  dlc_code code;

  if (count != 3) {
    fprintf(stderr, "usage: embed_c MODEL.dlc STEPS\n");
    return DLC_USAGE;
  }
  if ((code = dlc_session_open(words[1], NULL, 0, &session)))
    return fail(code);
  expected = dlc_session_inputs(session, "train_step", &number);
  if (number != 2 || expected[0].rank < 2) {
    fprintf(stderr, "error: expected a model of x [batch, ...] and labels\n");
    dlc_session_close(session);
    return DLC_USAGE;
  }
  inputs[0] = expected[0], inputs[1] = expected[1];
  inputs[0].data = malloc(expected[0].bytes);
  inputs[1].data = malloc(expected[1].bytes);
  code = run(session, atol(words[2]), inputs[0].data, inputs[1].data, inputs);
  if (code)
    fail(code);
  free(inputs[0].data);
  free(inputs[1].data);
  dlc_session_close(session);
  return code;
}
