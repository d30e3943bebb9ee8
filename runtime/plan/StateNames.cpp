// SPDX-License-Identifier: Apache-2.0
#include "runtime/plan/StateNames.h"

#include <algorithm>
#include <array>

namespace dlc::plan {
namespace {

constexpr std::string_view kPrefix = "model/", kCache = "cache/";

constexpr std::array<std::string_view, 32> kNames = {
    // states
    "step", "rng.draw", "rng.rank", "schedule.steps", "schedule.epoch_steps",
    "plateau", "scaler.scale", "scaler.growth", "scaler.hysteresis",
    "scaler.amax", "ema.moves", "ema.updates",
    // programs
    "predict", "train_step", "eval_step", "accumulate_step", "ema_step",
    "sync_step", "start_step", "prefill", "decode",
    // regions
    "param", "buffer", "const", "ema", "accumulator", "cache", "scalar",
    "gradient", "scratch", "marker",
    // reserved by safetensors
    "__metadata__"};

constexpr std::array<std::string_view, 15> kPrefixes = {
    kPrefix, "ema/", "grad/", kCache, "accumulate.", "step.product", kTeacher,
    "moment.", "powersgd.", "sync.",
    // programs of another size
    "predict@", "train_step@", "eval_step@", "accumulate_step@", "start_step@"};

constexpr std::array<std::string_view, 12> kMoments = {
    ".m",           ".v",
    ".vmax",        ".vr",
    ".vc",          ".m.absmax",
    ".v.absmax",    ".vmax.absmax",
    ".powersgd_q",  ".powersgd_error",
    ".sync_anchor", ".sync_m"};

bool isDigit(char c) { return c >= '0' && c <= '9'; }

// The position after one or more digits after `start`; npos if there are none.
size_t afterDigits(std::string_view name, std::string_view start) {
  if (!name.starts_with(start))
    return std::string_view::npos;
  size_t end = start.size();
  while (end < name.size() && isDigit(name[end]))
    ++end;
  return end == start.size() ? std::string_view::npos : end;
}

// "k0", "k12_matmul_add_flat3": kernels.
bool isKernel(std::string_view name) {
  size_t end = afterDigits(name, "k");
  return end != std::string_view::npos &&
         (end == name.size() || name[end] == '_');
}

// Region "ema.2" and its averages "ema.2/NAME".
bool isAverageSet(std::string_view name) {
  size_t end = afterDigits(name, "ema.");
  return end != std::string_view::npos &&
         (end == name.size() || name[end] == '/');
}

bool isMoment(const std::string &name,
              const std::function<bool(const std::string &)> &isTensor) {
  return std::any_of(
      kMoments.begin(), kMoments.end(), [&](std::string_view suffix) {
        return name.ends_with(suffix) &&
               isTensor(name.substr(0, name.size() - suffix.size()));
      });
}

} // namespace

bool isReserved(std::string_view name) {
  const auto begins = [&](std::string_view prefix) {
    return name.starts_with(prefix);
  };
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end() ||
         std::any_of(kPrefixes.begin(), kPrefixes.end(), begins) ||
         isKernel(name) || isAverageSet(name);
}

bool isCache(std::string_view state) { return state.starts_with(kCache); }

std::string
stateName(const std::string &name,
          const std::function<bool(const std::string &)> &isTensor) {
  if (!isReserved(name) && !isMoment(name, isTensor))
    return name;
  return std::string(kPrefix) + name + "/";
}

std::string modelName(std::string_view state) {
  if (state.starts_with(kPrefix) && state.ends_with("/") &&
      state.size() > kPrefix.size())
    return std::string(
        state.substr(kPrefix.size(), state.size() - kPrefix.size() - 1));
  return std::string(state);
}

} // namespace dlc::plan
