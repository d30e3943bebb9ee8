// SPDX-License-Identifier: Apache-2.0
// Changes to inputs that keep most of their structure, so that they get past
// the first check. Equal random numbers make equal changes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace google::protobuf {
class Message;
}

namespace dlc::fuzz {

// SplitMix64.
class Random {
public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t next();
  // Below `bound`, which is above 0.
  uint64_t below(uint64_t bound) { return next() % bound; }
  bool oneIn(uint64_t n) { return below(n) == 0; }
  template <class T> const T &pick(const std::vector<T> &from) {
    return from[below(from.size())];
  }

private:
  uint64_t state_;
};

// Numbers where readers go wrong: ends of ranges, powers, near `old`.
int64_t strangeInteger(Random &random, int64_t old);
double strangeFloat(Random &random);
// Names, paths, terminal escapes, text that is not UTF-8, long ones.
std::string strangeText(Random &random, const std::string &old);

// Bits, bytes, ranges copied, removed or doubled, the end cut off.
void mutateBytes(Random &random, std::string &bytes);

// Words of a text (JSON, YAML): numbers replaced, words and lines doubled,
// removed, exchanged.
void mutateText(Random &random, std::string &text);

// Fields anywhere in the message, by its descriptors: numbers, names (also each
// other's), elements of lists, whole parts, which may come from `donor`, a
// message of the same type.
void mutateMessage(Random &random, google::protobuf::Message &message,
                   const google::protobuf::Message &donor);

} // namespace dlc::fuzz
