// SPDX-License-Identifier: Apache-2.0
// Ranks the classes of each sample by probability.
#pragma once

#include "runtime/train/metrics/Scores.h"
#include "runtime/train/session/Session.h"

#include <functional>
#include <span>
#include <string_view>

namespace dlc {

struct RankedClass {
  int64_t number = 0;     // class label
  double probability = 0; // 0 to 1
};

// Reads an output that the model's loss uses as class scores, one row per
// sample. Not thread-safe.
class Ranking {
public:
  // For samples of the model's size `size`. Code::Usage, with a remedy, if
  // there is no such output, if it has values rather than classes, or several
  // rows per sample (pixels, tokens). `asks` is the option that needs the
  // ranking. The session must outlive it.
  static Result<Ranking> create(Session &session, int size,
                                std::string_view asks);

  const std::string &output() const { return scores_.output; }
  int64_t classes() const { return binary() ? 2 : scores_.classes; }
  // How probabilities are computed from the output: "softmax" of logits or of
  // log-probabilities, "sigmoid" of logits of independent classes, "" if the
  // output has probabilities.
  std::string_view function() const;

  // The `top` most probable classes, or all if there are fewer; ties by lower
  // number. An error if a probability is not finite. `scores` has one value per
  // class of the output.
  Result<std::vector<RankedClass>> rank(std::span<const float> scores,
                                        int64_t top) const;

  // Called for each sample in order, before later ones are read.
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
