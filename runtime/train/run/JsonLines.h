// SPDX-License-Identifier: Apache-2.0
// metrics.jsonl and its like: one JSON object a line, for scripts to read while
// a run goes on.
#pragma once

#include "runtime/base/Json.h"

#include <string>

namespace dlc {

// Appends lines; each is handed to the system at once, so that a killed process
// loses none that it wrote and tears at most the last.
class JsonLines {
public:
  // Keeps of an existing file the whole lines with `key` up to `last`; that
  // needs no room on the disk if the others are at its end.
  static Result<JsonLines> open(const std::string &path, const char *key,
                                int64_t last);

  JsonLines(JsonLines &&other) noexcept;
  ~JsonLines(); // with a warning if lines are lost

  // With its line end. Never an error: what cannot be written, to a full disk
  // perhaps, is kept (up to 16 MiB) and written before the next line, and a
  // warning says so once.
  void append(const std::string &line);

  // Now and then, while the folder is known to be there: makes the file again
  // if it was moved away or removed, also the time before.
  void follow();

private:
  JsonLines(int descriptor, std::string path)
      : descriptor_(descriptor), path_(std::move(path)) {}
  bool writeWaiting();
  void warnOfLost() const;

  int descriptor_;
  std::string path_;
  std::string waiting_; // begins where the last write ended
  int64_t lost_ = 0;    // lines
  bool stuck_ = false, missing_ = false;
};

// {"step": 3, "loss": 0.5, ...}: numbers in their shortest exact form, in the
// order given; what is not finite is null.
class JsonLine {
public:
  JsonLine &add(std::string_view key, double value);
  JsonLine &add(std::string_view key, int64_t value);
  std::string finish();
  void clear() { text_.clear(); } // keeps its memory

private:
  void key(std::string_view key);
  std::string text_;
};

} // namespace dlc
