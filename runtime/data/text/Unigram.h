// SPDX-License-Identifier: Apache-2.0
// The unigram language model of tokens (Kudo 2018): of all ways to cut a text
// into tokens, the one of the largest sum of their scores.
#pragma once

#include "runtime/base/Status.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace dlc {

// Immutable; any thread may read.
class Unigram {
public:
  struct Token {
    std::string text;
    double score = 0; // logarithm of a probability
  };

  // A token's id is its place; of equal texts the last counts. `unknown`: what
  // characters in no token become, those that follow each other together, at
  // the smallest score less 10; `byBytes`: or <0x00> to <0xFF> for each byte of
  // them, if all that are needed are there. Errors: `unknown` is none of them;
  // a character may be in no token and there is none; a score that is not a
  // number.
  static Result<Unigram> create(std::vector<Token> vocabulary,
                                std::optional<uint32_t> unknown, bool byBytes);

  // Appends the tokens of UTF-8 text. Sums are doubles, from the left, and the
  // first of equal ones stays. Takes 24 bytes of memory for each byte.
  void encode(std::string_view text, std::vector<uint32_t> &tokens) const;

private:
  struct Node {
    uint32_t firstEdge = 0, edges = 0;
    int64_t id = -1; // below 0: no token ends here
  };
  void buildTrie(const std::vector<std::pair<std::string_view, uint32_t>> &);
  const Node *child(const Node &node, char byte) const;
  void appendUnknown(std::string_view text,
                     std::vector<uint32_t> &tokens) const;

  std::vector<double> scores_;
  std::unordered_map<std::string, uint32_t> ids_;
  // A trie of texts: a node's edges are in the order of their bytes.
  std::vector<Node> nodes_;
  std::vector<std::pair<uint8_t, uint32_t>> edges_;
  std::array<std::optional<uint32_t>, 256> byteIds_;
  uint32_t unknown_ = 0;
  double unknownScore_ = 0;
  bool byBytes_ = false;
};

} // namespace dlc
