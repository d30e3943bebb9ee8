// SPDX-License-Identifier: Apache-2.0
// runtime/collective/store: PyTorch's TCPStore protocol, byte by byte as its
// 2.15 client and its servers (with libuv and without) say it, and the notices
// of where rank 0 is.
#include "runtime/collective/store/JobStore.h"
#include "runtime/collective/store/Notice.h"
#include "runtime/collective/store/Pmi.h"
#include "runtime/collective/store/TcpStore.h"
#include "test/unit/TempFolder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sys/socket.h>
#include <sys/stat.h>

using namespace dlc;
using namespace std::chrono_literals;
using namespace std::string_literals;
using Clock = Socket::Clock;

namespace {

// A line of a conversation: '>' the client says, '<' the server.
struct Line {
  char way;
  std::string bytes;
};

// Recorded between PyTorch's client and its store; both kinds of store answer
// the same.
const std::vector<Line> kConversation = {
    {'>', "\x00\xce\xf7\x85\x3c"s}, // validate
    {'>', "\x0d\x18\x19\x00\x00"s}, // ping
    {'<', "\x18\x19\x00\x00"s},
    {'>', "\x01\x02\0\0\0\0\0\0\0/k\x02\0\0\0\0\0\0\0v1"s}, // set
    {'>', "\x06\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0/k"s},   // wait
    {'<', "\x00"s},
    {'>', "\x03\x02\0\0\0\0\0\0\0/k"s}, // get
    {'<', "\x02\0\0\0\0\0\0\0v1"s},
    {'>', "\x04\x02\0\0\0\0\0\0\0/n\x05\0\0\0\0\0\0\0"s}, // add
    {'<', "\x05\0\0\0\0\0\0\0"s},
    {'>', "\x05\x02\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0/k"
          "\x02\0\0\0\0\0\0\0/z"s}, // check
    {'<', "\x01"s},
    {'>', "\x05\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0/k"s},
    {'<', "\x00"s},
    {'>', "\x06\x01\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0/zz"s},
    {'>', "\x0c"s}, // cancel wait
    {'<', "\x01"s},
    {'>', "\x02\x02\0\0\0\0\0\0\0/k\x02\0\0\0\0\0\0\0v1"
          "\x02\0\0\0\0\0\0\0v2"s}, // compare set
    {'<', "\x02\0\0\0\0\0\0\0v2"s},
    {'>', "\x02\x02\0\0\0\0\0\0\0/k\x02\0\0\0\0\0\0\0v1"
          "\x02\0\0\0\0\0\0\0v3"s},
    {'<', "\x02\0\0\0\0\0\0\0v2"s},
    {'>', "\x02\x04\0\0\0\0\0\0\0/new\0\0\0\0\0\0\0\0"
          "\x01\0\0\0\0\0\0\0x"s},
    {'<', "\x01\0\0\0\0\0\0\0x"s},
    {'>', "\x02\x05\0\0\0\0\0\0\0/new2\x01\0\0\0\0\0\0\0"
          "e\x01\0\0\0\0\0\0\0x"s},
    {'<', "\x01\0\0\0\0\0\0\0e"s},
    {'>', "\x07"s}, // count
    {'<', "\x03\0\0\0\0\0\0\0"s},
    {'>', "\x08\x04\0\0\0\0\0\0\0/new"s}, // erase
    {'<', "\x01\0\0\0\0\0\0\0"s},
    {'>', "\x09\x02\0\0\0\0\0\0\0/k\x02\0\0\0\0\0\0\0zz"s}, // append
    {'>', "\x06\x02\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0/k"
          "\x02\0\0\0\0\0\0\0/n"s},
    {'<', "\x00"s},
    {'>', "\x0a\x02\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0/k"
          "\x02\0\0\0\0\0\0\0/n"s}, // multi get
    {'<', "\x04\0\0\0\0\0\0\0v2zz\x01\0\0\0\0\0\0\0"
          "5"s},
    {'>', "\x0b\x02\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0/a"
          "\x01\0\0\0\0\0\0\0"
          "1\x02\0\0\0\0\0\0\0/b\x01\0\0\0\0\0\0\0"
          "2"s}, // multi set
    {'>', "\x07"s},
    {'<', "\x04\0\0\0\0\0\0\0"s},
};

std::unique_ptr<TcpStoreServer> serve(int &port, const std::string &token) {
  auto listener = Socket::listen("127.0.0.1", 0);
  EXPECT_TRUE(listener.ok());
  port = listener->port();
  auto server = TcpStoreServer::serve(*std::move(listener), 2, token);
  EXPECT_TRUE(server.ok());
  return *std::move(server);
}

Socket connect(int port) {
  auto socket = Socket::connect("127.0.0.1", port, Clock::now() + 5s);
  EXPECT_TRUE(socket.ok()) << socket.status().message();
  return *std::move(socket);
}

std::string receive(const Socket &socket, size_t size) {
  std::string bytes(size, '\0');
  EXPECT_TRUE(socket.receive(bytes.data(), size, Clock::now() + 3s));
  return bytes;
}

TEST(StoreProtocol, TheServerAnswersAsPyTorchsDoes) {
  int port = 0;
  const auto server = serve(port, "");
  const Socket client = connect(port);
  for (size_t i = 0; i < kConversation.size(); ++i) {
    const auto &[way, bytes] = kConversation[i];
    if (way == '>')
      EXPECT_TRUE(client.send(bytes.data(), bytes.size(), Clock::now() + 3s));
    else
      EXPECT_EQ(receive(client, bytes.size()), bytes) << "line " << i;
  }
}

// The same in pieces of a byte, and all at once.
TEST(StoreProtocol, HoweverItsBytesArrive) {
  int port = 0;
  const auto server = serve(port, "");
  std::string all, answers;
  for (const auto &[way, bytes] : kConversation)
    (way == '>' ? all : answers) += bytes;
  const Socket slow = connect(port);
  for (const char byte : all)
    EXPECT_TRUE(slow.send(&byte, 1, Clock::now() + 3s));
  EXPECT_EQ(receive(slow, answers.size()), answers);
}

// What our client says is what PyTorch's does.
TEST(StoreProtocol, TheClientAsksAsPyTorchsDoes) {
  auto listener = Socket::listen("127.0.0.1", 0);
  ASSERT_TRUE(listener.ok());
  std::string heard;
  std::thread server([&] {
    Socket peer;
    while (peer.descriptor() < 0)
      peer = Socket(
          ::accept4(listener->descriptor(), nullptr, nullptr, SOCK_NONBLOCK));
    for (const auto &[way, bytes] : kConversation) {
      if (bytes.starts_with('\x0d') || bytes == "\x18\x19\x00\x00"s)
        continue; // PyTorch's client also pings
      if (way == '>')
        EXPECT_EQ(receive(peer, bytes.size()), bytes);
      else
        EXPECT_TRUE(peer.send(bytes.data(), bytes.size(), Clock::now() + 3s));
    }
  });
  auto client = StoreClient::connect("127.0.0.1", listener->port(), 3s);
  ASSERT_TRUE(client.ok());
  EXPECT_TRUE(client->set("/k", "v1").ok());
  EXPECT_EQ(*client->get("/k"), "v1");
  EXPECT_EQ(*client->add("/n", 5), 5);
  EXPECT_FALSE(*client->check({"/k", "/z"}));
  EXPECT_TRUE(*client->check({"/k"}));
  EXPECT_FALSE(*client->wait({"/zz"}, 50ms));
  EXPECT_EQ(*client->compareSet("/k", "v1", "v2"), "v2");
  EXPECT_EQ(*client->compareSet("/k", "v1", "v3"), "v2");
  EXPECT_EQ(*client->compareSet("/new", "", "x"), "x");
  EXPECT_EQ(*client->compareSet("/new2", "e", "x"), "e");
  EXPECT_EQ(*client->count(), 3);
  EXPECT_TRUE(*client->erase("/new"));
  EXPECT_TRUE(client->append("/k", "zz").ok());
  EXPECT_EQ(*client->getAll({"/k", "/n"}),
            (std::vector<std::string>{"v2zz", "5"}));
  EXPECT_TRUE(client->setAll({"/a", "/b"}, {"1", "2"}).ok());
  EXPECT_EQ(*client->count(), 4);
  server.join();
}

// Another store says anything, or nothing, in a time of its own.
TEST(StoreProtocol, AHostileServerIsRefusedInTime) {
  const std::vector<std::string> answers = {
      "",                               // nothing
      "\x00"s,                          // and then nothing
      "\x07"s,                          // to one that waits
      "\x00"s + std::string(8, '\xff'), // a length
      "\x00\0\0\x50\0\0\0\0\0"s,        // too long a value
      "\x00\x64\0\0\0\0\0\0\0truncated"s,
  };
  for (const std::string &answer : answers) {
    auto listener = Socket::listen("127.0.0.1", 0);
    ASSERT_TRUE(listener.ok());
    auto client = StoreClient::connect("127.0.0.1", listener->port(), 300ms);
    ASSERT_TRUE(client.ok());
    Socket peer;
    while (peer.descriptor() < 0)
      peer = Socket(
          ::accept4(listener->descriptor(), nullptr, nullptr, SOCK_NONBLOCK));
    ASSERT_TRUE(peer.send(answer.data(), answer.size(), Clock::now() + 1s));
    const auto begin = Clock::now();
    EXPECT_EQ(client->get("/k").status().code(), Code::PeerLost);
    EXPECT_LT(Clock::now() - begin, 3s);
  }
}

// A notice in this folder, and who reads it.
class Notices : public TempFolder {
protected:
  Rendezvous as(int rank) const {
    Rendezvous own;
    own.rank = rank;
    own.size = 2;
    own.timeout = 2s;
    own.notice = notice_;
    return own;
  }
  // Rank 1 finds rank 0, which serves.
  void expectFound(const std::string &token) {
    Rendezvous first = as(0);
    first.token = token;
    ASSERT_TRUE(leaveNotice(first).ok());
    auto server = TcpStoreServer::serve(Socket(first.listener), 2, first.token);
    ASSERT_TRUE(server.ok());
    Rendezvous second = as(1);
    second.token = token;
    const auto found = findStore(second);
    ASSERT_TRUE(found.ok()) << found.status().message();
    EXPECT_EQ(second.port, first.port);
    EXPECT_EQ(second.token, first.token);
    EXPECT_GE(second.token.size(), 16u);
    said_ = first.notice.said;
    removeNotice(first);
    Rendezvous third = as(1);
    third.timeout = 200ms;
    EXPECT_EQ(findStore(third).status().code(), Code::PeerLost);
  }

  Notice notice_;
  std::string said_;
};

TEST_F(Notices, InAFile) {
  notice_.place = path("meet");
  expectFound("");
  expectFound("a token of all the ranks");
  EXPECT_EQ(said_.find("token"), std::string::npos) << said_;
}

TEST_F(Notices, InAStore) {
  int port = 0;
  const auto other = serve(port, "");
  notice_.address = "127.0.0.1";
  notice_.port = port;
  notice_.place = "/dlc/store";
  expectFound("");
  expectFound("a token of all the ranks");
  EXPECT_EQ(said_.find("token"), std::string::npos) << said_;
}

// What a job left that was killed.
TEST_F(Notices, AnOldOneIsReadAgain) {
  notice_.place = path("meet");
  std::ofstream(notice_.place) << "dlc-store-1 127.0.0.1 1 old\n";
  std::thread later([&] {
    std::this_thread::sleep_for(200ms);
    Rendezvous first = as(0);
    ASSERT_TRUE(leaveNotice(first).ok());
    auto server = TcpStoreServer::serve(Socket(first.listener), 2, first.token);
    std::this_thread::sleep_for(700ms);
    removeNotice(first);
  });
  Rendezvous second = as(1);
  EXPECT_TRUE(findStore(second).ok());
  later.join();
  EXPECT_FALSE(std::filesystem::exists(notice_.place));
}

TEST_F(Notices, OthersMayNotWriteOne) {
  notice_.place = path("meet");
  for (const char *text : {"", "dlc-store-1", "dlc-store-2 127.0.0.1 80 x",
                           "dlc-store-1 127.0.0.1 70000 x"}) {
    std::ofstream(notice_.place) << text;
    Rendezvous second = as(1);
    second.timeout = 150ms;
    const Status status = findStore(second).status();
    EXPECT_EQ(status.code(), Code::PeerLost);
    EXPECT_NE(status.message().find("not a notice"), std::string::npos)
        << status.message();
  }
  std::ofstream(notice_.place) << "dlc-store-1 127.0.0.1 80 x\n";
  ::chmod(notice_.place.c_str(), 0666);
  Rendezvous second = as(1);
  second.timeout = 150ms;
  const Status status = findStore(second).status();
  EXPECT_NE(status.message().find("no other user may write"), std::string::npos)
      << status.message();
}

// A process manager for one rank, that says `answers` in order.
struct Hydra {
  explicit Hydra(std::vector<std::string> answers) {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    rank = ends[0];
    thread = std::thread([this, own = ends[1], answers = std::move(answers)] {
      for (const std::string &answer : answers) {
        char byte = 0;
        while (byte != '\n' && ::read(own, &byte, 1) == 1)
          heard += byte;
        if (::write(own, answer.data(), answer.size()) < 0)
          break;
      }
      char rest;
      while (answers.size() > 5 && ::read(own, &rest, 1) == 1)
        ;
      ::close(own);
    });
  }
  // What the rank gets, once both are done.
  Result<std::string> share(int number, const std::string &text) {
    auto found = shareByPmi(rank, number, text, Clock::now() + 500ms);
    ::close(rank);
    thread.join();
    return found;
  }

  int rank = -1;
  std::string heard;
  std::thread thread;
};

// As recorded from MPICH 4.0's.
TEST(Pmi, RankZeroTellsTheOthers) {
  const std::string begin = "cmd=response_to_init pmi_version=1 "
                            "pmi_subversion=1 rc=0\n",
                    name = "cmd=my_kvsname kvsname=kvs_7_0\n",
                    put = "cmd=put_result rc=0 msg=success\n",
                    barrier = "cmd=barrier_out\n",
                    get = "cmd=get_result rc=0 msg=success value=a,b=c\n",
                    end = "cmd=finalize_ack\n";
  Hydra first({begin, name, put, barrier, get, end});
  const auto own = first.share(0, "a,b=c");
  ASSERT_TRUE(own.ok()) << own.status().message();
  EXPECT_EQ(*own, "a,b=c");
  EXPECT_EQ(first.heard, "cmd=init pmi_version=1 pmi_subversion=1\n"
                         "cmd=get_my_kvsname\n"
                         "cmd=put kvsname=kvs_7_0 key=dlc value=a,b=c\n"
                         "cmd=barrier_in\ncmd=get kvsname=kvs_7_0 key=dlc\n"
                         "cmd=finalize\n");
  Hydra second({begin, name, barrier, get, end});
  const auto found = second.share(1, "");
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(*found, "a,b=c");
}

TEST(Pmi, WhatIsNoneIsRefusedInTime) {
  for (const std::vector<std::string> &answers :
       {std::vector<std::string>{},
        {"cmd=response_to_init rc=-1\n"},
        {"cmd=my_kvsname\n"},
        {std::string(10'000, 'x')},
        {"cmd"}}) {
    const auto begin = Clock::now();
    EXPECT_EQ(Hydra(answers).share(1, "").status().code(), Code::PeerLost);
    EXPECT_LT(Clock::now() - begin, 3s);
  }
  EXPECT_EQ(shareByPmi(9999, 0, "", Clock::now()).status().code(), Code::Usage);
}

} // namespace
