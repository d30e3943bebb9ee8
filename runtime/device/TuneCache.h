// SPDX-License-Identifier: Apache-2.0
// The fastest measured algorithms of a device, stored on disk per shape, GPU
// and software version.
#pragma once

#include "runtime/base/Json.h"
#include "runtime/base/Status.h"
#include "runtime/base/files/CacheFolder.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlc {

// The factors that a choice depends on, as names and values. Two keys are equal
// if all their members are. Expected members:
//   gpu, sm, multiprocessors, memory         the device
//   driver, <library>                        versions
//   op, and for each tensor dims, strides, dtype, alignment; attributes
//   compute, tf32, deterministic             restrictions of the arithmetic
//   workspace_limit, policy                  how it was measured
class TuneKey {
public:
  TuneKey &add(std::string_view name, Json value);
  const Json &fields() const { return fields_; }
  // SHA-256 of the members in order of their names, 64 hex digits.
  std::string id() const;

private:
  Json fields_ = Json::object();
};

// A chosen algorithm and its measurement.
struct TuneEntry {
  std::string engine; // of the library, by its number or name
  std::map<std::string, int64_t> knobs = {};
  std::string blob = {}; // what the library serialized; any bytes, may be empty
  double milliseconds = 0;
  uint64_t workspace = 0; // bytes
  std::string date = {};  // when it was measured, "2026-11-21T15:30:00Z"
};

// Safe between threads and processes: an entry is a file that appears
// atomically, and a writer holds a lock. A cache that cannot be read or written
// makes a run slower, but is never its error.
class TuneCache {
public:
  enum class Mode { ReadWrite, ReadOnly };

  // In `folder`/tune; an empty folder: nothing is found or stored. Incompatible
  // for a folder that others could have written: it belongs to another user, or
  // others have write permission.
  static Result<TuneCache> open(const std::string &folder,
                                Mode mode = Mode::ReadWrite);

  // None if there is no entry for exactly this key. Damaged and foreign entries
  // are ignored, with a warning that names the file.
  std::optional<TuneEntry> find(const TuneKey &key) const;

  // Replaces the entry of this key. In ReadOnly mode nothing happens. Errors
  // (disk full, no right to write) name the path.
  Status store(const TuneKey &key, const TuneEntry &entry) const;

  // One file of the cache.
  struct Item {
    std::string path;
    uint64_t bytes = 0;
    Json key; // null if it cannot be read
    TuneEntry entry;
    std::string problem; // why it is ignored; empty for a good one
  };
  // By path; unfinished files of dead processes too.
  Result<std::vector<Item>> list() const;

  // Removes damaged and unfinished entries, and valid ones measured before
  // `before` (a date as above; empty: none). Returns the number removed.
  Result<size_t> prune(const std::string &before) const;

  const std::string &folder() const { return folder_; }

private:
  TuneCache(std::string folder, Mode mode)
      : folder_(std::move(folder)), mode_(mode) {}

  std::string folder_; // empty: no cache
  Mode mode_;
};

// An entry in file format, with a hash; and back, with its key's members.
std::string tuneText(const TuneKey &key, const TuneEntry &entry);
Result<TuneEntry> parseTuneText(std::string_view text, Json &key);

// The time now as entries have it.
std::string tuneDate();

} // namespace dlc
