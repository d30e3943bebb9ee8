// SPDX-License-Identifier: Apache-2.0
// Data of other programs: the Python package dlc-data writes them as files that
// are read here, once for all processes of a user.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/base/files/Atomic.h"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dlc {

// What dlc-data is to make.
struct SpoolJob {
  std::string data;                // for messages: a path
  std::string command;             // "rows", "columns", "inspect", "tokens"
  std::vector<std::string> words;  // its options, besides --output
  std::vector<std::string> places; // options that do not matter to the result
  std::vector<std::string> files;  // which it reads
  std::string content;             // what tells the files' content from others
  std::string ending;              // of what it makes: ".safetensors"
  uint64_t bytes = 0;              // of the files: how long others may wait
  std::chrono::milliseconds wait{60'000}; // besides
};

// A file that was made. One that no cache holds goes with this.
class SpooledFile {
public:
  explicit SpooledFile(std::string path) : path_(std::move(path)) {}
  SpooledFile(std::string path, TemporaryFolder folder)
      : path_(std::move(path)), folder_(std::move(folder)) {}

  const std::string &path() const { return path_; }

private:
  std::string path_;
  std::optional<TemporaryFolder> folder_;
};

// FOLDER/data/HASH.ENDING, of words and content; if it is not there and no
// other process makes it, `dlc-data COMMAND WORDS --output=... -- FILES` does.
// A process that dies meanwhile lets the next one make it. Where the folder
// cannot be used, or another process takes too long, it is made in TMPDIR, for
// this process, with a warning. Files that nobody has used for 30 days are
// removed. Errors: what dlc-data says, of its exit code (2: Usage), which
// leaves nothing; Usage if it is not installed; Incompatible for a folder that
// others could have written.
Result<std::shared_ptr<const SpooledFile>> spool(const std::string &folder,
                                                 const SpoolJob &job);

// DLC_DATA_PROGRAM, else dlc-data beside this program or library, or in PATH.
// Usage if there is none: how `data` is read.
Result<std::string> findDataProgram(const std::string &data);

// The words of every call, before a command: the form that both know.
std::vector<std::string> dataProgramWords(const std::string &program);

} // namespace dlc
