// SPDX-License-Identifier: Apache-2.0
// A tokenizer in another process, dlc-data chat, with one request per line.
#pragma once

#include "runtime/base/Json.h"
#include "runtime/base/Status.h"
#include "runtime/base/files/Descriptor.h"

#include <chrono>
#include <memory>
#include <string>

#include <sys/types.h>

namespace dlc {

// Not thread-safe.
class TextProgram {
public:
  // Starts dlc-data with a tokenizer.json. Errors: those of dlc-data;
  // Code::Usage if it is not installed.
  static Result<std::unique_ptr<TextProgram>>
  start(const std::string &tokenizer);
  // Ends the process.
  ~TextProgram();
  TextProgram(const TextProgram &) = delete;
  TextProgram &operator=(const TextProgram &) = delete;

  // Field `key` of the answer (requests and answers: dlc_data/chat.py).
  // Code::Failed if the answer is an error or missing.
  Result<Json> ask(const Json &question, const char *key);

private:
  TextProgram() = default;
  Status send(std::string_view text) const;
  Result<std::string> readLine(std::chrono::milliseconds patience);
  Result<Json> readAnswer(std::chrono::milliseconds patience);

  std::string name_, rest_; // rest_: output after the last line
  Descriptor socket_;
  pid_t program_ = -1;
};

} // namespace dlc
