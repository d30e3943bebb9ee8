// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/run/AfterSave.h"

#include "runtime/base/process/Boundary.h"
#include "runtime/base/process/Log.h"
#include "runtime/base/process/Subprocess.h"
#include "runtime/train/run/RunFolder.h"

namespace dlc {

AfterSave::~AfterSave() {
  if (thread_.joinable())
    thread_.join();
}

void AfterSave::begin(const std::string &checkpoint, int64_t step) {
  if (command_.empty())
    return;
  std::lock_guard lock(mutex_);
  if (running_) {
    if (waiting_)
      warning("--after-save is still running for '{}': '{}' is left out",
              running_->path, waiting_->path);
    waiting_ = {absolutePath(checkpoint), step};
    return;
  }
  if (thread_.joinable())
    thread_.join();
  running_ = {absolutePath(checkpoint), step};
  thread_ = std::thread([this, saved = *running_]() mutable {
    for (;;) {
      run(saved);
      std::lock_guard lock(mutex_);
      running_ = std::exchange(waiting_, std::nullopt);
      if (!running_)
        return;
      saved = *running_;
    }
  });
}

bool AfterSave::needs(int64_t step) const {
  std::lock_guard lock(mutex_);
  return (running_ && running_->step == step) ||
         (waiting_ && waiting_->step == step);
}

void AfterSave::run(const Saved &saved) const {
  const auto end = guarded("--after-save", [&] {
    return runProgram(
        {"/usr/bin/env", "DLC_CHECKPOINT=" + saved.path,
         fmt::format("DLC_STEP={}", saved.step), "/bin/sh", "-c", command_},
        [](std::string_view line) { info("--after-save: {}", line); });
  });
  if (!end)
    warning("--after-save for '{}': {}", saved.path, end.status().message());
  else if (end->code != 0)
    warning("--after-save for '{}' ended with code {}", saved.path, end->code);
}

} // namespace dlc
