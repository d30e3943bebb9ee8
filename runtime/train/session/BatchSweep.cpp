// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/session/BatchSweep.h"

#include "runtime/base/files/MappedFile.h"
#include "runtime/exec/reduce/Collectives.h"
#include "runtime/train/session/Inputs.h"

#include <algorithm>

namespace dlc {

BatchSweep::BatchSweep(Executor &executor, std::vector<Part> parts,
                       const Dataset &dataset)
    : executor_(executor), parts_(std::move(parts)), dataset_(dataset) {
  for (const Part &part : parts_)
    batches_.push_back(makeBatch(dataset, part.batch));
}

size_t BatchSweep::partFor(int64_t count) const {
  size_t part = 0;
  while (part + 1 < parts_.size() && parts_[part + 1].batch >= count)
    ++part;
  return part;
}

bool BatchSweep::hasCollectives() const {
  const auto &commands = parts_.front().program->commands();
  return std::ranges::any_of(commands, [](const auto &c) {
    return CollectiveBinder::binds(c.kind());
  });
}

Status BatchSweep::named(const Status &status, const Rows &rows) const {
  return status.withContext("samples {} to {} of '{}'", rows.first,
                            rows.first + std::max<int64_t>(rows.count, 1) - 1,
                            dataset_.path());
}

Status BatchSweep::start(const Rows &rows) {
  const auto &[program, batch] = parts_[rows.part];
  rows_.resize(size_t(batch));
  for (int64_t i = 0; i < batch; ++i)
    rows_[size_t(i)] = rows.first + std::clamp<int64_t>(rows.count - 1, 0, i);
  DLC_TRY(fillBatch(dataset_, rows_, nullptr, batches_[rows.part]));
  DLC_TRY(mappedFilesStatus());
  DLC_TRY(setInputs(executor_, *program, batches_[rows.part]));
  DLC_TRY(executor_.run(program->name()));
  DLC_TRY(executor_.report(program->name()));
  started_.push_back(rows);
  return {};
}

// Reads the outputs of the oldest batch.
Status BatchSweep::read(const Take &take) {
  const Rows rows = started_.front();
  started_.pop_front();
  const Part &part = parts_[rows.part];
  const auto outputs = executor_.readReport(part.program->name());
  if (rows.count == 0)
    return outputs.status();
  return named(
      outputs.ok() ? take(rows.count, part, *outputs) : outputs.status(), rows);
}

Status BatchSweep::run(int64_t first, int64_t stride, const Take &take) {
  const auto readAllBut = [&](size_t unread) {
    Status status;
    while (status.ok() && started_.size() > unread)
      status = read(take);
    return status;
  };
  Status error;
  const int64_t most = parts_.front().batch, samples = dataset_.samples();
  const bool together = stride > 1 && hasCollectives();
  for (int64_t batch = first; error.ok(); batch += stride) {
    const int64_t round = batch - first, at = batch * most;
    if ((together ? round * most : at) >= samples)
      break;
    const int64_t count = std::clamp<int64_t>(samples - at, 0, most);
    // The first rank of a round has the most samples.
    const Rows rows{
        std::min(at, samples - 1), count,
        partFor(together ? std::min(most, samples - round * most) : count)};
    const Status started = start(rows);
    error = readAllBut(started.ok() ? executor_.runsAhead() : 0);
    if (error.ok()) // else an earlier batch failed
      error = named(started, rows);
  }
  if (error.ok())
    error = readAllBut(0);
  while (!started_.empty()) // also after an error
    (void)read([](auto...) { return Status(); }).ok();
  return error;
}

} // namespace dlc
