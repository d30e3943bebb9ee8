// SPDX-License-Identifier: Apache-2.0
// The server: one thread, one poll, a buffer for each connection.
#include "runtime/collective/store/TcpStore.h"

#include "runtime/base/process/Log.h"
#include "runtime/collective/store/Connection.h"
#include "runtime/collective/store/Parted.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <list>
#include <map>
#include <optional>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace dlc {
namespace {

using namespace store;
using Clock = Socket::Clock;
constexpr auto kNever = Clock::time_point::max();

// In a time that does not depend on where they differ.
bool isSame(std::string_view a, std::string_view b) {
  unsigned difference = a.size() != b.size();
  for (size_t i = 0; i < a.size() && i < b.size(); ++i)
    difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  return difference == 0;
}

// What Add keeps: digits; nothing is 0.
std::optional<int64_t> numberOf(std::string_view text) {
  int64_t value = 0;
  const auto [stop, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() ||
      (error == std::errc() && stop == text.data() + text.size()))
    return value;
  return std::nullopt;
}

} // namespace

class TcpStoreServer::Impl {
public:
  Impl(Socket listener, int size, std::string token,
       std::chrono::milliseconds silence)
      : listener_(std::move(listener)), size_(size), token_(std::move(token)),
        silence_(silence), beats_(size, silence),
        wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    thread_ = std::thread([this] { serve(); });
  }

  ~Impl() {
    stop_ = true;
    ::eventfd_write(wake_.descriptor(), 1);
    thread_.join();
  }

  std::atomic<bool> abandoned = false;

private:
  void serve() {
    try {
      while (!stop_)
        turn();
      for (Connection &c : connections_)
        if (c.watches && !abandoned) {
          c.tell(store::kEnd);
          write(c);
        }
    } catch (const std::exception &error) { // the ranks take rank 0 for lost
      logError(fmt::format("the job's store ends: {}", error.what()));
    }
    connections_.clear();
  }

  void turn() {
    std::vector<pollfd> entries = {{wake_.descriptor(), POLLIN, 0},
                                   {listener_.descriptor(), POLLIN, 0}};
    Clock::time_point due = kNever;
    for (const Connection &c : connections_) {
      const int events = POLLRDHUP | (c.out.empty() ? POLLIN : POLLOUT);
      entries.push_back({c.socket.descriptor(), static_cast<short>(events), 0});
      due = std::min(due, c.due);
    }
    const auto pause = beats_.pause();
    if (pause)
      due = std::min(due, Clock::now() + *pause);
    due = std::min(due, parted_.due().value_or(kNever));
    const auto timeout =
        due == kNever ? std::chrono::milliseconds(-1) : Clock::sliceUntil(due);
    ::poll(entries.data(), entries.size(), static_cast<int>(timeout.count()));
    size_t i = 2;
    for (Connection &c : connections_)
      handle(c, entries[i++].revents);
    if (entries[1].revents)
      accept();
    dropClosed();
    while (const auto silent = beats_.findSilent(Clock::now()))
      tellLost(*silent, store::kSilent);
    if (const auto pair = parted_.find(Clock::now()))
      for (const uint32_t word : {kParted, static_cast<uint32_t>(pair->first),
                                  static_cast<uint32_t>(pair->second)})
        tellWatchers(word);
  }

  void handle(Connection &c, int events) {
    if (events & POLLOUT)
      write(c);
    if (!c.closed && c.out.empty() && !c.in.empty())
      work(c); // what it asked for behind what it has taken now
    if (!c.closed && (events & (POLLIN | POLLRDHUP | POLLHUP | POLLERR)))
      read(c);
    if (!c.closed && c.due <= Clock::now())
      c.closed = true;
  }

  // All that is there; what it asks for is done. One that does not take its
  // answers is only looked at.
  void read(Connection &c) {
    char piece[1 << 16];
    const ssize_t count = ::recv(c.socket.descriptor(), piece, sizeof piece,
                                 c.out.empty() ? 0 : MSG_PEEK);
    if (count < 0 && (errno == EINTR || errno == EAGAIN))
      return;
    if (count <= 0 || !c.out.empty()) { // it closed behind what it has sent
      c.closed = true;
      return;
    }
    c.in.append(piece, static_cast<size_t>(count));
    work(c);
  }

  void work(Connection &c) {
    while (!c.closed && c.out.empty() && takeMessage(c)) {
      c.due = kNever;
      write(c);
    }
    if (isAdmitted(c) && c.in.empty() && c.out.empty())
      c.due = kNever;
    else if (c.due == kNever)
      c.due = Clock::now() + StoreLimits::kPatience;
  }

  // It said who it is, or need not.
  bool isAdmitted(const Connection &c) const {
    return c.rank >= 0 || (c.validated && token_.empty());
  }

  // False if there is no whole one.
  bool takeMessage(Connection &c) {
    Message message;
    size_t length = 0;
    const Parsed parsed = parse(c.in, message, length);
    if (parsed == Parsed::Whole) {
      c.in.erase(0, length);
      c.closed = !mayAsk(c, message) || !perform(c, std::move(message));
    } else if (parsed == Parsed::Hostile) {
      c.closed = true;
    }
    return parsed == Parsed::Whole;
  }

  bool mayAsk(const Connection &c, const Message &message) const {
    if (message.query == Query::Validate || message.query == Query::Hello)
      return c.validated == (message.query == Query::Hello) && c.rank < 0;
    if (message.query == Query::Beat)
      return c.watches;
    if (message.query >= Query::Watch)
      return c.rank >= 0;
    if (!c.wanted.empty() && message.query != Query::CancelWait)
      return false;
    return isAdmitted(c) || (c.validated && message.query == Query::Check);
  }

  // False if the connection is to end.
  bool perform(Connection &c, Message message) {
    switch (message.query) {
    case Query::Validate:
      return c.validated = message.number == store::kMagic;
    case Query::Hello:
      return admit(c, message);
    case Query::Watch:
      return watch(c);
    case Query::Farewell:
      beats_.release(c.rank);
      return c.left = true;
    case Query::Beat:
    case Query::Ask:
    case Query::Places:
    case Query::Accuse:
    case Query::Miss:
      return listen(c, message);
    case Query::Ping:
      c.tell(static_cast<uint32_t>(message.number));
      return true;
    case Query::CancelWait:
      c.wanted.clear();
      c.tell(kWaitCancelled);
      return true;
    case Query::Wait:
      c.wanted = std::move(message.keys);
      answer(c);
      return true;
    case Query::Count:
      c.tell(static_cast<int64_t>(values_.size()));
      return true;
    case Query::Check:
      c.tell(areSet(message.keys) || message.keys[0] == kServes ? kReady
                                                                : kNotReady);
      return true;
    case Query::Get:
    case Query::MultiGet:
      return get(c, message.keys);
    case Query::Erase:
      c.tell(static_cast<int64_t>(erase(message.keys[0])));
      return true;
    default:
      return change(c, message);
    }
  }

  bool change(Connection &c, const Message &message) {
    const auto &values = message.values;
    if (message.query == Query::Set || message.query == Query::MultiSet) {
      for (size_t i = 0; i < message.keys.size(); ++i)
        if (!set(message.keys[i], values[i]))
          return false;
      return true;
    }
    const std::string &key = message.keys[0];
    const auto found = values_.find(key);
    const std::string now = found == values_.end() ? "" : found->second;
    if (message.query == Query::Append)
      return now.size() + values[0].size() <= StoreLimits::kValue &&
             set(key, now + values[0]);
    if (message.query == Query::Add) {
      const auto number = numberOf(now);
      int64_t sum = 0;
      if (!number || __builtin_add_overflow(*number, message.number, &sum))
        return false;
      c.tell(sum);
      return set(key, std::to_string(sum));
    }
    // CompareSet: what is not set is as if it were empty, but its answer is
    // what was expected.
    const bool same = now == values[0];
    c.tellText(same ? values[1] : found == values_.end() ? values[0] : now);
    return !same || set(key, values[1]);
  }

  bool admit(Connection &c, const Message &hello) {
    const auto mine = std::count_if(
        connections_.begin(), connections_.end(), [&](const Connection &other) {
          return !other.closed && other.rank == hello.number;
        });
    const bool welcome = isSame(hello.values[0], token_) &&
                         hello.number < size_ &&
                         mine < static_cast<ssize_t>(StoreLimits::kEach);
    if (welcome) {
      c.rank = static_cast<int>(hello.number);
      beats_.hear(c.rank, Clock::now());
    }
    c.tell(welcome ? kWelcome : kRefused);
    write(c);
    return welcome;
  }

  bool watch(Connection &c) {
    beats_.hear(c.rank, 0, Clock::now());
    c.socket.noticeVanishedPeer(3 * silence_);
    if (!c.watches)
      for (int rank : lost_)
        c.tell(static_cast<uint32_t>(rank));
    return c.watches = true;
  }

  bool listen(Connection &c, const Message &message) {
    if (message.query == Query::Beat) {
      if (!isLost(c.rank))
        beats_.hear(c.rank, message.number, Clock::now());
      c.tell(kBeat);
    } else if (message.query == Query::Places) {
      c.tellText(beats_.placesText(Clock::now()));
    } else if (message.query == Query::Ask) {
      tellWatchers(kAsk);
    } else if (message.query == Query::Miss) {
      if (message.number < size_)
        parted_.miss(c.rank, static_cast<int>(message.number), Clock::now());
    } else if (message.number < size_) {
      tellLost(static_cast<int>(message.number), store::kSilent);
    }
    return true;
  }

  bool areSet(const std::vector<std::string> &keys) const {
    return std::all_of(keys.begin(), keys.end(), [this](const auto &key) {
      return values_.count(key) > 0;
    });
  }

  bool get(Connection &c, const std::vector<std::string> &keys) {
    size_t bytes = 0;
    for (const std::string &key : keys) {
      const auto found = values_.find(key);
      if (found == values_.end() ||
          (bytes += found->second.size()) > StoreLimits::kMessage)
        return false;
      c.tellText(found->second);
    }
    return true;
  }

  size_t erase(const std::string &key) {
    const auto found = values_.find(key);
    if (found == values_.end())
      return 0;
    stored_ -= key.size() + found->second.size();
    values_.erase(found);
    return 1;
  }

  // False if it would be too much.
  bool set(const std::string &key, std::string value) {
    const auto found = values_.find(key);
    const size_t before =
        found == values_.end() ? 0 : key.size() + found->second.size();
    const size_t after = stored_ - before + key.size() + value.size();
    if (after > StoreLimits::kTotal)
      return false;
    stored_ = after;
    values_[key] = std::move(value);
    for (Connection &other : connections_)
      if (std::find(other.wanted.begin(), other.wanted.end(), key) !=
          other.wanted.end())
        answer(other);
    return true;
  }

  // To the one that waits, if it can be told yet.
  void answer(Connection &c) {
    if (areSet(c.wanted)) {
      c.tell(kStopWaiting);
    } else if (!lost_.empty() && c.rank >= 0) {
      c.tell(kLost);
      c.tell(static_cast<uint32_t>(lost_.front()));
    } else {
      return;
    }
    c.wanted.clear();
    c.due = Clock::now() + StoreLimits::kPatience;
    write(c);
  }

  void write(Connection &c) {
    while (!c.closed && !c.out.empty()) {
      const ssize_t count = ::send(c.socket.descriptor(), c.out.data(),
                                   c.out.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (count < 0 && errno == EINTR)
        continue;
      if (count < 0 && errno == EAGAIN)
        return;
      if (count <= 0)
        c.closed = true;
      else
        c.out.erase(0, static_cast<size_t>(count));
    }
    if (isAdmitted(c) && c.in.empty() && c.out.empty())
      c.due = kNever;
  }

  void accept() {
    Socket socket(::accept4(listener_.descriptor(), nullptr, nullptr,
                            SOCK_CLOEXEC | SOCK_NONBLOCK));
    const bool full =
        socket.descriptor() < 0 && (errno == EMFILE || errno == ENFILE ||
                                    errno == ENOMEM || errno == ENOBUFS);
    if (socket.descriptor() < 0 && !full)
      return;
    if (full || strangers() >= StoreLimits::kStrangers)
      dropOldestStranger();
    if (full) { // what is free now is for the next turn
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      return;
    }
    Connection &c = connections_.emplace_back();
    c.socket = std::move(socket);
    c.socket.noticeVanishedPeer();
    c.due = Clock::now() + StoreLimits::kPatience;
  }

  size_t strangers() const {
    return static_cast<size_t>(
        std::count_if(connections_.begin(), connections_.end(),
                      [](const Connection &c) { return c.rank < 0; }));
  }

  // One that did not even validate, if there is one.
  void dropOldestStranger() {
    const auto oldest = [this](bool validated) {
      return std::find_if(connections_.begin(), connections_.end(),
                          [validated](const Connection &c) {
                            return c.rank < 0 && c.validated == validated;
                          });
    };
    auto found = oldest(false);
    if (found == connections_.end())
      found = oldest(true);
    if (found != connections_.end())
      connections_.erase(found);
  }

  // A rank that leaves without a farewell is lost: all learn it.
  void dropClosed() {
    for (auto c = connections_.begin(); c != connections_.end();) {
      if (!c->closed) {
        ++c;
        continue;
      }
      const int gone = c->watches && !c->left ? c->rank : -1;
      c = connections_.erase(c);
      if (gone >= 0)
        tellLost(gone);
    }
  }

  void tellLost(int rank, uint32_t how = 0) {
    if (isLost(rank))
      return;
    lost_.push_back(rank);
    beats_.release(rank);
    for (Connection &c : connections_)
      if (!c.wanted.empty())
        answer(c);
    tellWatchers(static_cast<uint32_t>(rank) | how);
  }

  bool isLost(int rank) const {
    return std::find(lost_.begin(), lost_.end(), rank) != lost_.end();
  }

  void tellWatchers(uint32_t word) {
    for (Connection &c : connections_)
      if (c.watches) {
        c.tell(word);
        write(c);
      }
  }

  const Socket listener_;
  const int size_;
  const std::string token_;
  const std::chrono::milliseconds silence_;
  Heartbeats beats_; // of the thread alone
  Parted parted_;    // the same
  const Socket wake_;
  std::atomic<bool> stop_ = false;
  // Of the thread alone:
  std::list<Connection> connections_; // the oldest first
  std::map<std::string, std::string> values_;
  size_t stored_ = 0; // bytes of them
  std::vector<int> lost_;
  std::thread thread_; // last: it uses the rest
};

TcpStoreServer::TcpStoreServer(std::unique_ptr<Impl> impl)
    : impl_(std::move(impl)) {}
TcpStoreServer::~TcpStoreServer() = default;

Result<std::unique_ptr<TcpStoreServer>>
TcpStoreServer::serve(Socket listener, int size, const std::string &token,
                      std::chrono::milliseconds silence) {
  return std::unique_ptr<TcpStoreServer>(new TcpStoreServer(
      std::make_unique<Impl>(std::move(listener), size, token, silence)));
}

void TcpStoreServer::abandon() { impl_->abandoned = true; }

} // namespace dlc
