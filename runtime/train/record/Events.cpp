// SPDX-License-Identifier: Apache-2.0
// TensorBoard's files: records of a Protobuf message tensorflow.Event, each
// [u64 length][u32 checksum of it][message][u32 checksum of it]. The checksum
// is CRC32C, rotated right by 15 bits, plus 0xa282ead8.
#include "runtime/train/record/Recorder.h"

#include "runtime/base/files/Files.h"
#include "runtime/collective/Hosts.h"

#include <array>
#include <bit>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace dlc {
namespace {

uint32_t maskedCrc(std::string_view bytes) {
  static const auto table = [] {
    std::array<uint32_t, 256> all{};
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t x = i;
      for (int bit = 0; bit < 8; ++bit)
        x = (x >> 1) ^ (x & 1 ? 0x82f63b78U : 0U);
      all[i] = x;
    }
    return all;
  }();
  uint32_t crc = ~0U;
  for (const char c : bytes)
    crc = table[(crc ^ uint8_t(c)) & 0xff] ^ (crc >> 8);
  return std::rotr(~crc, 15) + 0xa282ead8U;
}

template <class Number> std::string raw(Number x) { // little-endian, as the CPU
  std::string bytes(sizeof x, '\0');
  std::memcpy(bytes.data(), &x, sizeof x);
  return bytes;
}

// Encodings of Protobuf fields.
std::string varint(uint64_t x) {
  std::string bytes;
  for (; x >= 0x80; x >>= 7)
    bytes += char(x | 0x80);
  return bytes + char(x);
}
std::string field(int number, const std::string &bytes) {
  return varint(uint64_t(number) << 3 | 2) + varint(bytes.size()) + bytes;
}
std::string field(int number, double x) {
  return varint(uint64_t(number) << 3 | 1) + raw(x);
}
std::string field(int number, float x) {
  return varint(uint64_t(number) << 3 | 5) + raw(x);
}
std::string field(int number, int64_t x) {
  return varint(uint64_t(number) << 3) + varint(uint64_t(x));
}

// tensorflow.Event
constexpr int kWallTime = 1, kEventStep = 2, kFileVersion = 3,
              kEventSummary = 5, kSessionLog = 7;
// Fields Summary.value; its tag and simple_value; SessionLog.status.
constexpr int kSummaryValue = 1, kValueTag = 1, kValueNumber = 2,
              kLogStatus = 1;
constexpr int64_t kLogStart = 1;

double wallTime() {
  return std::chrono::duration<double>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

class Events : public Recorder {
public:
  Events(Descriptor file, std::string path)
      : file_(std::move(file)), path_(std::move(path)) {}

  void onStep(const StepEvent &event) override {
    std::string summary;
    for (size_t i = 0; i < event.names.size(); ++i)
      summary += value("train/" + event.names[i], event.values[i]);
    summary += value("train/samples_per_second", event.samplesPerSecond);
    write(field(kEventStep, event.step) + field(kEventSummary, summary));
  }

  void onStatistics(const StatisticsEvent &event) override {
    std::string summary;
    for (size_t i = 0; i < event.names.size(); ++i) {
      const ParameterStatistics &s = event.values[i];
      summary += value("update_ratio/" + event.names[i], s.ratio());
      for (const auto &[part, all] : {std::pair("parameters", &s.parameter),
                                      std::pair("gradients", &s.gradient)}) {
        const std::string tag = fmt::format("{}/{}/", part, event.names[i]);
        summary += value(tag + "norm", all->norm) +
                   value(tag + "mean", all->mean) +
                   value(tag + "std", all->deviation) +
                   value(tag + "absmax", all->largest);
      }
    }
    write(field(kEventStep, event.step) + field(kEventSummary, summary));
  }

  // "val_f1": "val/f1"
  void onEpoch(const EpochEvent &event) override {
    std::string summary;
    for (auto [name, number] : event.values) {
      if (const size_t line = name.find('_'); line != name.npos)
        name[line] = '/';
      summary += value(name, number);
    }
    write(field(kEventStep, event.step) + field(kEventSummary, summary));
  }

  // Tells readers to drop values after the step from which a run is resumed.
  void begin(int64_t step) {
    write(field(kFileVersion, std::string("brain.Event:2")));
    if (step > 0)
      write(field(kEventStep, step + 1) +
            field(kSessionLog, field(kLogStatus, kLogStart)));
  }

private:
  static std::string value(const std::string &tag, double number) {
    return field(kSummaryValue,
                 field(kValueTag, tag) + field(kValueNumber, float(number)));
  }

  // Writes a record with one write(): readers stop at an incomplete one.
  void write(const std::string &fields) {
    const std::string event = field(kWallTime, wallTime()) + fields;
    const std::string length = raw(uint64_t(event.size()));
    const std::string record =
        length + raw(maskedCrc(length)) + event + raw(maskedCrc(event));
    const auto written = ::write(file_.number(), record.data(), record.size());
    if (written == ssize_t(record.size())) {
      size_ += off_t(record.size());
      return;
    }
    warning_.check(systemError("write", path_));
    [[maybe_unused]] const int cut = ::ftruncate(file_.number(), size_);
    ::lseek(file_.number(), size_, SEEK_SET);
  }

  Descriptor file_;
  const std::string path_;
  off_t size_ = 0;
  OneWarning warning_;
};

} // namespace

MadeRecorder openEvents(const Recorded &of) {
  if (!of.setup.options.tensorboard)
    return nullptr;
  const std::string folder = of.run + "/tensorboard";
  DLC_TRY(makeOwnFolder(folder));
  for (int number = 0;; ++number) {
    const std::string path =
        fmt::format("{}/events.out.tfevents.{:010}.{}.{}.{}", folder,
                    int64_t(wallTime()), hostName(), ::getpid(), number);
    Descriptor file(
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (!file && errno == EEXIST)
      continue;
    if (!file)
      return systemError("create", path);
    auto events = std::make_unique<Events>(std::move(file), path);
    events->begin(of.progress.step);
    return events;
  }
}

} // namespace dlc
