// SPDX-License-Identifier: Apache-2.0
// The classes that a model finds most likely, sample by sample.
#pragma once

#include "runtime/train/metrics/Scores.h"
#include "runtime/train/session/Session.h"

#include <functional>
#include <span>
#include <string_view>

namespace dlc {

struct RankedClass {
  int64_t number = 0;     // of the labels
  double probability = 0; // 0 to 1
};

// Of an output that the model's loss reads as scores of classes: a row of them
// for each sample. One thread.
class Ranking {
public:
  // Of samples of this size of the model's. Code::Usage, with what would do: no
  // such output, values instead of classes, or several rows a sample (pixels,
  // tokens). `asks` is the option that wants it. The session must outlive it.
  static Result<Ranking> create(Session &session, int size,
                                std::string_view asks);

  const std::string &output() const { return scores_.output; }
  int64_t classes() const { return binary() ? 2 : scores_.classes; }
  // What makes probabilities of the output: "softmax" of logits (or of their
  // logarithms, whose softmax they are), "sigmoid" of logits of classes each by
  // itself, "" if the output has probabilities.
  std::string_view function() const;

  // The `top` classes, or as many as there are, the likeliest first, of equal
  // ones that of the lower number. Numbers that are not finite after function()
  // are an error. `scores` has one for each class that the output has.
  Result<std::vector<RankedClass>> rank(std::span<const float> scores,
                                        int64_t top) const;

  // Called for each sample in order, while later ones are not read yet.
  using TakeRanks =
      std::function<Status(int64_t sample, const std::vector<RankedClass> &)>;
  Status run(const Dataset &dataset, int64_t top, const TakeRanks &take) const;

private:
  Ranking(Session &session, Scores scores)
      : session_(&session), scores_(std::move(scores)) {}
  bool binary() const { return scores_.task == Task::Binary; }
  std::vector<double> probabilities(std::span<const float> scores) const;

  Session *session_;
  Scores scores_;
};

} // namespace dlc
