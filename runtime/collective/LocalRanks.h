// Processes of this program as the ranks of a job, from one start to their end.
#pragma once

#include "runtime/base/Status.h"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace dlc {

// How the ranks of a job ended.
struct Ending {
  int code = 0; // of the job
  // Ranks that were killed or ended alone with an error of their own; if there
  // are none, those that others lost and waited for in vain.
  std::vector<size_t> lost;
  std::vector<int> left; // LOCAL_RANK of the others
  bool asked = false;    // by a signal to this process
  bool split = false;    // a rank was lost, or some lost each other
};

class LocalRanks {
public:
  // They meet in `folder`; `places` are their LOCAL_RANKs. `patience`: once one
  // has kept a note, ranks that others have lost may take so long to end,
  // unless it is known which one has failed; else they have a moment.
  LocalRanks(std::string folder, std::vector<int> places,
             std::optional<std::chrono::milliseconds> patience)
      : folder_(std::move(folder)), places_(std::move(places)),
        patience_(patience) {}
  ~LocalRanks(); // kills what runs

  // Once. Signals that this process then gets are passed on.
  Status start(const std::vector<std::string> &arguments);
  Ending wait();

private:
  struct Child {
    pid_t process = -1;
    bool running = true;
    bool ended = false;  // by this process,
    bool silent = false; // which had waited for it in vain
    int status = 0;      // of waitpid
  };

  [[noreturn]] void become(size_t rank, pid_t parent,
                           const std::vector<std::string> &arguments);
  int running() const;
  void killAll(int signal);
  void reap(int options);
  void reportDeath(size_t rank, int signal);
  static bool failedItself(const Child &child);
  bool isPatient() const;
  std::chrono::milliseconds grace() const;
  bool anyFailed(int code = 0) const;
  int verdict() const;
  Ending ending() const;

  const std::string folder_;
  const std::vector<int> places_;
  const std::optional<std::chrono::milliseconds> patience_;
  std::vector<Child> children_;
  bool dead_ = false;    // a rank was killed, not by this process,
  bool killed_ = false;  // which kills what has not ended in time
  bool patient_ = false; // that time is patience_
  bool asked_ = false;
};

} // namespace dlc
