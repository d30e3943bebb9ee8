// SPDX-License-Identifier: Apache-2.0
// The server: one thread, one epoll loop, a buffer for each connection.
#include "runtime/collective/store/TcpStore.h"

#include "runtime/base/process/Log.h"
#include "runtime/collective/store/Connection.h"
#include "runtime/collective/store/KeyValues.h"
#include "runtime/collective/store/Parted.h"
#include "runtime/collective/store/Swaps.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <list>
#include <optional>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace dlc {
namespace {

using namespace store;
using Clock = Socket::Clock;
constexpr auto kNever = Clock::time_point::max();

// Compares in time that does not depend on where they differ.
bool isSame(std::string_view a, std::string_view b) {
  unsigned difference = a.size() != b.size();
  for (size_t i = 0; i < a.size() && i < b.size(); ++i)
    difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  return difference == 0;
}

} // namespace

class TcpStoreServer::Impl {
public:
  Impl(Socket listener, int size, std::string token,
       std::chrono::milliseconds silence)
      : listener_(std::move(listener)), size_(size), token_(std::move(token)),
        silence_(silence), beats_(size, silence),
        wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        ready_(::epoll_create1(EPOLL_CLOEXEC)), swaps_(size),
        each_(static_cast<size_t>(size)) {
    await(listener_.descriptor(), nullptr, EPOLLIN);
    await(wake_.descriptor(), nullptr, EPOLLIN);
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
    } catch (const std::exception &error) { // the ranks treat rank 0 as lost
      logError(fmt::format("the job's store ends: {}", error.what()));
    }
    connections_.clear();
  }

  void turn() {
    const auto due =
        std::min(parted_.due().value_or(kNever), Clock::now() + Clock::kSlice);
    const auto timeout = connections_.empty() ? std::chrono::milliseconds(-1)
                                              : Clock::sliceUntil(due);
    std::array<epoll_event, 256> events;
    const int count =
        ::epoll_wait(ready_.descriptor(), events.data(), events.size(),
                     static_cast<int>(timeout.count()));
    bool knocks = false;
    for (int i = 0; i < count; ++i)
      if (auto *c = static_cast<Connection *>(events[size_t(i)].data.ptr))
        handle(*c, static_cast<int>(events[size_t(i)].events));
      else
        knocks = true;
    if (knocks)
      accept();
    dropClosed();
    while (const auto silent = beats_.findSilent(Clock::now()))
      tellLost(*silent, store::kSilent);
    if (const auto pair = parted_.find(Clock::now()))
      for (const uint32_t word : {kParted, static_cast<uint32_t>(pair->first),
                                  static_cast<uint32_t>(pair->second)})
        tellWatchers(word);
  }

  // Null: a descriptor that is not a connection's.
  void await(int descriptor, Connection *c, uint32_t what,
             int how = EPOLL_CTL_ADD) const {
    epoll_event event{what, {c}};
    ::epoll_ctl(ready_.descriptor(), how, descriptor, &event);
  }

  void handle(Connection &c, int events) {
    if (events & POLLOUT)
      write(c);
    if (!c.closed && c.out.empty() && !c.in.empty())
      work(c); // messages that arrived while answers were unsent
    if (!c.closed && (events & (POLLIN | POLLRDHUP | POLLHUP | POLLERR)))
      read(c);
  }

  void end(Connection &c) { c.closed = closes_ = true; }

  // Receives all available bytes, and executes complete messages. While answers
  // are unsent, only checks whether the client has closed.
  void read(Connection &c) {
    char piece[1 << 16];
    const ssize_t count = ::recv(c.socket.descriptor(), piece, sizeof piece,
                                 c.out.empty() ? 0 : MSG_PEEK);
    if (count < 0 && (errno == EINTR || errno == EAGAIN))
      return;
    if (count <= 0 || !c.out.empty()) { // or it closed with answers unsent
      end(c);
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

  // Whether it has sent its rank, or need not.
  bool isAdmitted(const Connection &c) const {
    return c.rank >= 0 || (c.validated && token_.empty());
  }

  // Executes the first message; false if it is incomplete.
  bool takeMessage(Connection &c) {
    Message message;
    size_t length = 0;
    const Parsed parsed = parse(c.in, message, length);
    if (parsed == Parsed::Whole) {
      c.in.erase(0, length);
      if (!mayAsk(c, message) || !perform(c, std::move(message)))
        end(c);
    } else if (parsed == Parsed::Hostile) {
      end(c);
    }
    return parsed == Parsed::Whole;
  }

  bool mayAsk(const Connection &c, const Message &message) const {
    if (message.query == Query::Validate || message.query == Query::Hello)
      return c.validated == (message.query == Query::Hello) && c.rank < 0;
    if (message.query == Query::Beat)
      return c.watches;
    if (message.query >= Query::Watch && c.rank < 0)
      return false;
    if (message.query >= Query::Watch && message.query != Query::Swap)
      return true;
    if (c.waits() && message.query != Query::CancelWait)
      return false;
    return isAdmitted(c) || (c.validated && message.query == Query::Check);
  }

  // Executes a message; false if the connection must be closed.
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
      c.swap.clear();
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
      c.tell(values_.has(message.keys) || message.keys[0] == kServes
                 ? kReady
                 : kNotReady);
      return true;
    case Query::Swap:
      return swap(c, message);
    case Query::Get:
    case Query::MultiGet:
      return get(c, message.keys);
    case Query::Erase:
      c.tell(static_cast<int64_t>(values_.erase(message.keys[0])));
      return true;
    default:
      return change(c, message);
    }
  }

  bool change(Connection &c, const Message &message) {
    const auto changed = values_.change(message);
    if (!changed)
      return false;
    c.out += changed->answer;
    for (const std::string &key : changed->keys)
      for (Connection &other : connections_)
        if (std::ranges::count(other.wanted, key) > 0)
          answer(other);
    return true;
  }

  // All ranks are answered when the last one has sent its part.
  bool swap(Connection &c, Message &message) {
    const std::string key = message.keys[0];
    if (!swaps_.add(key, c.rank, std::move(message.values[0]),
                    std::move(message.values[1])))
      return false;
    c.swap = key;
    answer(c);
    if (!swaps_.isComplete(key))
      return true;
    for (Connection &other : connections_)
      if (other.swap == key)
        answer(other);
    swaps_.erase(key);
    return true;
  }

  bool admit(Connection &c, const Message &hello) {
    const bool welcome =
        isSame(hello.values[0], token_) && hello.number < size_ &&
        each_[static_cast<size_t>(hello.number)] < StoreLimits::kEach;
    if (welcome) {
      c.rank = static_cast<int>(hello.number);
      ++each_[static_cast<size_t>(c.rank)];
      ++admitted_;
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
      askWatchers();
    } else if (message.query == Query::Miss) {
      if (message.number < size_)
        parted_.miss(c.rank, static_cast<int>(message.number), Clock::now());
    } else if (message.number < size_) {
      tellLost(static_cast<int>(message.number), store::kSilent);
    }
    return true;
  }

  // Many ranks ask when one is late: one request for beats serves all.
  void askWatchers() {
    constexpr std::chrono::milliseconds kSame(40);
    if (const auto now = Clock::now(); now - asked_ > kSame) {
      asked_ = now;
      tellWatchers(kAsk);
    }
  }

  bool get(Connection &c, const std::vector<std::string> &keys) {
    size_t bytes = 0;
    for (const std::string &key : keys) {
      const std::string *found = values_.find(key);
      if (!found || (bytes += found->size()) > StoreLimits::kMessage)
        return false;
      c.tellText(*found);
    }
    return true;
  }

  // Answers a waiting client, if its wait has ended.
  void answer(Connection &c) {
    if (!c.swap.empty() && swaps_.isComplete(c.swap)) {
      c.tell(kStopWaiting);
      c.tellText(swaps_.answerTo(c.swap, c.rank));
    } else if (c.swap.empty() && values_.has(c.wanted)) {
      c.tell(kStopWaiting);
    } else if (!lost_.empty() && c.rank >= 0) {
      c.tell(kLost);
      c.tell(static_cast<uint32_t>(lost_.front()));
    } else {
      return;
    }
    // All ranks receive answers of a swap at once, so they get more time.
    c.due = Clock::now() + StoreLimits::kPatience * (c.swap.empty() ? 1 : 6);
    c.wanted.clear();
    c.swap.clear();
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
        end(c);
      else
        c.out.erase(0, static_cast<size_t>(count));
    }
    if (isAdmitted(c) && c.in.empty() && c.out.empty())
      c.due = kNever;
    if (const bool sends = !c.out.empty(); sends != c.sends) {
      c.sends = sends;
      await(c.socket.descriptor(), &c,
            EPOLLRDHUP | (sends ? EPOLLOUT : EPOLLIN), EPOLL_CTL_MOD);
    }
  }

  void accept() {
    Socket socket(::accept4(listener_.descriptor(), nullptr, nullptr,
                            SOCK_CLOEXEC | SOCK_NONBLOCK));
    const bool full =
        socket.descriptor() < 0 && (errno == EMFILE || errno == ENFILE ||
                                    errno == ENOMEM || errno == ENOBUFS);
    if (socket.descriptor() < 0 && !full)
      return;
    if (full || connections_.size() - admitted_ >= StoreLimits::kStrangers)
      dropOldestStranger();
    if (full) { // retry after a connection was freed
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      return;
    }
    Connection &c = connections_.emplace_back();
    c.socket = std::move(socket);
    c.socket.noticeVanishedPeer();
    c.due = Clock::now() + StoreLimits::kPatience;
    await(c.socket.descriptor(), &c, EPOLLRDHUP | EPOLLIN);
  }

  // Prefers one that has not validated.
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

  // Removes closed and late connections; ranks whose connection ended without a
  // farewell are lost. Deadlines are checked only periodically: there may be
  // thousands of connections.
  void dropClosed() {
    const auto now = Clock::now();
    if (!std::exchange(closes_, false) && now < look_)
      return;
    look_ = now + Clock::kSlice;
    for (auto c = connections_.begin(); c != connections_.end();) {
      if (!c->closed && c->due > now) {
        ++c;
        continue;
      }
      const int gone = c->watches && !c->left ? c->rank : -1;
      if (c->rank >= 0) {
        --each_[static_cast<size_t>(c->rank)];
        --admitted_;
      }
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
      if (c.waits())
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
  Heartbeats beats_; // used only by the thread
  Parted parted_;    // likewise
  const Socket wake_, ready_;
  std::atomic<bool> stop_ = false;
  // Used only by the thread:
  std::list<Connection> connections_; // the oldest first
  KeyValues values_{StoreLimits::kTotal};
  Swaps swaps_;
  std::vector<size_t> each_; // connections of each rank
  size_t admitted_ = 0;      // connections with a rank
  bool closes_ = false;      // a connection is to be removed
  Clock::time_point look_{};
  Clock::time_point asked_ = Clock::now() - std::chrono::seconds(1);
  std::vector<int> lost_;
  std::thread thread_; // last: uses the other members
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
