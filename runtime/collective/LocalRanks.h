// SPDX-License-Identifier: Apache-2.0
// Processes of this program as the ranks of a job, for one start.
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
  int code = 0; // of the job
  // Ranks that were killed or ended alone with their own error; if there are
  // none, those that others waited for until a deadline.
  std::vector<size_t> lost;
  std::vector<int> left; // LOCAL_RANK of the others
  int asked = 0;         // to end, by this signal to this process
  bool split = false;    // a rank was lost, or some lost each other
};

class LocalRanks {
public:
  // `places` are their LOCAL_RANKs. `goesOn`: after one has stored a note,
  // ranks that others have lost get `patience` to end, unless the failed rank
  // is known; otherwise a short time. `signals` calls remember().
  LocalRanks(const SignalHandlers &signals, std::vector<int> places,
             bool goesOn, std::chrono::milliseconds patience)
      : signals_(signals), places_(std::move(places)), goesOn_(goesOn),
        patience_(patience) {}
  ~LocalRanks(); // kills what runs

  // Remembered signals are forwarded to the ranks; a second SIGINT kills them.
  static void remember(int signal, siginfo_t *info, void *context);

  // Once.
  Status start(const std::vector<std::string> &arguments);
  Ending wait();

private:
  struct Child {
    pid_t process = -1;
    bool running = true;
    bool ended = false;  // by this process,
    bool silent = false; // which had waited for it in vain
    bool late = false;   // when others had ended well
    int status = 0;      // of waitpid
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
  bool dead_ = false;    // a rank was killed, not by this process,
  bool killed_ = false;  // which kills what has not ended in time
  bool patient_ = false; // that time is patience_
  int asked_ = 0;        // the signal
};

} // namespace dlc
