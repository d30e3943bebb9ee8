// SPDX-License-Identifier: Apache-2.0
// One start of a job's ranks as processes of this program.
#pragma once

#include "runtime/base/process/SignalHandlers.h"
#include "runtime/collective/Communicator.h"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace dlc {

// How the ranks of a job ended.
struct Ending {
  int code = 0; // exit code of the job
  // Ranks that were killed or ended alone with their own error; if there are
  // none, those that others waited for until a deadline.
  std::vector<size_t> lost;
  std::vector<int> left; // LOCAL_RANKs of the others
  int asked = 0;         // the signal that asked this process to end
  bool split = false;    // a rank was lost, or ranks lost each other
};

class LocalRanks {
public:
  // `places` are the LOCAL_RANKs. `goesOn`: after a rank has stored a note,
  // ranks that others have lost get `patience` to end, unless the failed rank
  // is known; otherwise a short time. `signals` calls remember().
  LocalRanks(const SignalHandlers &signals, std::vector<int> places,
             bool goesOn, std::chrono::milliseconds patience)
      : signals_(signals), places_(std::move(places)), goesOn_(goesOn),
        patience_(patience) {}
  ~LocalRanks(); // kills running ranks

  // Records a signal, for wait() to forward; a second SIGINT kills the ranks.
  static void remember(int signal, siginfo_t *info, void *context);

  // Call once.
  Status start(const std::vector<std::string> &arguments);
  Ending wait();

private:
  struct Child {
    pid_t process = -1;
    bool running = true;
    bool ended = false;  // killed by this process,
    bool silent = false; // after other ranks lost it
    bool late = false;   // after others had exited with 0
    int status = 0;      // from waitpid
  };

  Status startAll(const sigset_t &mask,
                  const std::vector<std::string> &arguments);
  [[noreturn]] void become(size_t rank, pid_t parent, const sigset_t &mask,
                           const std::vector<std::string> &arguments);
  int running() const;
  void passSignalsOn();
  void endLateOnes();
  void killAll(int signal);
  void reap(int options);
  void reportDeath(size_t rank, int signal);
  bool failedItself(const Child &child) const;
  bool endedAsAsked(const Child &child) const;
  bool endedWell(const Child &child) const;
  bool isPatient() const;
  std::chrono::milliseconds grace() const;
  bool anyFailed(int code = 0) const;
  bool anyEndedWell() const;
  int verdict() const;
  Ending ending() const;

  const SignalHandlers &signals_;
  Rendezvous meeting_;
  const std::vector<int> places_;
  const bool goesOn_;
  const std::chrono::milliseconds patience_;
  std::vector<Child> children_;
  bool dead_ = false;    // a rank was killed by another process
  bool killed_ = false;  // this process killed the late ranks
  bool patient_ = false; // they had patience_ to end
  int asked_ = 0;        // the forwarded signal
};

} // namespace dlc
