// SPDX-License-Identifier: Apache-2.0
// Data in formats that the Python package dlc-data converts to files that dlc
// reads, once for all processes of a user.
#pragma once

#include "runtime/base/files/Atomic.h"
#include "runtime/data/Source.h"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dlc {

// A conversion by dlc-data.
struct SpoolJob {
  std::string data;                // for messages: a path
  std::string command;             // "rows", "columns", "inspect", "tokens"
  std::vector<std::string> words;  // its options, except --output
  std::vector<std::string> places; // options that do not affect the result
  std::vector<std::string> files;  // its inputs
  std::string content;             // identifies the inputs' content
  std::string ending;              // of the output: ".safetensors"
  std::chrono::milliseconds wait{60'000}; // in addition
};

// An output file. Deleted on destruction unless it is in a cache.
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

// Returns FOLDER/data/HASH.ENDING, with the hash of words and content. If it
// does not exist and no other process is making it, runs `dlc-data COMMAND
// WORDS --output=... -- FILES`. If a process dies meanwhile, the next one takes
// over. If the folder cannot be used, or another process takes too long, the
// file is made in TMPDIR for this process, with a warning. Files unused for 30
// days are removed. Errors: those of dlc-data, by its exit code (2:
// Code::Usage), without output; Code::Usage if it is not installed;
// Code::Incompatible for a folder that others may write.
Result<std::shared_ptr<const SpooledFile>> spool(const std::string &folder,
                                                 const SpoolJob &job);

// The arrays of a .safetensors that dlc-data made of the data `name`.
Result<std::shared_ptr<const Source>>
spooledArrays(std::shared_ptr<const SpooledFile> made, std::string name,
              std::vector<std::string> classes,
              std::function<Result<std::string>(int threads)> hash);

// DLC_DATA_PROGRAM, else dlc-data next to this program or library, or in PATH.
// Code::Usage, with how to read `data`, if there is none.
Result<std::string> findDataProgram(const std::string &data);

// Leading arguments of every call, including the protocol version that both
// sides support.
std::vector<std::string> dataProgramWords(const std::string &program);

} // namespace dlc
