// SPDX-License-Identifier: Apache-2.0
#include "Races.h"

namespace dlc::ptx {
namespace {

bool areConcurrent(const Moment &a, const Moment &b) {
  return a.block == b.block && a.barriers == b.barriers &&
         a.thread != b.thread &&
         (a.thread / 32 != b.thread / 32 || a.meetings == b.meetings);
}

} // namespace

Races::Races(const std::vector<Array> &shared, unsigned granule)
    : granule(granule) {
  for (const Array &a : shared)
    arrays.emplace_back((a.bytes + granule - 1) / granule);
}

int64_t Races::access(size_t array, uint64_t offset, uint64_t bytes,
                      bool writes, const Moment &now) {
  for (uint64_t at = offset / granule; at * granule < offset + bytes; ++at) {
    Place &place = arrays[array][at];
    if (areConcurrent(place.write, now))
      return place.write.thread;
    if (writes) {
      for (const Moment &read : place.reads)
        if (areConcurrent(read, now))
          return read.thread;
      place.write = now;
    } else {
      if (place.reads[0].thread != now.thread)
        place.reads[1] = place.reads[0];
      place.reads[0] = now;
    }
  }
  return -1;
}

} // namespace dlc::ptx
