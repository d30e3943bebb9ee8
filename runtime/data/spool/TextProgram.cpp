// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/spool/TextProgram.h"

#include "runtime/base/Text.h"
#include "runtime/data/spool/Spool.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace dlc {
namespace {

constexpr std::chrono::milliseconds kStarting(120'000), kAnswering(60'000);
constexpr size_t kLongestAnswer = size_t(1) << 30;

// The child's standard input and output are its end of `sockets`.
int spawnChat(const std::vector<std::string> &words, int theirs, pid_t &child) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, theirs, 0);
  posix_spawn_file_actions_adddup2(&files, theirs, 1);
  sigset_t all, none;
  sigfillset(&all);
  sigemptyset(&none);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(
      &attributes, short(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK));
  std::vector<char *> arguments;
  for (const std::string &word : words)
    arguments.push_back(const_cast<char *>(word.c_str()));
  arguments.push_back(nullptr);
  const int error = ::posix_spawnp(&child, arguments[0], &files, &attributes,
                                   arguments.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  return error;
}

} // namespace

Result<std::unique_ptr<TextProgram>>
TextProgram::start(const std::string &tokenizer) {
  DLC_ASSIGN(const std::string program, findDataProgram(tokenizer));
  std::unique_ptr<TextProgram> chat(new TextProgram);
  chat->name_ = program;
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return failed("cannot run '{}': {}", program, std::strerror(errno));
  chat->socket_ = ends[0];
  std::vector<std::string> words = dataProgramWords(program);
  words.insert(words.end(), {"chat", "--tokenizer=" + tokenizer});
  const int error = spawnChat(words, ends[1], chat->program_);
  ::close(ends[1]);
  if (error) {
    chat->program_ = -1;
    return failed("cannot run '{}': {}", program, std::strerror(error));
  }
  DLC_TRY(chat->readAnswer(kStarting).status()); // it is ready
  return chat;
}

TextProgram::~TextProgram() {
  if (socket_ >= 0)
    ::close(socket_); // the end of its input, which ends it
  if (program_ < 0)
    return;
  int status = 0;
  for (int i = 0; i < 200; ++i) { // 2 s
    const pid_t found = ::waitpid(program_, &status, WNOHANG);
    if (found == program_ || (found < 0 && errno != EINTR))
      return;
    ::usleep(10'000);
  }
  ::kill(program_, SIGKILL);
  while (::waitpid(program_, &status, 0) < 0 && errno == EINTR) {
  }
}

Result<Json> TextProgram::ask(const Json &question, const char *key) {
  DLC_TRY(send(dumpJson(question) + "\n"));
  DLC_ASSIGN(Json answer, readAnswer(kAnswering));
  if (!answer.contains(key))
    return failed("'{}' gives no '{}'", name_, key);
  return std::move(answer[key]);
}

Status TextProgram::send(std::string_view text) const {
  while (!text.empty()) {
    const ssize_t sent =
        ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
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
      return limitExceeded("'{}' gives an answer without an end", name_);
    pollfd ready{socket_, POLLIN, 0};
    const int found = ::poll(&ready, 1, int(patience.count()));
    if (found < 0 && errno == EINTR)
      continue;
    if (found == 0)
      return failed("'{}' has not answered for {} s", name_,
                    patience.count() / 1000);
    char some[1 << 16];
    const ssize_t count = ::recv(socket_, some, sizeof some, 0);
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
