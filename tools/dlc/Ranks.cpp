// SPDX-License-Identifier: Apache-2.0
// Runs a command as the ranks of a job.
#include "runtime/collective/launch/ErrorFile.h"
#include "tools/dlc/Commands.h"
#include "tools/process/Process.h"

namespace dlc::tool {

RankEnd endOf(const Status &status, bool say) {
  tellLauncher(status);
  const int code = say ? report(status) : int(status.code());
  return {code, code != 0 && code != int(Code::PeerLost)};
}

std::chrono::milliseconds milliseconds(double seconds) {
  return std::chrono::milliseconds(int64_t(seconds * 1000));
}

static Result<int> run(const Launch &launch,
                       const std::function<Result<int>()> &countRanks,
                       const std::vector<std::string> &arguments,
                       const std::function<RankEnd(Communicator &)> &body,
                       LostRanks lost) {
  if (!launch.isRank()) {
    DLC_ASSIGN(const int ranks, countRanks());
    // Other ranks end within their timeout.
    auto patience = launch.rendezvous.timeout;
    if (launch.rendezvous.silence.count() > 0)
      patience = std::min(patience, launch.rendezvous.silence * 11 / 10);
    lost.patience = patience + std::chrono::seconds(3);
    if (ranks > 1)
      return runLocalRanks(ranks, arguments, lost);
  }
  DLC_ASSIGN(const auto communicator, joinJob(launch));
  communicator->setLeave([](const Status &why) {
    tellLauncher(why);
    process::endNow(why.code(), why.message());
  });
  const RankEnd end = body(*communicator);
  if (end.alone)
    communicator->abandon();
  return end.code;
}

int runAsRanks(const Launch &launch,
               const std::function<Result<int>()> &countRanks,
               const std::vector<std::string> &arguments,
               const std::function<RankEnd(Communicator &)> &body,
               const LostRanks &lost) {
  auto code = run(launch, countRanks, arguments, body, lost);
  tellLauncher(code.status());
  return report(code);
}

} // namespace dlc::tool
