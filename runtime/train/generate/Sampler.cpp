// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/generate/Sampler.h"

#include "runtime/base/numbers/Philox.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace dlc {
namespace {

// Stream of the seed's random numbers for generated tokens: "text".
constexpr uint64_t kTextStream = 0x74657874;

double uniformAt(uint64_t seed, uint64_t place) {
  const PhiloxBlock words = philox(seed, place, kTextStream);
  return double((uint64_t(words[0]) << 32 | words[1]) >> 11) * 0x1p-53;
}

struct Candidate {
  double weight;
  uint32_t token;
};

// Sorts the `count` largest candidates to the front.
void sortLargest(std::vector<Candidate> &all, size_t count) {
  std::partial_sort(all.begin(), all.begin() + ptrdiff_t(count), all.end(),
                    [](const Candidate &a, const Candidate &b) {
                      return a.weight != b.weight ? a.weight > b.weight
                                                  : a.token < b.token;
                    });
  all.resize(count);
}

double sumOfWeights(const std::vector<Candidate> &all) {
  return std::accumulate(
      all.begin(), all.end(), 0.0,
      [](double sum, const Candidate &c) { return sum + c.weight; });
}

void keepShare(std::vector<Candidate> &all, double share) {
  const double least = share * sumOfWeights(all);
  double sum = 0;
  size_t count = 0;
  while (count < all.size() && (count == 0 || sum < least))
    sum += all[count++].weight;
  all.resize(count);
}

} // namespace

void SamplerOptions::addTo(OptionTable &table, const std::string &section) {
  const std::string on = section + ".temperature";
  table.number(on, temperature, 0, 1e6,
               "temperature T: tokens are sampled from softmax(logits / T); "
               "default: the most probable token");
  table
      .count(section + ".top-k", topK, 0,
             "number of most probable tokens to sample from; 0: all")
      .only(on, {});
  table
      .number(section + ".top-p", topP, kAboveZero, 1,
              "probability mass of the most probable tokens to sample from")
      .only(on, {});
  table.count(section + ".seed", seed, 0, "seed of sampling").only(on, {});
}

Result<uint32_t> chooseToken(std::span<const float> logits, uint64_t place,
                             const SamplerOptions &options) {
  if (std::ranges::any_of(logits, [](float x) { return std::isnan(x); }))
    return diverged("the model's logits have a NaN");
  const auto largest = std::ranges::max_element(logits);
  if (largest == logits.end() || !std::isfinite(*largest))
    return diverged("the model's largest logit is not finite");
  const double temperature = options.temperature.value_or(0);
  if (temperature == 0)
    return uint32_t(largest - logits.begin());
  std::vector<Candidate> all;
  all.reserve(logits.size());
  for (uint32_t token = 0; token < logits.size(); ++token)
    all.push_back(
        {std::exp((double(logits[token]) - double(*largest)) / temperature),
         token});
  const bool cuts = options.topK > 0 && size_t(options.topK) < all.size();
  if (cuts || options.topP < 1)
    sortLargest(all, cuts ? size_t(options.topK) : all.size());
  if (options.topP < 1)
    keepShare(all, options.topP);
  const double at = uniformAt(options.seed, place) * sumOfWeights(all);
  double sum = 0;
  for (const Candidate &candidate : all)
    if ((sum += candidate.weight) > at)
      return candidate.token;
  return all.back().token; // if rounding made the sum smaller
}

} // namespace dlc
