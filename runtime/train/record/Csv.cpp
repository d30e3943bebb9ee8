// SPDX-License-Identifier: Apache-2.0
// RUN/results.csv.
#include "runtime/train/record/Recorder.h"

#include "runtime/base/Text.h"
#include "runtime/base/files/Files.h"
#include "runtime/base/options/OptionTable.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fcntl.h>
#include <fmt/ranges.h>
#include <unistd.h>

namespace dlc {
namespace {

constexpr char kStepColumn[] = "step";

class Csv : public Recorder {
public:
  Csv(std::string path, Words columns, std::vector<Words> rows)
      : path_(std::move(path)), columns_(std::move(columns)),
        rows_(std::move(rows)) {}

  void onStep(const StepEvent &event) override {
    if (const double loss = metricOf(event, "loss"); std::isfinite(loss))
      sum_ += loss, ++count_;
    lr_ = metricOf(event, "lr");
  }

  void onEpoch(const EpochEvent &event) override {
    const std::chrono::duration<double> since = Clock::now() - begin_;
    std::vector<std::pair<std::string, double>> values = {
        {"epoch", double(event.epoch)},
        {kStepColumn, double(event.step)},
        {"time", std::round(1000 * since.count()) / 1000},
        {"train_loss", count_ ? sum_ / double(count_) : NAN}};
    values.insert(values.end(), event.values.begin(), event.values.end());
    values.emplace_back("lr", lr_);
    sum_ = 0, count_ = 0;
    add(values);
  }

private:
  using Clock = std::chrono::steady_clock;

  void add(const std::vector<std::pair<std::string, double>> &values) {
    const size_t before = columns_.size();
    for (const auto &[name, value] : values)
      if (!isGiven(columns_, name))
        columns_.push_back(name);
    Words row(columns_.size());
    for (const auto &[name, value] : values)
      row[size_t(std::ranges::find(columns_, name) - columns_.begin())] =
          std::isfinite(value) ? fmt::format("{}", value) : "";
    rows_.push_back(std::move(row));
    warning_.check(columns_.size() == before ? append() : write());
  }

  // Does not create the file, as the folder may have been replaced.
  Status append() const {
    DLC_ASSIGN(const Descriptor file, openOwnFile(path_, O_WRONLY | O_APPEND));
    const std::string row = fmt::format("{}\n", fmt::join(rows_.back(), ","));
    return ::write(file.number(), row.data(), row.size()) == ssize_t(row.size())
               ? Status()
               : systemError("write", path_);
  }

  // Rewrites the file, since a resumed run may have more columns.
  Status write() const {
    std::string text = fmt::format("{}\n", fmt::join(columns_, ","));
    for (Words row : rows_) {
      row.resize(columns_.size());
      text += fmt::format("{}\n", fmt::join(row, ","));
    }
    return writeFileAtomically(path_, text);
  }

  const std::string path_;
  Words columns_;
  std::vector<Words> rows_;
  double sum_ = 0, lr_ = NAN;
  int64_t count_ = 0;
  Clock::time_point begin_ = Clock::now();
  OneWarning warning_;
};

} // namespace

MadeRecorder openCsv(const Recorded &of) {
  const std::string path = of.run + "/results.csv";
  Words columns;
  std::vector<Words> rows;
  if (kindOfFile(path).empty())
    return std::make_unique<Csv>(path, columns, rows);
  DLC_ASSIGN(const std::string text, readFile(path, 1 << 30));
  size_t at = 0;
  std::string kept;
  for (const std::string_view line :
       splitAt({text.data(), text.rfind('\n') + 1}, '\n')) {
    Words row = splitAtCommas(std::string(line));
    if (columns.empty()) {
      columns = std::move(row);
      at = size_t(std::ranges::find(columns, kStepColumn) - columns.begin());
    } else if (at < row.size()) {
      const auto number = parseCount(row[at], 0);
      if (number && *number <= of.progress.step) {
        kept.append(line) += '\n';
        rows.push_back(std::move(row));
      }
    }
  }
  DLC_TRY(writeFileAtomically(
      path, fmt::format("{}\n", fmt::join(columns, ",")) + kept));
  return std::make_unique<Csv>(path, std::move(columns), std::move(rows));
}

} // namespace dlc
