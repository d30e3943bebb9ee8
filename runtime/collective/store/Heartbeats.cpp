// SPDX-License-Identifier: Apache-2.0
#include "runtime/collective/store/Heartbeats.h"

#include <algorithm>

namespace dlc {

using std::chrono::milliseconds;

milliseconds pauseBetweenBeats(milliseconds silence) {
  if (silence == milliseconds(0))
    silence = kSilence;
  return std::clamp(silence / 10, milliseconds(20), milliseconds(1000));
}

void Heartbeats::hear(int rank, int64_t progress, Clock::time_point now) {
  places_[static_cast<size_t>(rank)] = {progress, true, now};
}

void Heartbeats::release(int rank) {
  places_[static_cast<size_t>(rank)].known = false;
}

void Heartbeats::hear(int rank, Clock::time_point now) {
  places_[static_cast<size_t>(rank)].heard = now;
}

std::optional<int> Heartbeats::findSilent(Clock::time_point now) {
  if (silence_ == milliseconds(0))
    return std::nullopt;
  for (size_t rank = 0; rank < places_.size(); ++rank)
    if (places_[rank].known && now - places_[rank].heard > silence_) {
      places_[rank].known = false;
      return static_cast<int>(rank);
    }
  return std::nullopt;
}

std::optional<milliseconds> Heartbeats::pause() const {
  if (silence_ == milliseconds(0) ||
      std::none_of(places_.begin(), places_.end(),
                   [](const Place &place) { return place.known; }))
    return std::nullopt;
  return pauseBetweenBeats(silence_);
}

std::string Heartbeats::placesText(Clock::time_point now) const {
  std::string text;
  for (const Place &place : places_) {
    const int64_t since =
        place.known
            ? std::chrono::duration_cast<milliseconds>(now - place.heard)
                  .count()
            : -1;
    for (const int64_t number : {place.progress, since})
      text.append(reinterpret_cast<const char *>(&number), sizeof number);
  }
  return text;
}

} // namespace dlc
