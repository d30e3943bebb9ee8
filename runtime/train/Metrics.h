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
  // Keeps of an existing file the whole lines with `key` up to `last`.
  static Result<JsonLines> open(const std::string &path, const char *key,
                                int64_t last);

  JsonLines(JsonLines &&other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)),
        path_(std::move(other.path_)) {}
  ~JsonLines();

  Status append(const std::string &line); // with its line end

private:
  JsonLines(int descriptor, std::string path)
      : descriptor_(descriptor), path_(std::move(path)) {}

  int descriptor_;
  std::string path_;
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
