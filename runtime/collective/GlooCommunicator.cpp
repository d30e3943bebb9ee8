#include "runtime/base/Boundary.h"
#include "runtime/base/Files.h"
#include "runtime/collective/Communicator.h"
#include "runtime/collective/Reduce.h"
#include "runtime/collective/TcpStore.h"

#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/common/error.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/rendezvous/prefix_store.h>
#include <gloo/transport/tcp/device.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <unistd.h>

namespace dlc {
namespace {

// "[file.cc:12] Connection closed" -> "Connection closed".
std::string_view withoutPlace(std::string_view text) {
  size_t end = text.find("] ");
  return text.starts_with('[') && end != text.npos ? text.substr(end + 2)
                                                   : text;
}

// Rows of gloo::allReduce are typed by size only: the reduction knows the type.
template <class Word>
void setBuffer(gloo::AllreduceOptions &options, void *data, size_t count) {
  options.setOutput(static_cast<Word *>(data), count);
}

class GlooCommunicator : public Communicator {
public:
  GlooCommunicator(std::shared_ptr<gloo::Context> context,
                   std::shared_ptr<gloo::transport::Device> device)
      : context_(std::move(context)), device_(std::move(device)) {}

  int rank() const override { return context_->rank; }
  int size() const override { return context_->size; }

  Status allReduce(void *data, size_t count, DType type, ReduceOp op) override {
    SumFunction sum = sumFunction(type);
    if (!sum || (op == ReduceOp::Mean && !isFloat(type)))
      return failed("cannot all-reduce {}", nameOf(type));
    if (count == 0)
      return {};
    if (op == ReduceOp::Mean)
      scale(data, count, type, 1.0 / size());
    return guard("all_reduce", [&] {
      gloo::AllreduceOptions options(context_);
      options.setAlgorithm(gloo::AllreduceOptions::Algorithm::RING);
      options.setReduceFunction(sum);
      if (sizeOf(type) == 2)
        setBuffer<uint16_t>(options, data, count);
      else if (sizeOf(type) == 4)
        setBuffer<uint32_t>(options, data, count);
      else
        setBuffer<uint64_t>(options, data, count);
      gloo::allreduce(options);
    });
  }

  Status broadcast(void *data, size_t bytes, int root) override {
    if (bytes == 0)
      return {};
    return guard("broadcast", [&] {
      gloo::BroadcastOptions options(context_);
      options.setOutput(static_cast<char *>(data), bytes);
      options.setRoot(root);
      gloo::broadcast(options);
    });
  }

  Status barrier() override {
    return guard("barrier", [&] {
      gloo::BarrierOptions options(context_);
      gloo::barrier(options);
    });
  }

  Result<std::unique_ptr<Communicator>>
  sibling(std::chrono::milliseconds timeout) override {
    std::shared_ptr<gloo::Context> context;
    DLC_TRY(guard("the meeting of the ranks", [&] {
      gloo::rendezvous::ContextFactory factory(context_);
      context = factory.makeContext(device_);
    }));
    context->setTimeout(timeout);
    auto made = std::make_unique<GlooCommunicator>(std::move(context), device_);
    DLC_TRY(made->learnAddresses());
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

  // Every rank tells the addresses at which the others see it.
  Status learnAddresses() {
    std::string own;
    for (int peer = 0; peer < size(); ++peer)
      if (peer != rank())
        own += addressOf(peer) + "\n";
    DLC_ASSIGN(std::vector<std::string> all, allGather(own));
    for (size_t peer = 0; peer < all.size(); ++peer)
      for (size_t at = 0, end;
           (end = all[peer].find('\n', at)) != std::string::npos; at = end + 1)
        peers_[all[peer].substr(at, end - at)] = static_cast<int>(peer);
    return {};
  }

private:
  std::string addressOf(int peer) const {
    return context_->getPair(peer)->address().str();
  }

  template <class T> Status gather(T *own, T *all, size_t count) {
    return guard("all_gather", [&] {
      gloo::AllgatherOptions options(context_);
      options.setInput(own, count);
      options.setOutput(all, count * static_cast<size_t>(size()));
      gloo::allgather(options);
    });
  }

  template <class F> Status guard(std::string_view name, F &&collective) {
    try {
      collective();
      return {};
    } catch (const std::bad_alloc &) {
      return caughtException(name);
    } catch (const std::exception &error) {
      return explain(name, error.what());
    }
  }

  Status explain(std::string_view name, std::string_view what) const {
    std::string who =
        size() == 2 ? fmt::format("rank {}", 1 - rank()) : "another rank";
    for (const auto &[address, peer] : peers_)
      if (what.find(address) != what.npos)
        who = fmt::format("rank {}", peer);
    bool silent = what.find("imed out") != what.npos;
    return peerLost("{} {} in {}: {}", who,
                    silent ? "does not answer" : "is lost", name,
                    withoutPlace(what));
  }

  std::shared_ptr<gloo::Context> context_;
  std::shared_ptr<gloo::transport::Device> device_;
  std::map<std::string, int> peers_; // by address
};

bool isLoopback(const std::string &address) {
  return address.empty() || address == "localhost" ||
         address.starts_with("127.");
}

std::shared_ptr<gloo::transport::Device>
makeDevice(const Rendezvous &rendezvous) {
  gloo::transport::tcp::attr attributes;
  if (const char *interface = std::getenv("GLOO_SOCKET_IFNAME")) {
    attributes.iface = interface;
  } else if (isLoopback(rendezvous.address)) {
    attributes.hostname = "127.0.0.1";
  } else {
    char name[256] = "";
    ::gethostname(name, sizeof name - 1);
    attributes.hostname = name;
  }
  return gloo::transport::tcp::CreateDevice(attributes);
}

} // namespace

Result<std::unique_ptr<Communicator>>
makeGlooCommunicator(const Rendezvous &rendezvous) {
  // Gloo writes to sockets without MSG_NOSIGNAL: a dead peer would end us.
  std::signal(SIGPIPE, SIG_IGN);
  try {
    std::unique_ptr<TcpStoreServer> server;
    std::unique_ptr<gloo::rendezvous::Store> store;
    const std::string meetingPlace = rendezvous.folder + "/ranks";
    if (!rendezvous.folder.empty()) {
      DLC_TRY(makeFolder(meetingPlace));
      store = std::make_unique<gloo::rendezvous::FileStore>(meetingPlace);
    } else {
      if (rendezvous.rank == 0) {
        DLC_ASSIGN(server,
                   TcpStoreServer::listen(rendezvous.address, rendezvous.port));
      }
      DLC_ASSIGN(store,
                 TcpStoreClient::connect(rendezvous.address, rendezvous.port,
                                         rendezvous.timeout));
    }
    auto device = makeDevice(rendezvous);
    auto context = std::make_shared<gloo::rendezvous::Context>(rendezvous.rank,
                                                               rendezvous.size);
    context->setTimeout(rendezvous.timeout);
    context->connectFullMesh(*store, device);
    auto communicator =
        std::make_unique<GlooCommunicator>(std::move(context), device);
    // Also a barrier: the store may go when everyone is connected.
    DLC_TRY(communicator->learnAddresses());
    if (!rendezvous.folder.empty() && rendezvous.rank == 0) {
      std::error_code ignored;
      std::filesystem::remove_all(meetingPlace, ignored);
      std::filesystem::remove(rendezvous.folder, ignored); // if it is empty
    }
    return std::unique_ptr<Communicator>(std::move(communicator));
  } catch (const std::bad_alloc &) {
    return caughtException("the meeting of the ranks");
  } catch (const std::exception &error) {
    return peerLost("rank {} cannot meet the {} others within {} s: {}",
                    rendezvous.rank, rendezvous.size - 1,
                    rendezvous.timeout.count() / 1000.0,
                    withoutPlace(error.what()));
  }
}

} // namespace dlc
