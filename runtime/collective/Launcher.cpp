#include "runtime/collective/Launcher.h"

#include "runtime/base/Log.h"

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dlc {
namespace {

using Clock = std::chrono::steady_clock;

// How long ranks may take to end by themselves after one has failed; and after
// one has waited in vain for another.
constexpr std::chrono::milliseconds kGrace{3000}, kSilentGrace{300};
constexpr int kPeerLost = static_cast<int>(Code::PeerLost);

volatile std::sig_atomic_t caughtSignal = 0;
void remember(int signal) { caughtSignal = signal; }

Result<int> intVariable(const char *name) {
  const char *text = std::getenv(name);
  if (!text)
    return usageError("RANK is set and {} is not: set both or none", name);
  int value = 0;
  auto [end, error] = std::from_chars(text, text + std::strlen(text), value);
  if (error != std::errc() || *end || value < 0)
    return usageError("{} is '{}', expected a whole number", name, text);
  return value;
}

struct Child {
  pid_t process = -1;
  bool running = true;
  int status = 0; // of waitpid
};

// The ranks of one job, from their start to their end.
class Job {
public:
  explicit Job(std::string folder) : folder_(std::move(folder)) {}
  ~Job() {
    killAll(SIGKILL);
    while (running() > 0)
      reap(0);
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  Status start(int count, const std::vector<std::string> &arguments) {
    pid_t parent = ::getpid();
    for (int rank = 0; rank < count; ++rank) {
      pid_t process = ::fork();
      if (process < 0)
        return failed("cannot start rank {}: {}", rank, std::strerror(errno));
      if (process == 0)
        become(rank, count, parent, arguments);
      children_.push_back({process});
    }
    return {};
  }

  int wait() {
    std::optional<Clock::time_point> deadline;
    while (running() > 0) {
      if (int signal = std::exchange(caughtSignal, 0))
        killAll(signal);
      reap(WNOHANG);
      if (!deadline && anyFailed())
        deadline =
            Clock::now() + (anyFailed(kPeerLost) ? kSilentGrace : kGrace);
      if (deadline && Clock::now() > *deadline)
        killAll(SIGKILL), killed_ = true;
      ::usleep(5000);
    }
    return verdict();
  }

private:
  // In the child: sets the environment and runs the program again.
  [[noreturn]] void become(int rank, int count, pid_t parent,
                           const std::vector<std::string> &arguments) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent)
      ::_exit(1);
    for (int signal : {SIGINT, SIGTERM})
      std::signal(signal, SIG_DFL);
    ::setenv("RANK", std::to_string(rank).c_str(), 1);
    ::setenv("LOCAL_RANK", std::to_string(rank).c_str(), 1);
    ::setenv("WORLD_SIZE", std::to_string(count).c_str(), 1);
    ::setenv("LOCAL_WORLD_SIZE", std::to_string(count).c_str(), 1);
    ::setenv("DLC_RENDEZVOUS", folder_.c_str(), 1);
    std::vector<char *> words;
    for (const std::string &word : arguments)
      words.push_back(const_cast<char *>(word.c_str()));
    words.push_back(nullptr);
    ::execv("/proc/self/exe", words.data());
    ::_exit(127);
  }

  int running() const {
    int count = 0;
    for (const Child &child : children_)
      count += child.running;
    return count;
  }

  void killAll(int signal) {
    for (const Child &child : children_)
      if (child.running)
        ::kill(child.process, signal);
  }

  void reap(int options) {
    for (size_t rank = 0; rank < children_.size(); ++rank) {
      Child &child = children_[rank];
      if (!child.running ||
          ::waitpid(child.process, &child.status, options) != child.process)
        continue;
      child.running = false;
      if (WIFSIGNALED(child.status) && !killed_)
        reportDeath(rank, WTERMSIG(child.status));
    }
  }

  void reportDeath(size_t rank, int signal) {
    dead_ = true;
    logError(fmt::format("rank {} (process {}) was ended by signal {} ({})",
                         rank, children_[rank].process, signal,
                         ::strsignal(signal)));
  }

  // With any code, or with this one.
  bool anyFailed(int code = 0) const {
    for (const Child &child : children_)
      if (!child.running && child.status != 0 &&
          (code == 0 ||
           (WIFEXITED(child.status) && WEXITSTATUS(child.status) == code)))
        return true;
    return false;
  }

  // A rank that lost a peer is not the cause if another one has its own error.
  int verdict() const {
    if (dead_)
      return kPeerLost;
    int code = 0;
    for (const Child &child : children_) {
      int own = WIFEXITED(child.status) ? WEXITSTATUS(child.status) : kPeerLost;
      if (own != 0 && (code == 0 || code == kPeerLost))
        code = own;
    }
    return code;
  }

  std::string folder_;
  std::vector<Child> children_;
  bool dead_ = false, killed_ = false;
};

} // namespace

Result<std::optional<Rendezvous>>
rendezvousFromEnvironment(std::chrono::milliseconds timeout) {
  if (!std::getenv("RANK"))
    return std::optional<Rendezvous>();
  Rendezvous rendezvous;
  rendezvous.timeout = timeout;
  DLC_ASSIGN(rendezvous.rank, intVariable("RANK"));
  DLC_ASSIGN(rendezvous.size, intVariable("WORLD_SIZE"));
  if (rendezvous.rank >= rendezvous.size)
    return usageError("RANK is {}, expected less than WORLD_SIZE = {}",
                      rendezvous.rank, rendezvous.size);
  if (const char *folder = std::getenv("DLC_RENDEZVOUS")) {
    rendezvous.folder = folder;
  } else if (rendezvous.size > 1) {
    const char *address = std::getenv("MASTER_ADDR");
    if (!address)
      return usageError("RANK is set and MASTER_ADDR is not");
    rendezvous.address = address;
    DLC_ASSIGN(int port, intVariable("MASTER_PORT"));
    rendezvous.port = port + 1;
  }
  return std::optional(rendezvous);
}

Result<int> runLocalRanks(int count,
                          const std::vector<std::string> &arguments) {
  std::string folder =
      (std::filesystem::temp_directory_path() / "dlc-ranks-XXXXXX").string();
  if (!::mkdtemp(folder.data()))
    return failed("cannot create '{}': {}", folder, std::strerror(errno));
  Job job(folder);
  for (int signal : {SIGINT, SIGTERM})
    std::signal(signal, remember);
  DLC_TRY(job.start(count, arguments));
  return job.wait();
}

} // namespace dlc
