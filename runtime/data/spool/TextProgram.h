// SPDX-License-Identifier: Apache-2.0
// A tokenizer in another process: dlc-data chat, asked line by line.
#pragma once

#include "runtime/base/Json.h"
#include "runtime/base/Status.h"

#include <chrono>
#include <memory>
#include <string>

#include <sys/types.h>

namespace dlc {

// Of one thread.
class TextProgram {
public:
  // By a tokenizer.json. Errors: what dlc-data says of it; Usage if dlc-data is
  // not installed.
  static Result<std::unique_ptr<TextProgram>>
  start(const std::string &tokenizer);
  // Ends it.
  ~TextProgram();
  TextProgram(const TextProgram &) = delete;
  TextProgram &operator=(const TextProgram &) = delete;

  // The answer's field `key` (dlc_data/chat.py lists questions and answers).
  // Code::Failed: an error is the answer, or none comes.
  Result<Json> ask(const Json &question, const char *key);

private:
  TextProgram() = default;
  Status send(std::string_view text) const;
  Result<std::string> readLine(std::chrono::milliseconds patience);
  Result<Json> readAnswer(std::chrono::milliseconds patience);

  std::string name_, rest_; // rest_: behind the last line
  int socket_ = -1;
  pid_t program_ = -1;
};

} // namespace dlc
