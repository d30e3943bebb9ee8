// The server: one thread, one poll, a buffer for each connection.
#include "runtime/collective/TcpStore.h"

#include "runtime/base/process/Log.h"
#include "runtime/collective/StoreProtocol.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <list>
#include <map>
#include <optional>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

namespace dlc {
namespace store {

struct Connection {
  Socket socket;
  int rank = -1;                      // not said yet
  bool watches = false, left = false; // without a farewell it is lost
  std::string in, out;                // not read, not sent
  std::optional<std::string> wanted;  // the key that it waits for
  Socket::Clock::time_point due;      // of what is half done
  bool closed = false;

  bool takes() const { return out.empty() && !wanted; }
  void tell(uint32_t word) {
    out.append(reinterpret_cast<const char *>(&word), sizeof word);
  }
};

} // namespace store

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

template <class T> std::optional<T> headOf(const std::string &bytes) {
  T value;
  if (bytes.size() < sizeof value)
    return std::nullopt;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

} // namespace

class TcpStoreServer::Impl {
public:
  Impl(Socket listener, int size, std::string token)
      : listener_(std::move(listener)), size_(size), token_(std::move(token)),
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
          c.tell(kEnd);
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
      const int events =
          POLLRDHUP | (c.takes() ? POLLIN : 0) | (c.out.empty() ? 0 : POLLOUT);
      entries.push_back({c.socket.descriptor(), static_cast<short>(events), 0});
      due = std::min(due, c.due);
    }
    int timeout = -1;
    if (due != kNever)
      timeout = static_cast<int>(std::clamp<int64_t>(
          std::chrono::ceil<std::chrono::milliseconds>(due - Clock::now())
              .count(),
          0, 60'000));
    ::poll(entries.data(), entries.size(), timeout);
    size_t i = 2;
    for (Connection &c : connections_)
      handle(c, entries[i++].revents);
    if (entries[1].revents)
      accept();
    dropClosed();
  }

  void handle(Connection &c, int events) {
    if (events & POLLOUT)
      write(c);
    if (!c.closed && (events & (POLLIN | POLLRDHUP | POLLHUP | POLLERR)))
      read(c);
    if (!c.closed && c.due <= Clock::now())
      c.closed = true;
  }

  // All that is there; what it asks for is done. One that cannot go on, as it
  // waits itself, is only looked at.
  void read(Connection &c) {
    char piece[1 << 16];
    const ssize_t count = ::recv(c.socket.descriptor(), piece, sizeof piece,
                                 c.takes() ? 0 : MSG_PEEK);
    if (count < 0 && (errno == EINTR || errno == EAGAIN))
      return;
    if (count <= 0) {
      c.closed = true;
      return;
    }
    if (!c.takes()) { // it closed behind what it has sent
      c.closed = true;
      return;
    }
    c.in.append(piece, static_cast<size_t>(count));
    work(c);
  }

  void work(Connection &c) {
    while (!c.closed && c.takes() && takeMessage(c))
      c.due = kNever;
    write(c);
    if (c.rank >= 0 && c.in.empty() && c.out.empty())
      c.due = kNever;
    else if (c.due == kNever)
      c.due = c.wanted && c.out.empty() ? kNever
                                        : Clock::now() + StoreLimits::kPatience;
  }

  // False if there is no whole one.
  bool takeMessage(Connection &c) {
    return c.rank < 0 ? takeHello(c) : takeRequest(c);
  }

  bool takeHello(Connection &c) {
    const auto hello = headOf<Hello>(c.in);
    if (!hello) {
      c.closed = kMagic.size() <= c.in.size() && !c.in.starts_with("dlcstor2");
      return false;
    }
    if (hello->magic != kMagic || hello->tokenBytes > StoreLimits::kToken) {
      c.closed = true;
      return false;
    }
    if (c.in.size() < sizeof *hello + hello->tokenBytes)
      return false;
    const std::string token = c.in.substr(sizeof *hello, hello->tokenBytes);
    c.in.erase(0, sizeof *hello + hello->tokenBytes);
    const auto mine = std::count_if(
        connections_.begin(), connections_.end(), [&](const Connection &other) {
          return !other.closed && other.rank == static_cast<int>(hello->rank);
        });
    if (!isSame(token, token_) || hello->rank >= static_cast<uint32_t>(size_) ||
        mine >= static_cast<ssize_t>(StoreLimits::kEach)) {
      c.tell(kRefused);
      write(c);
      c.closed = true;
      return false;
    }
    c.rank = static_cast<int>(hello->rank);
    c.tell(kWelcome);
    write(c);
    return true;
  }

  bool takeRequest(Connection &c) {
    const auto request = headOf<Request>(c.in);
    if (!request)
      return false;
    if (!isKnown(*request)) {
      c.closed = true;
      return false;
    }
    const size_t bytes =
        sizeof *request + request->keyBytes + request->valueBytes;
    if (c.in.size() < bytes)
      return false;
    std::string key = c.in.substr(sizeof *request, request->keyBytes);
    std::string value =
        c.in.substr(sizeof *request + request->keyBytes, request->valueBytes);
    c.in.erase(0, bytes);
    perform(c, request->operation, std::move(key), std::move(value));
    return true;
  }

  static bool isKnown(const Request &request) {
    const bool hasKey =
        request.keyBytes > 0 && request.keyBytes <= StoreLimits::kKey;
    switch (request.operation) {
    case Operation::Set:
      return hasKey && request.valueBytes <= StoreLimits::kValue;
    case Operation::Get:
      return hasKey && request.valueBytes == 0;
    case Operation::Watch:
    case Operation::Farewell:
      return request.keyBytes == 0 && request.valueBytes == 0;
    }
    return false;
  }

  void perform(Connection &c, Operation operation, std::string key,
               std::string value) {
    if (operation == Operation::Set)
      return set(c, std::move(key), std::move(value));
    if (operation == Operation::Get) {
      c.wanted = std::move(key);
      return answer(c);
    }
    c.left |= operation == Operation::Farewell;
    if (operation == Operation::Watch && !c.watches) {
      c.watches = true;
      for (int rank : lost_)
        c.tell(static_cast<uint32_t>(rank));
    }
  }

  void set(Connection &c, std::string key, std::string value) {
    const auto found = values_.find(key);
    const size_t before =
        found == values_.end() ? 0 : key.size() + found->second.size();
    const size_t after = stored_ - before + key.size() + value.size();
    if (after > StoreLimits::kTotal) {
      c.closed = true;
      return;
    }
    stored_ = after;
    values_[key] = std::move(value);
    c.tell(0);
    for (Connection &other : connections_)
      if (other.wanted == key)
        answer(other);
  }

  // To the one that waits, if it can be told yet.
  void answer(Connection &c) {
    const auto found = values_.find(*c.wanted);
    if (found != values_.end()) {
      c.tell(static_cast<uint32_t>(found->second.size()));
      c.out += found->second;
    } else if (!lost_.empty()) {
      c.tell(kLost);
      c.tell(static_cast<uint32_t>(lost_.front()));
    } else {
      return;
    }
    c.wanted.reset();
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
    if (c.rank >= 0 && c.in.empty())
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

  void dropOldestStranger() {
    const auto oldest =
        std::find_if(connections_.begin(), connections_.end(),
                     [](const Connection &c) { return c.rank < 0; });
    if (oldest != connections_.end())
      connections_.erase(oldest);
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

  void tellLost(int rank) {
    if (std::find(lost_.begin(), lost_.end(), rank) != lost_.end())
      return;
    lost_.push_back(rank);
    for (Connection &c : connections_) {
      if (c.watches)
        c.tell(static_cast<uint32_t>(rank));
      if (c.wanted)
        answer(c);
      write(c);
    }
  }

  const Socket listener_;
  const int size_;
  const std::string token_;
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
TcpStoreServer::serve(Socket listener, int size, const std::string &token) {
  return std::unique_ptr<TcpStoreServer>(new TcpStoreServer(
      std::make_unique<Impl>(std::move(listener), size, token)));
}

void TcpStoreServer::abandon() { impl_->abandoned = true; }

} // namespace dlc
