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
  // Ranks that were killed, or did not end when others had to, or ended with an
  // error of their own while others lost them.
  std::vector<size_t> lost;
  std::vector<int> left; // LOCAL_RANK of the others
  bool asked = false;    // by a signal to this process
  bool split = false;    // a rank was lost, or some lost each other
};

class LocalRanks {
public:
  // They meet in `folder`; `places` are their LOCAL_RANKs. `patience`: how long
  // they may take to end after one has failed, instead of a moment, once one
  // has kept a note.
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
    bool lost = false; // killed, or killed by this process after its patience
    int status = 0;    // of waitpid
  };

  [[noreturn]] void become(size_t rank, pid_t parent,
                           const std::vector<std::string> &arguments);
  int running() const;
  void killAll(int signal);
  void reap(int options);
  void reportDeath(size_t rank, int signal);
  std::chrono::milliseconds grace();
  bool anyFailed(int code = 0) const;
  int verdict() const;
  Ending ending() const;

  const std::string folder_;
  const std::vector<int> places_;
  const std::optional<std::chrono::milliseconds> patience_;
  std::vector<Child> children_;
  bool dead_ = false;    // a rank was killed, not by this process,
  bool killed_ = false;  // which kills what has not ended in time,
  bool patient_ = false; // for so long that it is lost
  bool asked_ = false;
};

} // namespace dlc
