// SPDX-License-Identifier: Apache-2.0
// Computes logits of the next token with a language model's predict program,
// and selects a token by them.
#pragma once

#include "runtime/base/options/OptionTable.h"
#include "runtime/train/session/Session.h"
#include <cstdint>
#include <optional>
#include <span>

namespace dlc {

// A program reads a fixed number of tokens T. Shorter inputs are padded at the
// end with token 0, which does not affect earlier positions of a causal model;
// create() checks this. Each token recomputes all T positions, unless the model
// was compiled with --decode: then one more token than last time is computed as
// one row from the program's key-value cache.
class Generator {
public:
  // The session must outlive it, and must not be used otherwise. Code::Failed,
  // with details, if: predict has inputs other than integers [B, T] and
  // optionally 'attention_mask' (ones) and 'position_ids' (0 to T - 1), both
  // [B, T] or [1, T]; it has no float output [B, T, V] or [B * T, V], or
  // several of them without 'logits'; a token affects logits before it; a
  // single token's logits differ from those within a sequence.
  static Result<Generator> create(Session &session);

  // Largest number of tokens that it reads.
  int64_t context() const { return forms_.back().length; }
  // Whether it has a key-value cache.
  bool hasCache() const { return one_.has_value(); }
  // V, the number of logits.
  int64_t vocabulary() const { return vocabulary_; }

  // Logits of the token after `tokens`, of which there is at least one; beyond
  // context() only the last ones are used. Uses the shortest program that is
  // long enough. Valid until the next call. Code::Usage for a token outside of
  // the vocabulary.
  Result<std::span<const float>> next(std::span<const int64_t> tokens);

private:
  // A program for `length` tokens.
  struct Form {
    const plan::Program *program;
    int64_t batch, length;
    int tokens, output; // ports
    Batch inputs;       // of all ports; tokens are set for each run
  };

  explicit Generator(Session &session) : session_(&session) {}
  Result<Form> formOf(const plan::Program &program, int64_t batch) const;
  // Sets `one_` if there is a program for one more token.
  Status findCache();
  Result<int> findLogits(const plan::Program &program, int64_t batch,
                         int64_t length) const;
  Status checkCausal();
  Status checkSame(std::span<const float> one, std::span<const float> other,
                   size_t count) const;
  Status checkCache(std::span<const int64_t> tokens,
                    std::span<const float> logits);
  Status runOne(int64_t token, int64_t position);
  // Computes the first `count` rows of logits.
  Status run(Form &form, std::span<const int64_t> tokens, int64_t count,
             std::vector<float> &logits);

  Session *session_;
  std::vector<Form> forms_;     // shortest first
  std::optional<Form> one_;     // for one token
  int position_ = -1;           // its port
  std::vector<int64_t> cached_; // tokens in the key-value cache
  int64_t vocabulary_ = 0;
  std::vector<float> logits_;
};

struct SamplerOptions {
  // Unset or 0: greedy, the first of the largest logits.
  std::optional<double> temperature;
  int64_t topK = 0; // sample from the largest logits; 0: all
  double topP = 1;  // then from the fewest with this probability mass
  uint64_t seed = 0;

  // Adds rows "SECTION.temperature" etc.
  void addTo(OptionTable &table, const std::string &section);
};

// Draws a token with probability softmax(logits / temperature) from those left
// by top-k, then top-p (Holtzman et al. 2020, arXiv:1904.09751).
//
// The random number is (a * 2^32 + b) >> 11 times 2^-53, with the first two
// words a, b of Philox4x32-10 (Philox.h), whose key is the seed and whose
// counter is the token's position in the generated text, from 0. It selects a
// token by cumulative probabilities in f64: if top-k or top-p removes tokens,
// sorted from the largest to the smallest, ties by token number; else in the
// order of tokens. So equal seeds and logits give equal tokens.
//
// Code::Diverged if a logit is NaN, or the largest is not finite.
Result<uint32_t> chooseToken(std::span<const float> logits, uint64_t place,
                             const SamplerOptions &options);

} // namespace dlc
