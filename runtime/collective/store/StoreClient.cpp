// SPDX-License-Identifier: Apache-2.0
#include "runtime/collective/store/StoreClient.h"

#include "runtime/base/Text.h"

#include <cstring>
#include <fmt/ranges.h>

namespace dlc {

using namespace store;

static Status noAnswer() { return peerLost("the store does not answer"); }

Result<StoreClient> StoreClient::connect(const std::string &address, int port,
                                         std::chrono::milliseconds timeout) {
  DLC_ASSIGN(Socket socket,
             Socket::connect(address, port, Clock::now() + timeout));
  StoreClient client(std::move(socket), timeout);
  DLC_TRY(client.send({Query::Validate, {}, {}, kMagic}, client.deadline()));
  return client;
}

Status StoreClient::send(const Message &message, Clock::time_point deadline) {
  const std::string bytes = textOf(message);
  return socket_.send(bytes.data(), bytes.size(), deadline) ? Status()
                                                            : noAnswer();
}

template <class T> Result<T> StoreClient::receive(Clock::time_point deadline) {
  T value{};
  if (!socket_.receive(&value, sizeof value, deadline))
    return noAnswer();
  return value;
}

Result<std::string> StoreClient::receiveText(Clock::time_point deadline) {
  DLC_ASSIGN(const auto size, receive<uint64_t>(deadline));
  if (size > Limits::kMessage)
    return peerLost("the store answers with {} bytes, expected at most {}",
                    size, Limits::kMessage);
  std::string text(size, '\0');
  if (!socket_.receive(text.data(), text.size(), deadline))
    return noAnswer();
  return text;
}

template <class T> Result<T> StoreClient::ask(const Message &message) {
  const auto limit = deadline();
  DLC_TRY(send(message, limit));
  return receive<T>(limit);
}

Status StoreClient::set(const std::string &key, const std::string &value) {
  return send({Query::Set, {key}, {value}, 0}, deadline());
}

Result<std::string> StoreClient::compareSet(const std::string &key,
                                            const std::string &expected,
                                            const std::string &desired) {
  const auto limit = deadline();
  DLC_TRY(send({Query::CompareSet, {key}, {expected, desired}, 0}, limit));
  return receiveText(limit);
}

// Waits for the keys; an error after the timeout.
Status StoreClient::needed(const std::vector<std::string> &keys) {
  DLC_ASSIGN(const bool there, wait(keys, timeout_));
  return there ? Status()
               : peerLost("no process has set {} within {} s",
                          printable(fmt::format("{}", fmt::join(keys, ", "))),
                          timeout_.count() / 1000.0);
}

Result<std::string> StoreClient::get(const std::string &key) {
  DLC_TRY(needed({key}));
  return read(key);
}

Result<std::string> StoreClient::read(const std::string &key) {
  const auto limit = deadline();
  DLC_TRY(send({Query::Get, {key}, {}, 0}, limit));
  return receiveText(limit);
}

Result<std::vector<std::string>>
StoreClient::getAll(const std::vector<std::string> &keys) {
  DLC_TRY(needed(keys));
  const auto limit = deadline();
  DLC_TRY(send({Query::MultiGet, keys, {}, 0}, limit));
  std::vector<std::string> values(keys.size());
  for (std::string &value : values) {
    DLC_ASSIGN(value, receiveText(limit));
  }
  return values;
}

Status StoreClient::setAll(const std::vector<std::string> &keys,
                           const std::vector<std::string> &values) {
  return send({Query::MultiSet, keys, values, 0}, deadline());
}

Result<int64_t> StoreClient::add(const std::string &key, int64_t number) {
  return ask<int64_t>({Query::Add, {key}, {}, number});
}

Result<bool> StoreClient::check(const std::vector<std::string> &keys) {
  DLC_ASSIGN(const auto answer, ask<uint8_t>({Query::Check, keys, {}, 0}));
  return answer == kReady;
}

// The answer to a waiting query; an error if a rank is lost.
Result<uint8_t> StoreClient::receiveAnswer(Clock::time_point deadline) {
  DLC_ASSIGN(const auto answer, receive<uint8_t>(deadline));
  if (answer != kLost)
    return answer;
  DLC_ASSIGN(const auto rank, receive<uint32_t>(deadline));
  return peerLost("rank {} is lost", rank);
}

Result<bool> StoreClient::wait(const std::vector<std::string> &keys,
                               std::chrono::milliseconds within) {
  DLC_TRY(send({Query::Wait, keys, {}, 0}, deadline()));
  const bool told = socket_.waitToReceive(Clock::now() + within);
  const auto limit = deadline();
  if (!told)
    DLC_TRY(send({Query::CancelWait, {}, {}, 0}, limit));
  DLC_ASSIGN(auto answer, receiveAnswer(limit));
  if (answer == kStopWaiting && !told) { // both crossed
    DLC_ASSIGN(answer, receive<uint8_t>(limit));
    return answer == kWaitCancelled ? Result<bool>(true) : noAnswer();
  }
  if (answer == (told ? kStopWaiting : kWaitCancelled))
    return told;
  return peerLost("the store answers with {} to one that waits", answer);
}

Result<std::vector<StoreClient::Swapped>>
StoreClient::swap(const std::string &key, const std::string &all,
                  const std::string &pieces, int ranks) {
  DLC_TRY(send({Query::Swap, {key}, {all, pieces}, 0}, deadline()));
  if (!socket_.waitToReceive(deadline()))
    return peerLost("the other ranks did not come");
  const auto limit = deadline();
  DLC_ASSIGN(const auto answer, receiveAnswer(limit));
  if (answer != kStopWaiting)
    return noAnswer();
  DLC_ASSIGN(const std::string text, receiveText(limit));
  std::vector<Swapped> found(static_cast<size_t>(ranks));
  const size_t piece = pieces.size() / found.size();
  std::string_view rest = text;
  for (Swapped &of : found) {
    uint64_t size = 0;
    if (rest.size() < sizeof size)
      return noAnswer();
    std::memcpy(&size, rest.data(), sizeof size);
    rest.remove_prefix(sizeof size);
    if (rest.size() < piece || rest.size() - piece < size)
      return noAnswer();
    of = {std::string(rest.substr(0, size)),
          std::string(rest.substr(size, piece))};
    rest.remove_prefix(size + piece);
  }
  return found;
}

Result<int64_t> StoreClient::count() {
  return ask<int64_t>({Query::Count, {}, {}, 0});
}

Result<bool> StoreClient::erase(const std::string &key) {
  DLC_ASSIGN(const auto count, ask<int64_t>({Query::Erase, {key}, {}, 0}));
  return count == 1;
}

Status StoreClient::append(const std::string &key, const std::string &value) {
  return send({Query::Append, {key}, {value}, 0}, deadline());
}

Status StoreClient::askForBeats() {
  return send({Query::Ask, {}, {}, 0}, deadline());
}

Result<std::vector<RankPlace>> StoreClient::places() {
  const auto limit = deadline();
  DLC_TRY(send({Query::Places, {}, {}, 0}, limit));
  DLC_ASSIGN(const std::string text, receiveText(limit));
  std::vector<RankPlace> places(text.size() / sizeof(RankPlace));
  std::memcpy(places.data(), text.data(), places.size() * sizeof(RankPlace));
  return places;
}

Status StoreClient::accuse(int rank) {
  return send({Query::Accuse, {}, {}, rank}, deadline());
}

Status StoreClient::miss(int rank) {
  return send({Query::Miss, {}, {}, rank}, deadline());
}

} // namespace dlc
