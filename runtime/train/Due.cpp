// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/Due.h"

namespace dlc {

static bool isSaveDue(int64_t step, bool endsEpoch, const DueRules &rules) {
  if (rules.saveEvery > 0)
    return step % rules.saveEvery == 0;
  return endsEpoch && rules.saveSeconds == 0;
}

Due dueAfter(const Progress &progress, const DueRules &rules,
             const SignalRequest &asked) {
  Due due;
  const bool isLast = progress.step == rules.total;
  due.endsEpoch = progress.cursor.sample == 0;
  due.validates = rules.validates && (due.endsEpoch || isLast);
  due.ends = isLast || asked.ends();
  due.saves = due.ends || asked.save || asked.timed ||
              isSaveDue(progress.step, due.endsEpoch, rules);
  due.compares = rules.checkEvery > 0 &&
                 (due.saves || progress.step % rules.checkEvery == 0);
  due.syncs =
      rules.syncEvery > 0 && (due.saves || due.validates || due.compares ||
                              progress.step % rules.syncEvery == 0);
  return due;
}

} // namespace dlc
