// How a command becomes the ranks of a job.
#include "tools/dlc/Commands.h"

namespace dlc::tool {

static Result<int> run(const std::function<Result<int>()> &countRanks,
                       double timeoutSeconds,
                       const std::vector<std::string> &arguments,
                       const std::function<int(Communicator &)> &body,
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
  const int code = body(*communicator);
  // By a signal (128 and more) they end at the same step. Who has lost a peer
  // is not to blame.
  if (code != 0 && code != static_cast<int>(Code::PeerLost) && code < 128)
    communicator->abandon();
  return code;
}

int runAsRanks(const std::function<Result<int>()> &countRanks,
               double timeoutSeconds, const std::vector<std::string> &arguments,
               const std::function<int(Communicator &)> &body,
               const LostRanks &lost) {
  auto code = run(countRanks, timeoutSeconds, arguments, body, lost);
  return code ? *code : report(code.status());
}

} // namespace dlc::tool
