// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/Text.h"
#include "runtime/base/process/Boundary.h"
#include "runtime/collective/Communicator.h"
#include "runtime/collective/Exchange.h"
#include "runtime/collective/Hosts.h"
#include "runtime/collective/Meeting.h"
#include "runtime/collective/Reduce.h"
#include "runtime/collective/SilentLinks.h"
#include "runtime/collective/flight/FlightLog.h"
#include "runtime/collective/store/JobStore.h"
#include "runtime/collective/store/JobWatch.h"
#include "runtime/collective/store/Notice.h"
#include "runtime/collective/store/TcpStore.h"

#include <gloo/allgather.h>
#include <gloo/allgatherv.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/common/error.h>
#include <gloo/transport/tcp/device.h>

#include <atomic>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <fmt/ranges.h>
#include <numeric>
#include <optional>
#include <unistd.h>

namespace dlc {
namespace {

// "[file.cc:12] Connection closed" -> "Connection closed".
std::string_view withoutPlace(std::string_view text) {
  size_t end = text.find("] ");
  return text.starts_with('[') && end != text.npos ? text.substr(end + 2)
                                                   : text;
}

// Gloo listens only on the address from which the store sees this rank.
gloo::transport::tcp::attr attributesOf(const Rendezvous &rendezvous,
                                        const std::string &own) {
  gloo::transport::tcp::attr attributes;
  if (!rendezvous.interface.empty()) {
    attributes.hostname = addressOfHost(rendezvous.interface);
  } else if (rendezvous.address.empty() || isLoopback(rendezvous.address)) {
    attributes.hostname = own == "::1" ? own : "127.0.0.1";
  } else if (!isLoopback(own)) {
    attributes.hostname = own;
  } else { // rank 0's host resolves its own name to 127.0.1.1
    attributes.hostname = addressOfHost("");
  }
  return attributes;
}

// Shared by the communicators of a process: its membership in the job, and what
// it learns about other ranks.
class Membership {
public:
  explicit Membership(const Rendezvous &rendezvous) : rendezvous_(rendezvous) {}

  ~Membership() {
    {
      std::lock_guard lock(mutex_);
      leaves_ = true;
    }
    heard_.notify_all();
    removeNotice(rendezvous_);
  }

  // Connects to the job's store, which rank 0 starts, and starts the watch.
  Status join() {
    if (rendezvous_.rank == 0) {
      DLC_ASSIGN(Socket listener, listenForRanks(rendezvous_));
      DLC_ASSIGN(server_,
                 TcpStoreServer::serve(std::move(listener), rendezvous_.size,
                                       rendezvous_.token, rendezvous_.silence));
    }
    DLC_ASSIGN(Socket socket, rendezvous_.rank == 0 ? joinStore(rendezvous_)
                                                    : findStore(rendezvous_));
    transport_ =
        std::make_shared<GlooTransport>(gloo::transport::tcp::CreateDevice(
            attributesOf(rendezvous_, socket.address())));
    watch_.emplace(
        std::move(socket), rendezvous_.silence,
        [this](LostRank lost) { hear(lost); },
        [this] { return progressOf(flightLog.begun(), waits_ > 0); },
        [soon = atOnce()] { return joinStore(soon).ok(); });
    return {};
  }

  // While it exists, this rank is in a collective that ends at the job's
  // deadline. A collective with a longer timeout does not count, since its wait
  // says nothing about a missing rank.
  class Wait {
  public:
    Wait(Membership &membership, std::chrono::milliseconds timeout)
        : count_(membership.waits_),
          one_(timeout <= membership.rendezvous_.timeout) {
      count_ += one_;
    }
    ~Wait() { count_ -= one_; }
    Wait(const Wait &) = delete;

  private:
    std::atomic<int> &count_;
    const int one_;
  };

  void agreeToEnd() { agreed_ = true; }

  void abandon() {
    if (agreed_)
      return;
    watch_->abandon();
    if (server_)
      server_->abandon();
  }

  // Connects all ranks once more; collective. `number` is set, from 0.
  Result<std::shared_ptr<Mesh>> meet(int &number) {
    number = meetings_++;
    return dlc::meet(rendezvous_, transport_, number);
  }

  FlightLog flightLog;

  // Finds the rank to blame for an error `here` ("in all_reduce"), if that
  // takes at most 0.45 s. `parted`: the connection to the rank that was waited
  // for is silent, though all ranks may be in the same collective.
  std::optional<std::string> blame(const std::string &here, bool late,
                                   bool parted = false) {
    constexpr std::chrono::milliseconds kAtOnce(0), kSoon(300), kVerdict(200);
    if (const auto lost = lostRank(late ? kAtOnce : kSoon))
      return textOf(*lost, here);
    const auto peer =
        late && transport_ ? transport_->waitedFor() : std::nullopt;
    const auto missing = findMissingRank(
        rendezvous_, parted && peer ? 0 : flightLog.begun(), peer);
    // Rank 0 may have found it first and ended, and the store with it.
    if (const auto lost = lostRank(!missing && peer ? kVerdict : kAtOnce))
      return textOf(*lost, here);
    if (!missing)
      return std::nullopt;
    return textOf({missing->rank, true}, here) +
           (missing->behind ? ": it has not begun it" : "");
  }

  std::chrono::milliseconds timeout() const { return rendezvous_.timeout; }

  RankFacts facts() const {
    return {rendezvous_.host.empty() ? hostName() : rendezvous_.host,
            rendezvous_.byHosts};
  }
  void setRecord(std::function<bool(Status &)> record) {
    std::lock_guard lock(leaving_);
    record_ = std::move(record);
  }
  void setLeave(std::function<void(const Status &)> leave) {
    std::lock_guard lock(leaving_);
    leave_ = std::move(leave);
  }
  // By rank, once known.
  void setHosts(std::vector<std::string> hosts) {
    std::lock_guard lock(mutex_);
    hosts_ = std::move(hosts);
  }

private:
  // For a single attempt to reach rank 0.
  Rendezvous atOnce() const {
    Rendezvous soon = rendezvous_;
    soon.timeout = pauseBetweenBeats(soon.silence);
    return soon;
  }

  // The first lost rank, if it is known in time.
  std::optional<LostRank> lostRank(std::chrono::milliseconds patience) {
    std::unique_lock lock(mutex_);
    heard_.wait_for(lock, patience, [this] { return lost_.has_value(); });
    return lost_;
  }

  std::string textOf(const LostRank &lost, const std::string &here) {
    if (lost.partedFrom)
      return fmt::format("ranks {} and {} do not reach each other {}{}",
                         lost.rank, *lost.partedFrom, here,
                         hostText({lost.rank, *lost.partedFrom}));
    if (lost.rank == rendezvous_.rank)
      return fmt::format("rank {}, this one, was given up by the others: it "
                         "was silent, or did not come, {}",
                         lost.rank, here);
    return fmt::format("rank {} {} {}", lost.rank,
                       lost.silent ? "does not answer" : "is lost", here) +
           hostText({lost.rank});
  }

  std::string hostText(const std::vector<int> &ranks) {
    std::lock_guard lock(mutex_);
    if (hosts_.empty())
      return "";
    std::vector<std::string> hosts;
    for (const int rank : ranks)
      hosts.push_back(hosts_[static_cast<size_t>(rank)]);
    return fmt::format(" ({}: {})", ranks.size() > 1 ? "hosts" : "its host",
                       fmt::join(hosts, ", "));
  }

  void hear(LostRank lost) {
    {
      std::lock_guard lock(mutex_);
      lost_ = lost;
    }
    heard_.notify_all();
    transport_->lose(lost.rank);
    leaveIfStuck(lost);
  }

  // Runs on the watch's thread, which has nothing left to do, until the last
  // communicator is destroyed.
  void leaveIfStuck(const LostRank &lost) {
    auto pause = rendezvous_.silence.count() ? rendezvous_.silence : kSilence;
    for (;; pause = std::chrono::seconds(1)) {
      std::unique_lock lock(mutex_);
      if (heard_.wait_for(lock, pause, [this] { return leaves_; }))
        return;
      lock.unlock();
      std::lock_guard leaving(leaving_);
      Status why =
          peerLost("{}; this rank hangs",
                   textOf(lost, "in " + flightLog.describe("the job", -1)));
      if (leave_ && (!record_ || record_(why)))
        leave_(why);
    }
  }

  Rendezvous rendezvous_;
  std::shared_ptr<GlooTransport> transport_;
  int meetings_ = 0;
  bool agreed_ = false;
  std::atomic<int> waits_ = 0;
  std::mutex mutex_;
  std::condition_variable heard_;
  std::optional<LostRank> lost_;
  bool leaves_ = false; // the last communicator is being destroyed
  std::vector<std::string> hosts_;
  std::mutex leaving_; // guards the two below
  std::function<bool(Status &)> record_;
  std::function<void(const Status &)> leave_;
  std::unique_ptr<TcpStoreServer> server_;
  std::optional<JobWatch> watch_; // last, so destroyed first
};

class GlooCommunicator : public Communicator {
public:
  GlooCommunicator(std::shared_ptr<Mesh> context,
                   std::shared_ptr<Membership> membership, int channel)
      : context_(std::move(context)), exchange_(context_),
        membership_(std::move(membership)), channel_(channel) {}

  int rank() const override { return context_->rank; }
  int size() const override { return context_->size; }

  Status allReduce(void *data, size_t count, DType type, ReduceOp op) override {
    DLC_TRY(checkReduction(type, op));
    if (count == 0)
      return {};
    return guard("all_reduce", count * sizeOf(type),
                 [&] { exchange_.allReduce(data, count, type, op); });
  }

  Status reduceScatter(void *data, std::span<const size_t> pieces, void *own,
                       DType type, ReduceOp op) override {
    DLC_TRY(checkReduction(type, op));
    const size_t count =
        std::accumulate(pieces.begin(), pieces.end(), size_t(0));
    if (count == 0)
      return {};
    return guard("reduce_scatter", count * sizeOf(type),
                 [&] { exchange_.reduceScatter(data, pieces, own, type, op); });
  }

  Status allGather(void *data, std::span<const size_t> pieces) override {
    const size_t bytes =
        std::accumulate(pieces.begin(), pieces.end(), size_t(0));
    if (bytes == 0)
      return {};
    return guard("all_gather", bytes, [&] {
      if (pieces.size() < static_cast<size_t>(size()))
        return exchange_.allGather(data, pieces);
      gloo::AllgathervOptions options(context_);
      options.setOutput(static_cast<char *>(data),
                        {pieces.begin(), pieces.end()});
      gloo::allgatherv(options);
    });
  }

  Status broadcast(void *data, size_t bytes, int root) override {
    if (bytes == 0)
      return {};
    return guard("broadcast", bytes, [&] {
      gloo::BroadcastOptions options(context_);
      options.setOutput(static_cast<char *>(data), bytes);
      options.setRoot(root);
      gloo::broadcast(options);
    });
  }

  Status barrier() override {
    return guard("barrier", 0, [&] {
      gloo::BarrierOptions options(context_);
      gloo::barrier(options);
    });
  }

  Result<std::unique_ptr<Communicator>>
  sibling(std::chrono::milliseconds timeout) override {
    std::shared_ptr<Mesh> context;
    Status met;
    int channel = 0;
    const SilentLinks links;
    DLC_TRY(guard("the meeting of the ranks", 0, [&] {
      auto made = membership_->meet(channel);
      made.ok() ? void(context = *std::move(made)) : void(met = made.status());
    }));
    DLC_TRY(met);
    context->setTimeout(timeout);
    if (timeout > membership_->timeout())
      links.end(membership_->timeout());
    auto made = std::make_unique<GlooCommunicator>(std::move(context),
                                                   membership_, channel);
    DLC_TRY(made->learnHosts());
    return std::unique_ptr<Communicator>(std::move(made));
  }

  Result<std::vector<std::string>> allGather(const std::string &text) override {
    std::vector<uint64_t> sizes(static_cast<size_t>(size()));
    uint64_t own = text.size();
    DLC_TRY(gather(&own, sizes.data(), 1));
    uint64_t longest = 1;
    for (uint64_t length : sizes)
      longest = std::max(longest, length);
    std::string padded = text, all(longest * sizes.size(), 0);
    padded.resize(longest);
    DLC_TRY(gather(padded.data(), all.data(), longest));
    std::vector<std::string> texts;
    for (size_t i = 0; i < sizes.size(); ++i)
      texts.push_back(all.substr(i * longest, sizes[i]));
    return texts;
  }

  void abandon() override { membership_->abandon(); }
  void agreeToEnd() override { membership_->agreeToEnd(); }
  void setRecord(std::function<bool(Status &)> record) override {
    membership_->setRecord(std::move(record));
  }
  void setLeave(std::function<void(const Status &)> leave) override {
    membership_->setLeave(std::move(leave));
  }
  FlightLog *flightLog() override { return &membership_->flightLog; }

  // Gathers the ranks' hosts.
  Status learnHosts() {
    DLC_ASSIGN(const std::vector<std::string> all,
               allGather(membership_->facts().text()));
    std::vector<RankFacts> facts;
    std::vector<std::string> hosts;
    for (const std::string &text : all) {
      facts.push_back(RankFacts::parse(text));
      hosts.push_back(facts.back().host);
    }
    membership_->setHosts(std::move(hosts));
    DLC_ASSIGN(const auto byHost,
               ranksByHost(facts, channel_ == 0 ? rank() : -1));
    if (!byHost.empty())
      exchange_.setHosts(byHost);
    return {};
  }

private:
  static Status checkReduction(DType type, ReduceOp op) {
    return canReduce(type, op) ? Status()
                               : failed("cannot all-reduce {}", nameOf(type));
  }

  template <class T> Status gather(T *own, T *all, size_t count) {
    return guard("all_gather", count * sizeof(T), [&] {
      gloo::AllgatherOptions options(context_);
      options.setInput(own, count);
      options.setOutput(all, count * static_cast<size_t>(size()));
      gloo::allgather(options);
    });
  }

  template <class F>
  Status guard(const char *name, uint64_t bytes, F &&collective) {
    FlightLog &flightLog = membership_->flightLog;
    const Membership::Wait wait(*membership_, context_->getTimeout());
    const uint64_t number =
        flightLog.begin(channel_, sequence_++, name, bytes, subject_);
    const Status status = attempt(name, std::forward<F>(collective));
    flightLog.end(number, status.ok());
    return status;
  }

  template <class F> Status attempt(const char *name, F &&collective) {
    try {
      collective();
      return {};
    } catch (const std::bad_alloc &) {
      return caughtException(name);
    } catch (const std::exception &error) {
      return explain(name, error.what());
    }
  }

  // A connection may have closed because its rank had lost another one.
  Status explain(const char *name, std::string_view what) {
    const bool late = what.find("imed out") != what.npos;
    const std::string here =
        "in " + membership_->flightLog.describe(name, subject_);
    if (const auto blamed =
            membership_->blame(here, late, SilentLinks::isOne(what)))
      return peerLost("{}", *blamed);
    std::string who =
        size() == 2 ? fmt::format("rank {}", 1 - rank()) : "another rank";
    for (const auto &[address, peer] : context_->peers())
      if (what.find(address) != what.npos)
        who = fmt::format("rank {}", peer);
    return peerLost("{} {} {}: {}", who, late ? "does not answer" : "is lost",
                    here, withoutPlace(what));
  }

  std::shared_ptr<Mesh> context_;
  Exchange exchange_;
  std::shared_ptr<Membership> membership_;
  const int channel_;
  uint64_t sequence_ = 0; // of the channel's next collective
};

} // namespace

Result<Rendezvous> meetHere(int size) {
  unsigned char random[32];
  if (::getentropy(random, sizeof random) != 0)
    return failed("cannot make a job's token: {}", std::strerror(errno));
  Rendezvous rendezvous;
  rendezvous.size = size;
  rendezvous.address = "127.0.0.1";
  rendezvous.token = fmt::format("{:02x}", fmt::join(random, ""));
  DLC_ASSIGN(Socket listener, Socket::listen(rendezvous.address, 0));
  rendezvous.port = listener.port();
  rendezvous.listener = listener.release();
  return rendezvous;
}

Result<std::unique_ptr<Communicator>>
makeGlooCommunicator(const Rendezvous &rendezvous) {
  // Gloo writes to sockets without MSG_NOSIGNAL: a dead peer would end us.
  std::signal(SIGPIPE, SIG_IGN);
  raiseFileLimit(8 * rendezvous.size); // one socket per rank and meeting
  std::shared_ptr<Membership> membership;
  try {
    membership = std::make_shared<Membership>(rendezvous);
    DLC_TRY(membership->join());
    int channel = 0;
    DLC_ASSIGN(auto context, membership->meet(channel));
    auto communicator = std::make_unique<GlooCommunicator>(std::move(context),
                                                           membership, channel);
    DLC_TRY(communicator->learnHosts());
    return std::unique_ptr<Communicator>(std::move(communicator));
  } catch (const std::bad_alloc &) {
    return caughtException("the meeting of the ranks");
  } catch (const std::system_error &) { // no thread or descriptor left
    return caughtException("the meeting of the ranks", Code::PeerLost);
  } catch (const std::exception &error) {
    std::string why(withoutPlace(error.what()));
    const auto blamed =
        membership ? membership->blame("in the meeting of the ranks", true)
                   : std::nullopt;
    if (blamed)
      why = fmt::format("{}: {}", *blamed, why);
    return peerLost("rank {} cannot meet the {} others within {} s: {}",
                    rendezvous.rank, rendezvous.size - 1,
                    rendezvous.timeout.count() / 1000.0, why);
  }
}

} // namespace dlc
