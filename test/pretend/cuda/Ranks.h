// SPDX-License-Identifier: Apache-2.0
// Ranks as processes of their own, each with a GPU that is a stand-in.
#pragma once

#include "runtime/collective/Communicator.h"

#include <functional>
#include <string>
#include <vector>

#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

namespace dlc::test {

// What `body` returns on each rank. A rank that does not answer within 30 s is
// killed and has "". Its trace goes to <folder>/trace-<rank>.
inline std::vector<std::string>
onRanks(int count, const std::string &folder,
        const std::function<std::string(Communicator &)> &body) {
  const auto meeting = meetHere(count);
  if (!meeting.ok())
    return {meeting.status().message()};
  std::vector<pid_t> children;
  std::vector<int> ends;
  for (int rank = 0; rank < count; ++rank) {
    int pipe[2];
    if (::pipe(pipe) != 0)
      return {};
    children.push_back(::fork());
    if (children.back() == 0) {
      ::alarm(30);
      ::setenv("DLC_STANDIN_DEVICES", std::to_string(count).c_str(), 1);
      ::setenv("DLC_STANDIN_TRACE",
               fmt::format("{}/trace-{}", folder, rank).c_str(), 1);
      Rendezvous own = *meeting;
      own.rank = rank;
      own.timeout = std::chrono::seconds(20);
      auto communicator = makeGlooCommunicator(own);
      // Says farewell at its end: else the others may take it for lost.
      const std::string text = communicator.ok()
                                   ? body(**communicator)
                                   : communicator.status().message();
      (void)!::write(pipe[1], text.data(), text.size());
      if (communicator.ok())
        communicator->reset();
      ::_exit(0);
    }
    ::close(pipe[1]);
    ends.push_back(pipe[0]);
  }
  std::vector<std::string> answers;
  for (size_t i = 0; i < children.size(); ++i) {
    std::string answer;
    char piece[4096];
    for (ssize_t n; (n = ::read(ends[i], piece, sizeof piece)) > 0;)
      answer.append(piece, static_cast<size_t>(n));
    ::close(ends[i]);
    answers.push_back(answer);
  }
  for (pid_t child : children)
    ::waitpid(child, nullptr, 0);
  return answers;
}

} // namespace dlc::test
