// SPDX-License-Identifier: Apache-2.0
// What is due after a step.
#include "runtime/train/Due.h"

#include <gtest/gtest.h>

using namespace dlc;

namespace {

// Steps 1 to 12 in epochs of four.
constexpr int64_t kTotal = 12;

Due after(int64_t step, const DueRules &rules, const SignalRequest &asked = {},
          int64_t epochSteps = 4) {
  Progress progress;
  progress.step = step;
  progress.cursor = {step / epochSteps, 2 * (step % epochSteps), {}};
  return dueAfter(progress, rules, asked);
}

std::string textOf(const Due &due) {
  return std::string(due.validates ? "v" : "") + (due.saves ? "s" : "") +
         (due.endsEpoch ? "e" : "") + (due.ends ? "!" : "") +
         (due.syncs ? "m" : "");
}

TEST(Due, EachEpochIsValidatedAndSaved) {
  const DueRules rules{kTotal, true, 0, 0};
  EXPECT_EQ(textOf(after(1, rules)), "");
  EXPECT_FALSE(after(1, rules).isAny());
  EXPECT_EQ(textOf(after(4, rules)), "vse");
  EXPECT_EQ(textOf(after(12, rules)), "vse!");
}

TEST(Due, WithoutValidationAnEpochStillEnds) {
  const DueRules rules{kTotal, false, 0, 0};
  EXPECT_EQ(textOf(after(4, rules)), "se");
  EXPECT_EQ(textOf(after(5, rules)), "");
}

TEST(Due, StepsBetweenCheckpointsReplaceEpochs) {
  const DueRules rules{kTotal, true, 3, 0};
  EXPECT_EQ(textOf(after(3, rules)), "s");
  EXPECT_EQ(textOf(after(4, rules)), "ve");
  EXPECT_EQ(textOf(after(6, rules)), "s");
}

TEST(Due, TimeBetweenCheckpointsReplacesEpochs) {
  const DueRules rules{kTotal, true, 0, 30};
  EXPECT_EQ(textOf(after(4, rules)), "ve");
  SignalRequest asked;
  asked.timed = true;
  EXPECT_EQ(textOf(after(5, rules, asked)), "s");
}

TEST(Due, RanksApartMeetBeforeAnybodyLooks) {
  DueRules rules{kTotal, true, 0, 30};
  rules.syncEvery = 3;
  EXPECT_EQ(textOf(after(2, rules)), "");
  EXPECT_EQ(textOf(after(3, rules)), "m");
  EXPECT_FALSE(after(3, rules).isAny());
  EXPECT_EQ(textOf(after(4, rules)), "vem");
  EXPECT_EQ(textOf(after(12, rules)), "vse!m");
  rules.validates = false;
  EXPECT_EQ(textOf(after(4, rules)), "e");
  SignalRequest asked;
  asked.save = true;
  EXPECT_EQ(textOf(after(5, rules, asked)), "sm");
}

TEST(Due, TheLastStepIsValidatedAndSavedWithinAnEpoch) {
  const DueRules rules{10, true, 0, 30};
  EXPECT_EQ(textOf(after(10, rules)), "vs!");
}

TEST(Due, SignalsSaveAndEnd) {
  const DueRules rules{kTotal, true, 0, 0};
  SignalRequest asked;
  asked.save = true;
  EXPECT_EQ(textOf(after(5, rules, asked)), "s");
  asked = {};
  asked.stop = 15;
  EXPECT_EQ(textOf(after(5, rules, asked)), "s!");
  asked = {};
  asked.end = true;
  EXPECT_EQ(textOf(after(5, rules, asked)), "s!");
  EXPECT_EQ(textOf(after(8, rules, asked)), "vse!");
}

} // namespace
