// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/Text.h"
#include "runtime/base/numbers/Hash.h"
#include "runtime/data/stream/PipeProgram.h"
#include "runtime/data/stream/SampleStream.h"

#include <algorithm>
#include <mutex>

namespace dlc {
namespace {

// A program whose header was read, for the first reader of samples.
class BegunProgram {
public:
  BegunProgram(std::unique_ptr<PipeProgram> program, std::string line)
      : line(std::move(line)), program_(std::move(program)) {}
  std::unique_ptr<PipeProgram> take() {
    const std::lock_guard lock(mutex_);
    return std::move(program_);
  }

  const std::string line; // the header

private:
  std::mutex mutex_;
  std::unique_ptr<PipeProgram> program_;
};

class StreamProgram {
public:
  explicit StreamProgram(StreamOptions options)
      : options_(std::move(options)) {}

  const StreamOptions &options() const { return options_; }
  bool isInput() const { return options_.command.empty(); }
  std::string name() const {
    return isInput() ? "standard input" : options_.command;
  }

  Result<std::shared_ptr<BegunProgram>> begin(const StreamPlace &place,
                                              const std::atomic<bool> &stop) {
    std::unique_ptr<PipeProgram> program;
    if (isInput()) {
      program = PipeProgram::standardInput();
    } else {
      DLC_ASSIGN(program,
                 PipeProgram::start(
                     options_.command,
                     {fmt::format("DLC_DATA_EPOCH={}", place.epoch),
                      fmt::format("DLC_DATA_SKIP={}", place.taken),
                      fmt::format("DLC_RANK={}", options_.rank),
                      fmt::format("DLC_WORLD_SIZE={}", options_.world)}));
    }
    for (std::string line;;) {
      char c = 0;
      DLC_TRY(read(*program, reinterpret_cast<std::byte *>(&c), 1,
                   "before its header", stop));
      if (c == '\n')
        return std::make_shared<BegunProgram>(std::move(program), line);
      if (line.size() == kMaxStreamHeader)
        return failed("'{}': its first line has more than {} KiB, expected a "
                      "header of samples",
                      printable(name()), kMaxStreamHeader >> 10);
      line += c;
    }
  }

  // Reads `size` bytes; the error says `when` the program ended.
  Status read(PipeProgram &program, std::byte *to, uint64_t size,
              std::string_view when, const std::atomic<bool> &stop) {
    DLC_ASSIGN(const size_t found,
               program.read(to, size, options_.patience, stop)
                   .withContext("'{}'", printable(name())));
    if (found == size)
      return {};
    return failed("'{}' ended {}{}", printable(name()), when, endOf(program));
  }

  // The end of an error message.
  std::string endOf(PipeProgram &program) {
    const std::string how = program.ending();
    wasStopped_ = program.wasStopped();
    return how.empty() ? "" : ": " + how;
  }
  bool wasStopped() const { return wasStopped_; }

private:
  StreamOptions options_;
  bool wasStopped_ = false;
};

class ProgramStream final : public SampleStream {
public:
  ProgramStream(StreamProgram program, std::shared_ptr<BegunProgram> waiting,
                StreamHeader header)
      : program_(std::move(program)), waiting_(std::move(waiting)),
        header_(std::move(header)) {}

  const StreamHeader &header() const override { return header_; }

  Status start(const StreamPlace &place) override {
    read_ = 0;
    running_.reset();
    if (program_.isInput() || (place.epoch == 0 && place.taken == 0))
      running_ = waiting_->take();
    if (program_.isInput())
      return running_ ? passOver(place)
                      : failed("standard input cannot be read twice");
    if (running_)
      return {};
    waiting_->take(); // which ends the process
    DLC_ASSIGN(const auto begun, program_.begin(place, stopped_));
    if (begun->line != waiting_->line)
      return failed("'{}' writes another header for epoch {} after {} samples: "
                    "'{}' instead of '{}'",
                    printable(program_.name()), place.epoch, place.taken,
                    printable(begun->line), printable(waiting_->line));
    running_ = begun->take();
    return {};
  }

  Status read(int64_t count, std::byte *to) override {
    const uint64_t bytes = uint64_t(count) * header_.recordBytes;
    DLC_ASSIGN(const size_t found,
               running_->read(to, bytes, program_.options().patience, stopped_)
                   .withContext("'{}'", printable(program_.name())));
    read_ += int64_t(found / header_.recordBytes);
    if (found == bytes)
      return {};
    const uint64_t rest = found % header_.recordBytes;
    return failed("'{}' ended after {} samples{}{}{}",
                  printable(program_.name()), read_,
                  rest ? fmt::format(" and {} of the next one's {} bytes", rest,
                                     header_.recordBytes)
                       : "",
                  program_.options().world > 1
                      ? fmt::format(" for rank {}", program_.options().rank)
                      : "",
                  program_.endOf(*running_));
  }

  void stop() override { stopped_ = true; }
  bool wasStopped() const override { return program_.wasStopped(); }

private:
  Status passOver(const StreamPlace &place) {
    std::vector<std::byte> record(header_.recordBytes);
    for (int64_t i = 0; i < place.taken; ++i)
      DLC_TRY(program_.read(*running_, record.data(), record.size(),
                            fmt::format("at sample {} of {} that the run has "
                                        "taken",
                                        i, place.taken),
                            stopped_));
    return {};
  }

  StreamProgram program_;
  std::shared_ptr<BegunProgram> waiting_;
  StreamHeader header_;
  std::unique_ptr<PipeProgram> running_;
  std::atomic<bool> stopped_ = false;
  int64_t read_ = 0; // samples since the start
};

class StreamSource final : public Source {
public:
  StreamSource(StreamProgram program, std::shared_ptr<BegunProgram> waiting,
               StreamHeader header)
      : program_(std::move(program)), waiting_(std::move(waiting)),
        header_(std::move(header)) {}

  std::string name() const override { return program_.name(); }
  std::vector<std::string> keys() const override {
    std::vector<std::string> keys;
    for (const auto &array : header_.arrays)
      keys.push_back(array.name);
    return keys;
  }
  Result<Array> head(const std::string &key) const override {
    const auto *array = header_.find(key);
    if (!array)
      return noSuchArray(*this, key);
    std::vector<int64_t> shape{header_.samples};
    shape.insert(shape.end(), array->shape.begin(), array->shape.end());
    return Array{array->dtype, std::move(shape), {}};
  }
  Result<std::shared_ptr<const RowReader>>
  rows(const std::string &) const override {
    return readerBy([](int64_t row, auto, auto) {
      return failed(
          "sample {} cannot be read: samples of a stream are sequential", row);
    });
  }
  std::unique_ptr<SampleStream> stream() const override {
    return std::make_unique<ProgramStream>(program_, waiting_, header_);
  }
  bool isStream() const override { return true; }
  Result<std::string> hash(int) const override {
    return sha256(std::as_bytes(std::span(waiting_->line)));
  }

private:
  StreamProgram program_;
  std::shared_ptr<BegunProgram> waiting_;
  StreamHeader header_;
};

} // namespace

Result<std::shared_ptr<const Source>> openStream(const StreamOptions &options) {
  StreamProgram program(options);
  const std::atomic<bool> never = false;
  DLC_ASSIGN(auto begun, program.begin({}, never));
  DLC_ASSIGN(StreamHeader header,
             parseStreamHeader(begun->line)
                 .withContext("'{}'", printable(program.name())));
  if (program.isInput() && header.samples != kEndlessSamples)
    return failed("standard input has \"samples\" in its header, but cannot "
                  "begin a second epoch: leave it out, or give --data-command");
  return std::make_shared<const StreamSource>(
      std::move(program), std::move(begun), std::move(header));
}

} // namespace dlc
