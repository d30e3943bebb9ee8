// How a command becomes the ranks of a job.
#include "tools/dlc/Commands.h"

namespace dlc::tool {

RankEnd endOf(const Status &status, bool say) {
  const int code = say ? report(status) : static_cast<int>(status.code());
  return {code, code != 0 && code != static_cast<int>(Code::PeerLost)};
}

static Result<int> run(const std::function<Result<int>()> &countRanks,
                       double timeoutSeconds,
                       const std::vector<std::string> &arguments,
                       const std::function<RankEnd(Communicator &)> &body,
                       LostRanks lost) {
  const std::chrono::milliseconds timeout(
      static_cast<int64_t>(timeoutSeconds * 1000));
  DLC_ASSIGN(auto rendezvous, rendezvousFromEnvironment(timeout));
  if (!rendezvous) {
    DLC_ASSIGN(const int ranks, countRanks());
    // Ranks that are well end within their timeout.
    lost.patience = timeout + std::chrono::seconds(3);
    if (ranks > 1)
      return runLocalRanks(ranks, arguments, lost);
  }
  auto communicator = makeSingleCommunicator();
  if (rendezvous && rendezvous->size > 1) {
    DLC_ASSIGN(communicator, makeGlooCommunicator(*rendezvous));
  }
  const RankEnd end = body(*communicator);
  if (end.alone)
    communicator->abandon();
  return end.code;
}

int runAsRanks(const std::function<Result<int>()> &countRanks,
               double timeoutSeconds, const std::vector<std::string> &arguments,
               const std::function<RankEnd(Communicator &)> &body,
               const LostRanks &lost) {
  auto code = run(countRanks, timeoutSeconds, arguments, body, lost);
  return code ? *code : report(code.status());
}

} // namespace dlc::tool
