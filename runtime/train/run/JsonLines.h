// SPDX-License-Identifier: Apache-2.0
// metrics.jsonl and similar files: one JSON object per line, readable during a
// run.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/base/files/Descriptor.h"

#include <string>

namespace dlc {

// Appends lines with one write() each, so that a killed process loses no
// complete line and truncates at most the last one.
class JsonLines {
public:
  // Keeps of an existing file the complete lines whose `key` is at most `last`;
  // needs no disk space if the others are at the end.
  static Result<JsonLines> open(const std::string &path, const char *key,
                                int64_t last);

  JsonLines(JsonLines &&other) noexcept;
  ~JsonLines(); // warns if lines are lost

  // Appends a line and a newline. Not an error: what cannot be written, for
  // example to a full disk, is buffered (up to 16 MiB) and written before the
  // next line, with one warning.
  void append(const std::string &line);

  // Call regularly while the folder exists: recreates the file, with earlier
  // lines, if it was moved or removed.
  void follow();

private:
  JsonLines(Descriptor file, std::string path)
      : file_(std::move(file)), path_(std::move(path)) {}
  bool writeWaiting();
  void warnOfLost() const;

  Descriptor file_;
  std::string path_;
  std::string waiting_; // starts where the last write ended
  int64_t lost_ = 0;    // lines
  bool stuck_ = false, missing_ = false;
};

// {"step": 3, "loss": 0.5, ...}: numbers in the shortest exact form, in the
// given order; NaN and infinity become null.
class JsonLine {
public:
  JsonLine &add(std::string_view key, double value);
  JsonLine &add(std::string_view key, int64_t value);
  std::string finish();
  void clear() { text_.clear(); } // keeps the allocation

private:
  void key(std::string_view key);
  std::string text_;
};

} // namespace dlc
