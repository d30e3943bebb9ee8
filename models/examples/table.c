/* SPDX-License-Identifier: Apache-2.0 */
/* What a run says of the rows of a table, from C:
   table_c RUN TABLE.csv COLUMNS

   COLUMNS says which make which array, as in "x:a..f;y:label". */
#include <dlc/dlc.h>

#include <stdio.h>

static int fail(dlc_code code) {
  fprintf(stderr, "error: %s\n", dlc_message());
  return code;
}

int main(int count, char **words) {
  dlc_option options[2] = {{"columns", NULL}, {"bad-samples", "skip"}};
  dlc_session *session = NULL;
  dlc_dataset *table = NULL;
  dlc_evaluation result = {.size = sizeof(result)};
  dlc_code code;

  if (count != 4) {
    fprintf(stderr, "usage: table_c RUN TABLE.csv COLUMNS\n");
    return DLC_USAGE;
  }
  options[0].value = words[3];
  if (!(code = dlc_session_open(words[1], NULL, 0, &session)) &&
      !(code = dlc_dataset_open_with(words[2], options, 2, &table)))
    code = dlc_session_evaluate(session, table, &result);
  if (!code)
    printf("%lld rows, loss %.4f, accuracy %.4f\n", (long long)result.samples,
           result.loss, result.accuracy);
  dlc_dataset_close(table);
  dlc_session_close(session);
  return code ? fail(code) : DLC_OK;
}
