// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/record/MetricsServer.h"

#include "runtime/base/files/Files.h"
#include "runtime/collective/Socket.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <list>
#include <thread>

namespace dlc {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMostClients = 16, kLongestRequest = 8 << 10;
constexpr size_t kMostIgnored = 64 << 10; // bytes that follow a request
constexpr int kMostAnswers = 50;          // in a second
constexpr auto kPatience = std::chrono::seconds(5);

std::string answer(std::string_view status, std::string_view type,
                   std::string_view body, bool withBody) {
  return fmt::format("HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n"
                     "Connection: close\r\n\r\n{}",
                     status, type, body.size(), withBody ? body : "");
}

std::string refusal(std::string_view status) {
  return answer(status, "text/plain; charset=utf-8",
                fmt::format("{}\n", status), true);
}

} // namespace

class MetricsServer::Impl {
public:
  Impl(Socket listener, int wake, std::function<std::string()> text)
      : listener_(std::move(listener)), wake_(wake), text_(std::move(text)),
        thread_([this] { serve(); }) {}

  ~Impl() {
    ::eventfd_write(wake_.descriptor(), 1);
    thread_.join();
  }

  int port() const { return listener_.port(); }

private:
  struct Client {
    Socket socket;
    Clock::time_point end;
    std::string request, answer;
    size_t sent = 0, ignored = 0;
    bool isOver = false; // all was sent: until it closes
  };

  void serve() {
    std::vector<pollfd> entries;
    for (;;) {
      const Clock::time_point now = Clock::now();
      clients_.remove_if([&](const Client &c) { return c.end <= now; });
      const bool mayAccept = now >= pausedUntil_;
      entries.assign({{wake_.descriptor(), POLLIN, 0},
                      {mayAccept ? listener_.descriptor() : -1, POLLIN, 0}});
      for (const Client &c : clients_)
        entries.push_back({c.socket.descriptor(),
                           static_cast<short>(
                               c.answer.empty() || c.isOver ? POLLIN : POLLOUT),
                           0});
      ::poll(entries.data(), entries.size(), waitOf(now, mayAccept));
      if (entries[0].revents)
        return;
      auto client = clients_.begin();
      for (size_t i = 2; i < entries.size(); ++i) {
        const auto current = client++;
        if (entries[i].revents && !goOn(*current))
          clients_.erase(current);
      }
      if (entries[1].revents)
        accept();
    }
  }

  // Milliseconds until something is due without any news; below 0: nothing is.
  int waitOf(Clock::time_point now, bool mayAccept) const {
    auto next = Clock::time_point::max();
    for (const Client &c : clients_)
      next = std::min(next, c.end);
    if (!mayAccept)
      next = std::min(next, pausedUntil_);
    if (next == Clock::time_point::max())
      return -1;
    return static_cast<int>(
        std::chrono::ceil<std::chrono::milliseconds>(next - now).count());
  }

  void accept() {
    const Clock::time_point now = Clock::now();
    Socket socket(::accept4(listener_.descriptor(), nullptr, nullptr,
                            SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket.descriptor() < 0) {
      // Out of descriptors, perhaps: it would be ready again at once.
      if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
        pausedUntil_ = now + std::chrono::milliseconds(200);
      return;
    }
    if (now - second_ >= std::chrono::seconds(1))
      second_ = now, accepted_ = 0;
    if (++accepted_ >= kMostAnswers)
      pausedUntil_ = second_ + std::chrono::seconds(1);
    if (clients_.size() == kMostClients)
      clients_.pop_front();
    clients_.push_back({std::move(socket), now + kPatience, {}, {}});
  }

  // False: it is done with, or gone.
  bool goOn(Client &client) {
    if (client.isOver)
      return ignore(client);
    if (client.answer.empty()) {
      if (!receive(client))
        return false;
      client.answer = answerTo(client.request);
      if (client.answer.empty())
        return true;
    }
    return send(client);
  }

  static bool receive(Client &client) {
    char bytes[1024];
    const ssize_t count =
        ::recv(client.socket.descriptor(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR))
      return true;
    if (count <= 0)
      return false;
    client.request.append(bytes, static_cast<size_t>(count));
    return true;
  }

  static bool send(Client &client) {
    const std::string_view left =
        std::string_view(client.answer).substr(client.sent);
    const ssize_t count = ::send(client.socket.descriptor(), left.data(),
                                 left.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0)
      return errno == EAGAIN || errno == EINTR;
    client.sent += static_cast<size_t>(count);
    if (client.sent == client.answer.size()) {
      client.isOver = true;
      ::shutdown(client.socket.descriptor(), SHUT_WR);
    }
    return true;
  }

  // To close while there is something to read would take back the answer.
  static bool ignore(Client &client) {
    char bytes[4096];
    const ssize_t count =
        ::recv(client.socket.descriptor(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (count < 0)
      return errno == EAGAIN || errno == EINTR;
    client.ignored += static_cast<size_t>(count);
    return count > 0 && client.ignored < kMostIgnored;
  }

  // Nothing: the request is not whole yet.
  std::string answerTo(std::string_view request) const {
    if (request.find("\r\n\r\n") == request.npos &&
        request.find("\n\n") == request.npos)
      return request.size() < kLongestRequest
                 ? ""
                 : refusal("431 Request Header Fields Too Large");
    const std::string_view line =
        request.substr(0, request.find_first_of("\r\n"));
    const size_t first = line.find(' '), second = line.find(' ', first + 1);
    if (first == line.npos || second == line.npos ||
        !line.substr(second).starts_with(" HTTP/1."))
      return refusal("400 Bad Request");
    const std::string_view method = line.substr(0, first);
    std::string_view path = line.substr(first + 1, second - first - 1);
    path = path.substr(0, path.find('?'));
    if (method != "GET" && method != "HEAD")
      return refusal("405 Method Not Allowed");
    if (path != "/metrics")
      return refusal("404 Not Found");
    return answer("200 OK", "text/plain; version=0.0.4; charset=utf-8", text_(),
                  method == "GET");
  }

  Socket listener_, wake_;
  std::function<std::string()> text_;
  std::list<Client> clients_; // the oldest first
  Clock::time_point pausedUntil_{}, second_{};
  int accepted_ = 0;   // since second_
  std::thread thread_; // last: it uses the rest
};

MetricsServer::MetricsServer(std::unique_ptr<Impl> impl)
    : impl_(std::move(impl)) {}
MetricsServer::~MetricsServer() = default;

int MetricsServer::port() const { return impl_->port(); }

Result<std::unique_ptr<MetricsServer>>
MetricsServer::open(const std::string &host, int port,
                    std::function<std::string()> text) {
  in_addr address{};
  if (host != "localhost" && ::inet_pton(AF_INET, host.c_str(), &address) != 1)
    return usageError("--metrics-host: expected an IPv4 address of this "
                      "machine or 'localhost', found '{}'",
                      host);
  DLC_ASSIGN(Socket listener, Socket::listen(host, port));
  const int wake = ::eventfd(0, EFD_CLOEXEC);
  if (wake < 0)
    return systemError("make a way to wake", "the metrics' thread");
  return std::unique_ptr<MetricsServer>(new MetricsServer(
      std::make_unique<Impl>(std::move(listener), wake, std::move(text))));
}

} // namespace dlc
