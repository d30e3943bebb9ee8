// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/spool/TextProgram.h"

#include "runtime/base/Text.h"
#include "runtime/base/process/Subprocess.h"
#include "runtime/data/spool/Spool.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace dlc {
namespace {

constexpr std::chrono::milliseconds kStarting(120'000), kAnswering(60'000);
constexpr size_t kLongestAnswer = size_t(1) << 30;

} // namespace

Result<std::unique_ptr<TextProgram>>
TextProgram::start(const std::string &tokenizer) {
  DLC_ASSIGN(const std::string program, findDataProgram(tokenizer));
  std::unique_ptr<TextProgram> chat(new TextProgram);
  chat->name_ = program;
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return failed("cannot run '{}': {}", program, std::strerror(errno));
  chat->socket_ = Descriptor(ends[0]);
  Descriptor theirs(ends[1]);
  std::vector<std::string> words = dataProgramWords(program);
  words.insert(words.end(), {"chat", "--tokenizer=" + tokenizer});
  DLC_ASSIGN(chat->program_,
             startProgram({words, {ends[1], ends[1], STDERR_FILENO}})
                 .withContext("cannot run '{}'", program));
  theirs.close();
  DLC_TRY(chat->readAnswer(kStarting).status()); // wait until it is ready
  return chat;
}

TextProgram::~TextProgram() {
  socket_.close(); // closes its input, which ends it
  if (program_ < 0)
    return;
  int status = 0;
  if (hasEnded(program_, std::chrono::seconds(2), status))
    return;
  ::kill(program_, SIGKILL);
  hasEnded(program_, std::chrono::hours(1), status);
}

Result<Json> TextProgram::ask(const Json &question, const char *key) {
  DLC_TRY(send(dumpJson(question) + "\n"));
  DLC_ASSIGN(Json answer, readAnswer(kAnswering));
  if (!answer.contains(key))
    return failed("'{}' sends no '{}'", name_, key);
  return std::move(answer[key]);
}

Status TextProgram::send(std::string_view text) const {
  while (!text.empty()) {
    const ssize_t sent =
        ::send(socket_.number(), text.data(), text.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno != EINTR)
      return failed("'{}' has ended: {}", name_, std::strerror(errno));
    text.remove_prefix(size_t(std::max<ssize_t>(sent, 0)));
  }
  return {};
}

Result<std::string> TextProgram::readLine(std::chrono::milliseconds patience) {
  for (size_t looked = 0;;) {
    const size_t end = rest_.find('\n', looked);
    if (end != std::string::npos) {
      std::string line = rest_.substr(0, end);
      rest_.erase(0, end + 1);
      return line;
    }
    looked = rest_.size();
    if (looked > kLongestAnswer)
      return limitExceeded("'{}' sends an answer without an end", name_);
    pollfd ready{socket_.number(), POLLIN, 0};
    const int found = ::poll(&ready, 1, int(patience.count()));
    if (found < 0 && errno == EINTR)
      continue;
    if (found == 0)
      return failed("'{}' has not answered for {} s", name_,
                    patience.count() / 1000);
    char some[1 << 16];
    const ssize_t count = ::recv(socket_.number(), some, sizeof some, 0);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return failed("'{}' ended without an answer", name_);
    rest_.append(some, size_t(count));
  }
}

Result<Json> TextProgram::readAnswer(std::chrono::milliseconds patience) {
  DLC_ASSIGN(const std::string line, readLine(patience));
  auto answer = parseJson(line);
  if (!answer || !answer->is_object())
    return failed("'{}' answers '{}'", name_, printable(line, 100));
  if (!answer->contains("error"))
    return answer;
  const Json &error = (*answer)["error"];
  const std::string text =
      error.is_string() ? error.get<std::string>() : dumpJson(error);
  return answer->value("code", Json(1)) == Json(2) ? usageError("{}", text)
                                                   : failed("{}", text);
}

} // namespace dlc
