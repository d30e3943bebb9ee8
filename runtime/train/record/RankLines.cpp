// SPDX-License-Identifier: Apache-2.0
// RUN/ranks.jsonl, and a message when another rank becomes the slow one.
#include "runtime/train/record/Recorder.h"

#include "runtime/base/process/Log.h"
#include "runtime/train/run/JsonLines.h"

namespace dlc {
namespace {

class RankLines : public Recorder {
public:
  RankLines(JsonLines lines, bool isQuiet)
      : lines_(std::move(lines)), isQuiet_(isQuiet) {}

  void onRanks(const RanksEvent &event) override {
    Json line = {{"step", event.step}, {"slow", event.slow.text}};
    for (const RankTime &rank : event.ranks) {
      line["hosts"].push_back(rank.host);
      line["seconds"].push_back(rank.step);
      line["data_wait"].push_back(rank.waited);
      line["computes"].push_back(rank.computed);
      line["blocked"].push_back(rank.blocked);
    }
    lines_.append(dumpJson(line) + "\n");
    const bool isSame = event.slow.rank == slow_.rank &&
                        event.slow.isWaiting == slow_.isWaiting;
    slow_ = event.slow;
    if (isSame || isQuiet_)
      return;
    if (slow_.rank >= 0)
      info("step {}: {}", event.step, slow_.text);
    else
      info("step {}: the ranks wait for none of them any more", event.step);
  }
  void onSecond() override { lines_.follow(); }

private:
  JsonLines lines_;
  const bool isQuiet_;
  SlowRank slow_; // in the last message
};

} // namespace

MadeRecorder openRankLines(const Recorded &of) {
  if (of.setup.ranks.size() == 1)
    return nullptr;
  DLC_ASSIGN(JsonLines lines, JsonLines::open(of.run + "/ranks.jsonl", "step",
                                              of.progress.step));
  return std::make_unique<RankLines>(std::move(lines), of.setup.options.quiet);
}

} // namespace dlc
