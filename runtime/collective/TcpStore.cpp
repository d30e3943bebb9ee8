#include "runtime/collective/TcpStore.h"

#include "runtime/base/Files.h"

#include <gloo/common/error.h>

#include <arpa/inet.h>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <list>
#include <map>
#include <mutex>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace dlc {
namespace {

constexpr uint32_t kMaxKey = 4 << 10, kMaxValue = 1 << 20;

// A request: what to do, then key and value. The answer to Get is a u32 length
// and the value, sent once the key is set; the answer to Set is a u32 0.
enum class Operation : uint32_t { Set = 1, Get = 2 };

struct Header {
  Operation operation;
  uint32_t keySize;
  uint32_t valueSize;
};

bool sendAll(int socket, const void *data, size_t size) {
  auto *next = static_cast<const char *>(data);
  while (size > 0) {
    ssize_t count = ::send(socket, next, size, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return false;
    next += count;
    size -= static_cast<size_t>(count);
  }
  return true;
}

bool receiveAll(int socket, void *data, size_t size) {
  auto *next = static_cast<char *>(data);
  while (size > 0) {
    ssize_t count = ::recv(socket, next, size, 0);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return false;
    next += count;
    size -= static_cast<size_t>(count);
  }
  return true;
}

void setTimeout(int socket, std::chrono::milliseconds timeout) {
  timeval limit{timeout.count() / 1000, timeout.count() % 1000 * 1000};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

// One attempt; -1 and errno if it fails.
int connectOnce(const std::string &address, int port) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  std::string service = std::to_string(port);
  if (::getaddrinfo(address.c_str(), service.c_str(), &hints, &found) != 0) {
    errno = EHOSTUNREACH;
    return -1;
  }
  int result = -1;
  for (addrinfo *entry = found; entry && result < 0; entry = entry->ai_next) {
    int socket = ::socket(entry->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (socket < 0)
      continue;
    if (::connect(socket, entry->ai_addr, entry->ai_addrlen) == 0)
      result = socket;
    else
      ::close(socket);
  }
  ::freeaddrinfo(found);
  return result;
}

} // namespace

class TcpStoreServer::Impl {
public:
  explicit Impl(int listener) : listener_(listener) {
    acceptor_ = std::thread([this] { acceptAll(); });
  }

  ~Impl() {
    {
      std::lock_guard lock(mutex_);
      stopped_ = true;
      for (int socket : sockets_)
        ::shutdown(socket, SHUT_RDWR);
    }
    changed_.notify_all();
    ::shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    for (std::thread &thread : threads_)
      thread.join();
    ::close(listener_);
    for (int socket : sockets_)
      ::close(socket);
  }

  int listener() const { return listener_; }

private:
  void acceptAll() {
    for (;;) {
      int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      std::lock_guard lock(mutex_);
      if (stopped_ || (socket < 0 && errno != EINTR && errno != ECONNABORTED)) {
        if (socket >= 0)
          ::close(socket);
        return;
      }
      if (socket < 0)
        continue;
      sockets_.push_back(socket);
      threads_.emplace_back([this, socket] {
        while (answer(socket)) {
        }
        ::shutdown(socket, SHUT_RDWR);
      });
    }
  }

  bool answer(int socket) {
    Header header;
    if (!receiveAll(socket, &header, sizeof header) ||
        header.keySize > kMaxKey || header.valueSize > kMaxValue)
      return false;
    std::string key(header.keySize, 0), value(header.valueSize, 0);
    if (!receiveAll(socket, key.data(), key.size()) ||
        !receiveAll(socket, value.data(), value.size()))
      return false;
    std::unique_lock lock(mutex_);
    if (header.operation == Operation::Set) {
      values_[key] = value;
      changed_.notify_all();
      value.clear();
    } else {
      changed_.wait(lock, [&] { return stopped_ || values_.contains(key); });
      if (stopped_)
        return false;
      value = values_[key];
    }
    lock.unlock();
    uint32_t size = static_cast<uint32_t>(value.size());
    return sendAll(socket, &size, sizeof size) &&
           sendAll(socket, value.data(), value.size());
  }

  int listener_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopped_ = false;
  std::map<std::string, std::string> values_;
  std::list<int> sockets_;
  std::list<std::thread> threads_;
  std::thread acceptor_; // last: it uses the rest
};

TcpStoreServer::TcpStoreServer(std::unique_ptr<Impl> impl)
    : impl_(std::move(impl)) {}
TcpStoreServer::~TcpStoreServer() = default;

Result<std::unique_ptr<TcpStoreServer>>
TcpStoreServer::listen(const std::string &address, int port) {
  int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener < 0)
    return systemError("open a socket on", address);
  int on = 1;
  ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in local{};
  local.sin_family = AF_INET;
  local.sin_port = htons(static_cast<uint16_t>(port));
  // An address that is not one of this machine's literals: all interfaces.
  if (::inet_pton(AF_INET, address.c_str(), &local.sin_addr) != 1)
    local.sin_addr.s_addr =
        address == "localhost" ? htonl(INADDR_LOOPBACK) : htonl(INADDR_ANY);
  if (::bind(listener, reinterpret_cast<sockaddr *>(&local), sizeof local) ||
      ::listen(listener, 1024)) {
    Status error = failed("rank 0 cannot listen on {}:{}: {}", address, port,
                          std::strerror(errno));
    ::close(listener);
    return error;
  }
  return std::unique_ptr<TcpStoreServer>(
      new TcpStoreServer(std::make_unique<Impl>(listener)));
}

int TcpStoreServer::port() const {
  sockaddr_in local{};
  socklen_t size = sizeof local;
  ::getsockname(impl_->listener(), reinterpret_cast<sockaddr *>(&local), &size);
  return ntohs(local.sin_port);
}

Result<std::unique_ptr<TcpStoreClient>>
TcpStoreClient::connect(const std::string &address, int port,
                        std::chrono::milliseconds timeout) {
  auto end = std::chrono::steady_clock::now() + timeout;
  int socket = connectOnce(address, port);
  while (socket < 0 && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    socket = connectOnce(address, port);
  }
  if (socket < 0)
    return peerLost("rank 0 does not answer at {}:{}: {}", address, port,
                    std::strerror(errno));
  setTimeout(socket, timeout);
  return std::unique_ptr<TcpStoreClient>(new TcpStoreClient(socket, timeout));
}

TcpStoreClient::~TcpStoreClient() { ::close(socket_); }

void TcpStoreClient::set(const std::string &key,
                         const std::vector<char> &data) {
  Header header{Operation::Set, static_cast<uint32_t>(key.size()),
                static_cast<uint32_t>(data.size())};
  uint32_t size = 0;
  if (!sendAll(socket_, &header, sizeof header) ||
      !sendAll(socket_, key.data(), key.size()) ||
      !sendAll(socket_, data.data(), data.size()) ||
      !receiveAll(socket_, &size, sizeof size) || size != 0)
    throw gloo::IoException("the job's store does not answer");
}

std::vector<char> TcpStoreClient::get(const std::string &key) {
  Header header{Operation::Get, static_cast<uint32_t>(key.size()), 0};
  uint32_t size = 0;
  if (!sendAll(socket_, &header, sizeof header) ||
      !sendAll(socket_, key.data(), key.size()) ||
      !receiveAll(socket_, &size, sizeof size) || size > kMaxValue)
    throw gloo::IoException("the other ranks did not come");
  std::vector<char> value(size);
  if (!receiveAll(socket_, value.data(), value.size()))
    throw gloo::IoException("the job's store does not answer");
  return value;
}

void TcpStoreClient::wait(const std::vector<std::string> &keys) {
  wait(keys, timeout_);
}

void TcpStoreClient::wait(const std::vector<std::string> &keys,
                          const std::chrono::milliseconds &) {
  for (const std::string &key : keys)
    get(key);
}

} // namespace dlc
