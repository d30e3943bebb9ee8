// SPDX-License-Identifier: Apache-2.0
// The logits of the next token, by the predict program of a language model.
#pragma once

#include "runtime/train/session/Session.h"

namespace dlc {

// A program reads a fixed number of tokens, T. Fewer are filled up behind with
// token 0, which changes nothing before it in a causal model: that is checked
// when it is made. All T tokens are computed anew for each one, unless the
// model was compiled with --decode: then a token more than last time is one
// row of work, by keys and values that the program keeps of those before.
class Generator {
public:
  // The session must outlive it, and runs nothing else. Errors (Failed), with
  // what was found: predict takes other inputs than integers [B, T] and, beside
  // them, 'attention_mask' (ones) and 'position_ids' (0 to T - 1), both [B, T]
  // or [1, T]; it has no output [B, T, V] or [B * T, V] of floats, or several
  // and none 'logits'; a token changes logits before it; a
  // token alone gets other logits than among all.
  static Result<Generator> create(Session &session);

  // Tokens that are read at most.
  int64_t context() const { return forms_.back().length; }
  // Whether it keeps keys and values.
  bool hasCache() const { return one_.has_value(); }
  // V, of the logits.
  int64_t vocabulary() const { return vocabulary_; }

  // Of the token behind these, at least one; of more than context() the last
  // ones count. By the program of the shortest length that has room. Valid
  // until the next call. A token that the model does not have is an error
  // (Usage).
  Result<std::span<const float>> next(std::span<const int64_t> tokens);

private:
  // A program for so many tokens.
  struct Form {
    const plan::Program *program;
    int64_t batch, length;
    int tokens, output; // ports
    Batch inputs;       // of all ports: the tokens' is filled for each run
  };

  explicit Generator(Session &session) : session_(&session) {}
  Result<Form> formOf(const plan::Program &program, int64_t batch) const;
  // What reads one token more, if there is such a program.
  Status findCache();
  Result<int> findLogits(const plan::Program &program, int64_t batch,
                         int64_t length) const;
  Status checkCausal();
  Status checkSame(std::span<const float> one, std::span<const float> other,
                   size_t count) const;
  Status checkCache(std::span<const int64_t> tokens,
                    std::span<const float> logits);
  Status runOne(int64_t token, int64_t position);
  // The first `count` rows of logits.
  Status run(Form &form, std::span<const int64_t> tokens, int64_t count,
             std::vector<float> &logits);

  Session *session_;
  std::vector<Form> forms_;     // the shortest first
  std::optional<Form> one_;     // of one token
  int position_ = -1;           // its port
  std::vector<int64_t> cached_; // the tokens of which it has keys and values
  int64_t vocabulary_ = 0;
  std::vector<float> logits_;
};

} // namespace dlc
