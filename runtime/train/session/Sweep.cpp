#include "runtime/train/session/Sweep.h"

#include "runtime/base/files/Mapping.h"
#include "runtime/train/session/Inputs.h"

#include <algorithm>

namespace dlc {

Sweep::Sweep(Executor &executor, const plan::Program &program,
             const Dataset &dataset, int64_t batch)
    : executor_(executor), program_(program), dataset_(dataset), size_(batch),
      batch_(makeBatch(dataset, batch)), rows_(static_cast<size_t>(batch)) {}

Status Sweep::named(const Status &status, const Rows &rows) const {
  if (status.ok())
    return status;
  return status.withContext(fmt::format("samples {} to {} of '{}'", rows.first,
                                        rows.first + rows.count - 1,
                                        dataset_.path()));
}

Status Sweep::start(const Rows &rows) {
  for (int64_t i = 0; i < size_; ++i)
    rows_[static_cast<size_t>(i)] = rows.first + std::min(i, rows.count - 1);
  DLC_TRY(fillBatch(dataset_, rows_, batch_));
  DLC_TRY(mappedFilesStatus());
  DLC_TRY(setInputs(executor_, program_, batch_));
  DLC_TRY(executor_.run(program_.name()));
  DLC_TRY(executor_.report(program_.name()));
  started_.push_back(rows);
  return {};
}

// The outputs of the oldest batch that was started.
Status Sweep::read(const Take &take) {
  const Rows rows = started_.front();
  started_.pop_front();
  const auto outputs = executor_.readReport(program_.name());
  return named(outputs.ok() ? take(rows.count, *outputs) : outputs.status(),
               rows);
}

Status Sweep::run(int64_t first, int64_t stride, const Take &take) {
  const auto readAllBut = [&](size_t unread) {
    Status status;
    while (status.ok() && started_.size() > unread)
      status = read(take);
    return status;
  };
  Status error;
  for (int64_t batch = first; error.ok() && batch * size_ < dataset_.samples();
       batch += stride) {
    const int64_t at = batch * size_;
    const Rows rows{at, std::min(size_, dataset_.samples() - at)};
    const Status started = start(rows);
    error = readAllBut(started.ok() ? executor_.runsAhead() : 0);
    if (error.ok()) // else it is of a batch before
      error = named(started, rows);
  }
  if (error.ok())
    error = readAllBut(0);
  while (!started_.empty()) // after an error: nothing of it may be left
    (void)read([](auto...) { return Status(); }).ok();
  return error;
}

} // namespace dlc
