// SPDX-License-Identifier: Apache-2.0
#include "runtime/collective/store/Pmi.h"

#include "runtime/base/Text.h"

#include <fcntl.h>

namespace dlc {
namespace {

// Lines of words NAME=VALUE, of which the first is cmd; each line is answered.
class Pmi {
public:
  Pmi(int descriptor, Socket::Clock::time_point deadline)
      : socket_(descriptor), deadline_(deadline) {}
  ~Pmi() { socket_.release(); } // closing it would mean the rank's end

  Result<std::string> ask(const std::string &line, std::string_view expected) {
    const std::string bytes = line + "\n";
    if (!socket_.send(bytes.data(), bytes.size(), deadline_))
      return noAnswer(line);
    std::string answer;
    for (char byte = 0; byte != '\n'; answer += byte)
      if (answer.size() > kLongest || !socket_.receive(&byte, 1, deadline_))
        return noAnswer(line);
    answer.pop_back();
    const std::string code = valueOf(answer, "rc");
    if (valueOf(answer, "cmd") != expected || (!code.empty() && code != "0"))
      return peerLost("the launcher answers '{}' to '{}' (PMI_FD)",
                      printable(answer, 80), printable(line, 80));
    return answer;
  }

  static std::string valueOf(const std::string &line, const std::string &name) {
    const std::string word = " " + name + "=", all = " " + line;
    const size_t begin = all.find(word);
    if (begin == all.npos)
      return "";
    const size_t from = begin + word.size();
    return all.substr(from, all.find(' ', from) - from);
  }

private:
  static constexpr size_t kLongest = 4096;

  static Status noAnswer(const std::string &line) {
    return peerLost("the launcher does not answer '{}' (PMI_FD)",
                    printable(line, 80));
  }

  Socket socket_;
  Socket::Clock::time_point deadline_;
};

} // namespace

Result<std::string> shareByPmi(int descriptor, int rank,
                               const std::string &text,
                               Socket::Clock::time_point deadline) {
  const int flags = ::fcntl(descriptor, F_GETFL);
  if (flags < 0 || ::fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) != 0)
    return usageError("PMI_FD is {}, which is not open", descriptor);
  Pmi pmi(descriptor, deadline);
  DLC_TRY(pmi.ask("cmd=init pmi_version=1 pmi_subversion=1", "response_to_init")
              .status());
  DLC_ASSIGN(const std::string mine,
             pmi.ask("cmd=get_my_kvsname", "my_kvsname"));
  const std::string space = Pmi::valueOf(mine, "kvsname");
  if (rank == 0)
    DLC_TRY(
        pmi.ask(fmt::format("cmd=put kvsname={} key=dlc value={}", space, text),
                "put_result")
            .status());
  DLC_TRY(pmi.ask("cmd=barrier_in", "barrier_out").status());
  DLC_ASSIGN(
      const std::string found,
      pmi.ask(fmt::format("cmd=get kvsname={} key=dlc", space), "get_result"));
  // After this the launcher does not treat an exit without a call as failure.
  DLC_TRY(pmi.ask("cmd=finalize", "finalize_ack").status());
  return Pmi::valueOf(found, "value");
}

} // namespace dlc
