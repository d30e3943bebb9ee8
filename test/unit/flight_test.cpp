// SPDX-License-Identifier: Apache-2.0
// The record of a process's collectives, and the file of its host's.
#include "runtime/base/files/Files.h"
#include "runtime/collective/flight/CompareRanks.h"
#include "runtime/collective/flight/FlightLog.h"
#include "test/unit/TempFolder.h"

#include <atomic>
#include <fcntl.h>
#include <fstream>
#include <sys/file.h>
#include <thread>

namespace dlc {
namespace {

// The last 2,000, of which the one that failed is last.
TEST(Flight, KeepsTheLast) {
  FlightLog recorder;
  const int bucket = recorder.addSubject(3, "/a");
  for (uint64_t i = 0; i < 5000; ++i)
    recorder.end(recorder.begin(0, i, "barrier", 0, -1), true);
  recorder.setStep(9);
  recorder.end(recorder.begin(0, 5000, "all_reduce", 64, bucket), false);
  const std::string text =
      recorder.toJson({1, 2, "h", peerLost("rank 0 is lost")});
  size_t count = 0;
  for (size_t at = 0; (at = text.find("\"sequence\":", at)) != text.npos; ++at)
    ++count;
  EXPECT_EQ(count, FlightLog::kKept);
  EXPECT_EQ(text.find("\"sequence\":3000,"), text.npos);
  EXPECT_NE(text.find("\"sequence\":3001,"), text.npos);
  EXPECT_NE(text.find("\"sequence\":5000,\"step\":9,\"operation\":"
                      "\"all_reduce\",\"bytes\":64,\"subject\":0"),
            text.npos);
  EXPECT_TRUE(text.ends_with("\"state\":\"failed\"}]}\n"));
}

class FlightFile : public TempFolder {
protected:
  static constexpr int kRanks = 200;
  // As so many ranks of a host at once; how many are first.
  int writeAll(const std::vector<std::unique_ptr<FlightLog>> &logs) const {
    std::atomic<int> firsts = 0;
    std::vector<std::thread> threads;
    for (int rank = 0; rank < kRanks; ++rank)
      threads.emplace_back([&, rank] {
        const auto isFirst =
            writeFlight(*logs[static_cast<size_t>(rank)],
                        {rank, kRanks, "a/b", lost_}, path(""));
        ASSERT_TRUE(isFirst.ok()) << isFirst.status().message();
        firsts += *isFirst;
      });
    for (std::thread &thread : threads)
      thread.join();
    return firsts;
  }
  static std::vector<std::unique_ptr<FlightLog>> logs() {
    std::vector<std::unique_ptr<FlightLog>> logs;
    for (int rank = 0; rank < kRanks; ++rank) {
      logs.push_back(std::make_unique<FlightLog>());
      logs.back()->end(logs.back()->begin(0, 0, "barrier", 0, -1), true);
    }
    return logs;
  }

  const std::string file_ = path("flight-a_b.jsonl");
  Status lost_ = peerLost("rank 200 is lost");
};

TEST_F(FlightFile, ManyRanksShareOne) {
  EXPECT_EQ(writeAll(logs()), 1);
  EXPECT_EQ(entries(), 1U);
  const auto flights = readFlights(file_);
  ASSERT_TRUE(flights.ok()) << flights.status().message();
  ASSERT_EQ(flights->size(), size_t(kRanks));
  for (int rank = 0; rank < kRanks; ++rank)
    EXPECT_EQ((*flights)[static_cast<size_t>(rank)].rank, rank);
}

TEST_F(FlightFile, ALaterFailureReplacesIt) {
  const auto before = logs();
  EXPECT_EQ(writeAll(before), 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  lost_ = peerLost("rank 7 is lost");
  EXPECT_EQ(writeAll(logs()), 1);
  auto flights = readFlights(file_);
  ASSERT_TRUE(flights.ok() && flights->size() == size_t(kRanks));
  for (const Flight &flight : *flights)
    EXPECT_EQ(flight.error, "rank 7 is lost");
  // One that a kill has cut off is no line.
  std::ofstream(file_, std::ios::app) << "{\"format\":";
  const auto isFirst =
      writeFlight(*before[3], {3, kRanks, "a/b", {}}, path(""));
  ASSERT_TRUE(isFirst.ok());
  EXPECT_FALSE(*isFirst);
  flights = readFlights(file_);
  ASSERT_TRUE(flights.ok()) << flights.status().message();
  EXPECT_EQ((*flights)[3].error, "");
}

// As by a rank that is stopped while it writes its record.
TEST_F(FlightFile, ALockThatIsHeldIsNotWaitedFor) {
  const int holder = ::open(file_.c_str(), O_RDWR | O_CREAT, 0600);
  ASSERT_EQ(::flock(holder, LOCK_EX), 0);
  ::setenv("TMPDIR", path("").c_str(), 1);
  const auto isFirst =
      writeFlight(*logs()[3], {3, kRanks, "a/b", lost_}, path(""));
  ::unsetenv("TMPDIR");
  ::close(holder);
  EXPECT_TRUE(isFirst.ok() && *isFirst) << isFirst.status().message();
  const auto flights =
      readFlights(path(fmt::format("dlc-flight-3-{}.jsonl", ::getpid())));
  ASSERT_TRUE(flights.ok()) << flights.status().message();
  EXPECT_EQ((*flights)[0].error, lost_.message());
}

} // namespace
} // namespace dlc
