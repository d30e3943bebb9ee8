// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/overflow/Overflow.h"

#include "runtime/base/numbers/DType.h"
#include "runtime/plan/Types.h"
#include "runtime/plan/graph/Commands.h"
#include "runtime/train/session/Inputs.h"

#include <algorithm>
#include <cmath>
#include <fmt/ranges.h>

namespace dlc {
namespace {

template <class T, class Widen>
Range scan(const std::byte *data, uint64_t count, Widen widen) {
  const T *values = reinterpret_cast<const T *>(data);
  Range r{.count = count};
  bool any = false;
  for (uint64_t i = 0; i < count; ++i) {
    const double x = widen(values[i]);
    if (std::isfinite(x)) {
      r.low = any ? std::min(r.low, x) : x;
      r.high = any ? std::max(r.high, x) : x;
      any = true;
      continue;
    }
    if (r.finite())
      r.first = i;
    ++(std::isnan(x) ? r.nan : x > 0 ? r.plus : r.minus);
  }
  return r;
}

// Kind of location. A lower kind takes precedence over all others.
enum class Kind {
  Origin, // a result is not finite, but no operand
  Mask,   // a result has minus infinity only
  Sum,    // an all-reduced value is not finite
};

struct Place {
  Kind kind;
  int64_t microBatch;
  int command; // -1: before the first
  std::string text;

  // Locations are sorted by key.
  std::string key() const {
    return fmt::format("{}{:08}{:08}", int(kind), microBatch, command + 1);
  }
};

bool isHalf(const Operand &operand) {
  return operand.type->dtype() == plan::F16 ||
         operand.type->dtype() == plan::BF16;
}

// A regular expression that matches exactly the nodes of a label.
std::string patternOf(const std::string &label) {
  std::string text;
  for (size_t i = 0; i < label.size(); ++i) {
    if (label.compare(i, 2, "; ") == 0) {
      text += "|";
      ++i;
    } else {
      if (std::string_view(".^$|()[]{}*+?\\").find(label[i]) !=
          std::string_view::npos)
        text += '\\';
      text += label[i];
    }
  }
  return text.find('|') == std::string::npos ? "^" + text + "$"
                                             : "^(" + text + ")$";
}

// A range of a memory region; programs share regions.
struct Memory {
  uint32_t region;
  uint64_t begin, end;
};

// For a plan::State or plan::Buffer.
template <class Place> Memory memoryOf(const Place &place) {
  return {place.region(), place.offset(),
          place.offset() + plan::bytesOf(place.type()).value_or(0)};
}

class Finder final : public Probe {
public:
  Finder(const plan::Program &program, int64_t microBatch)
      : program_(program), microBatch_(microBatch),
        loss_(plan::findLossCommand(program)) {}

  Status before(const ProbedCommand &c) override {
    reads_.clear();
    if (found_ || c.command.kind() == "wait")
      return {};
    for (size_t i = 0; i < c.inputs.size(); ++i) {
      const Operand &input = c.inputs[i];
      DLC_ASSIGN(const Range range, rangeOf(c.device, input));
      reads_.push_back(range);
      if (!range.finite() && !isExplained(memoryOf(c.command.inputs(int(i)))))
        note(Kind::Origin, c,
             fmt::format("{} reads {}, {}, which no node has computed",
                         describe(c), typeText(*input.type), rangeText(range)));
    }
    return {};
  }

  Status after(const ProbedCommand &c) override {
    if (found_ || c.command.kind() == "all_reduce" ||
        c.command.kind() == "reduce_scatter" ||
        c.command.kind() == "all_gather")
      return {};
    const bool readFinite = std::ranges::all_of(
        reads_, [](const Range &range) { return range.finite(); });
    for (size_t i = 0; i < c.outputs.size(); ++i) {
      const Operand &output = c.outputs[i];
      DLC_ASSIGN(Range range, rangeOf(c.device, output));
      if (range.finite())
        continue;
      if (c.command.kind() == "wait")
        note(Kind::Sum, c,
             fmt::format("the mean over the ranks at {} is {}", describe(c),
                         rangeText(range)));
      else if (readFinite)
        note(range.plus + range.nan ? Kind::Origin : Kind::Mask, c,
             whatComes(c, output, range));
      taint(memoryOf(c.command.outputs(int(i))));
    }
    return {};
  }

  void moved(const ProbedCommand &c) override {
    if (isExplained(memoryOf(c.command.inputs(0))))
      taint(memoryOf(c.command.outputs(0)));
  }

  // Records a location that precedes all commands.
  void noteBefore(std::string text) {
    if (found_)
      return;
    place_ = {Kind::Origin, microBatch_, -1, std::move(text)};
    found_ = true;
  }
  // Marks memory that has infinities on purpose.
  void taint(const Memory &memory) { tainted_.push_back(memory); }
  const std::optional<Place> &place() const { return place_; }

private:
  Memory memoryOf(uint32_t id) const {
    return dlc::memoryOf(program_.buffers(int(id)));
  }
  bool isExplained(const Memory &memory) const {
    return std::ranges::any_of(tainted_, [&](const Memory &other) {
      return other.region == memory.region && other.begin < memory.end &&
             memory.begin < other.end;
    });
  }

  void note(Kind kind, const ProbedCommand &c, std::string text) {
    if (place_ && place_->kind <= kind)
      return;
    place_ = {kind, microBatch_, c.index, std::move(text)};
    found_ = kind == Kind::Origin;
  }

  static std::string resultText(const Range &r) {
    const uint64_t infinite = r.plus + r.minus;
    if (infinite == r.count || r.nan == r.count)
      return fmt::format(", all {} values {}", r.count,
                         infinite ? "infinite" : "NaN");
    return fmt::format(" with {} infinite and {} NaN of {} values, the others "
                       "from {:.4g} to {:.4g}",
                       infinite, r.nan, r.count, r.low, r.high);
  }

  std::string describe(const ProbedCommand &c) const {
    const bool named = !c.command.label().empty();
    return fmt::format("{} ({}, {})",
                       named ? "'" + c.command.label() + "'" : "a command",
                       plan::operationOf(c.command),
                       c.index <= loss_ ? "forward" : "backward");
  }

  std::string whatComes(const ProbedCommand &c, const Operand &output,
                        const Range &range) const {
    std::string reads;
    for (size_t i = 0; i < reads_.size(); ++i)
      if (reads_[i].count)
        reads += fmt::format("{}{} {}", reads.empty() ? "" : "; ",
                             typeText(*c.inputs[i].type), rangeText(reads_[i]));
    return fmt::format("{} computes {}{}; it reads {}; {}", describe(c),
                       typeText(*output.type), resultText(range), reads,
                       remedy(c));
  }

  // The option that would keep the values in range.
  std::string remedy(const ProbedCommand &c) const {
    const bool half = std::ranges::any_of(c.outputs, isHalf) ||
                      std::ranges::any_of(c.inputs, isHalf);
    if (!half)
      return c.index > loss_ ? "a lower loss scale, or --clip-value, would "
                               "keep gradients in f32's range"
                             : "its values leave f32's range: look at the "
                               "samples, or try a lower --lr or --clip-grad";
    std::string text;
    if (c.command.kind() != "kernel")
      text = fmt::format(
          "--amp-deny={} or ",
          c.command.kind().substr(0, c.command.kind().find("_backward")));
    return fmt::format("to compute it in f32: {}--amp-node='{}:f32'", text,
                       patternOf(c.command.label()));
  }

  const plan::Program &program_;
  int64_t microBatch_;
  int loss_;
  std::vector<Range> reads_; // of the current command
  std::vector<Memory> tainted_;
  std::optional<Place> place_;
  bool found_ = false; // later locations are irrelevant
};

// Finds states that are not finite before the update.
Status checkStates(Session &session, Finder &finder) {
  std::vector<std::byte> copy; // for states that the host cannot access
  for (const plan::State &state : session.plan().states()) {
    DLC_ASSIGN(TensorView view,
               session.executor().fetchState(state.name(), copy));
    const Range range = rangeOf(*view.type, view.data);
    // The last window's accumulators are not read.
    if (state.role() == "accumulator" ||
        (!range.finite() && state.role() == "const"))
      finder.taint(memoryOf(state));
    else if (!range.finite())
      finder.noteBefore(fmt::format("{} '{}' is {} before the step",
                                    state.role(), state.name(),
                                    rangeText(range)));
  }
  return {};
}

void checkInputs(const plan::Program &program, const Batch &batch,
                 Finder &finder) {
  for (size_t i = 0; i < batch.size(); ++i) {
    const plan::Port &port = program.inputs(int(i));
    const plan::TensorType &type = portType(program, port);
    const Range range = rangeOf(type, batch[i].data());
    if (range.finite())
      continue;
    const uint64_t rows = type.shape_size() > 0 ? uint64_t(type.shape(0)) : 1;
    const uint64_t row = range.first / (range.count / rows);
    finder.noteBefore(fmt::format("input '{}' is {}, first in row {} of the "
                                  "batch: look at the samples",
                                  port.name(), rangeText(range), row));
  }
}

// The text of the location with the lowest key, among keys and texts of all
// ranks; empty if there is none.
std::string textOfFirst(const std::vector<std::string> &all, bool inWindow) {
  constexpr size_t kKey = 17;
  size_t best = all.size();
  for (size_t rank = 0; rank < all.size(); ++rank)
    if (!all[rank].empty() &&
        (best == all.size() ||
         all[rank].substr(0, kKey) < all[best].substr(0, kKey)))
      best = rank;
  if (best == all.size())
    return "";
  std::string text = all[best].substr(kKey);
  const int64_t micro = std::atoll(all[best].substr(1, 8).c_str());
  if (inWindow)
    text = fmt::format("micro-batch {}: {}", micro + 1, text);
  return all.size() > 1 ? fmt::format("rank {}: {}", best, text) : text;
}

} // namespace

Result<std::string> findOverflow(Session &session, Communicator &communicator,
                                 std::span<const Batch> window, int size,
                                 bool inject) {
  std::optional<Place> first;
  DLC_TRY(session.executor().gatherState(communicator, true));
  if (inject)
    session.executor().injectInfinity();
  for (size_t i = 0; i < window.size(); ++i) {
    const bool last = i + 1 == window.size();
    DLC_ASSIGN(const plan::Program *const program,
               session.nextStep(size, last));
    Finder finder(*program, int64_t(i));
    if (i == 0)
      DLC_TRY(checkStates(session, finder));
    checkInputs(*program, window[i], finder);
    DLC_TRY(session.trainStep(window[i], &finder, size).status());
    if (finder.place() && (!first || finder.place()->key() < first->key()))
      first = finder.place();
  }
  const std::string own = first ? first->key() + first->text : "";
  DLC_ASSIGN(const std::vector<std::string> all, communicator.allGather(own));
  return textOfFirst(all, window.size() > 1);
}

Range rangeOf(const plan::TensorType &type, const std::byte *data) {
  uint64_t count = 1;
  for (int64_t d : type.shape())
    count *= uint64_t(d);
  auto same = [](auto x) { return double(x); };
  switch (type.dtype()) {
  case plan::F32:
    return scan<float>(data, count, same);
  case plan::F64:
    return scan<double>(data, count, same);
  case plan::F16:
    return scan<uint16_t>(data, count, fromF16);
  case plan::BF16:
    return scan<uint16_t>(data, count, fromBf16);
  default:
    return {};
  }
}

Result<Range> rangeOf(Device &device, const Operand &operand) {
  std::vector<std::byte> copy;
  DLC_ASSIGN(const std::byte *data, fetchBytes(device, operand, copy));
  return rangeOf(*operand.type, data);
}

Result<const std::byte *> fetchBytes(Device &device, const Operand &operand,
                                     std::vector<std::byte> &copy) {
  if (const std::byte *data = device.hostPointer(operand.data))
    return data;
  copy.resize(plan::bytesOf(*operand.type).value_or(0));
  DLC_TRY(device.download(copy.data(), operand.data, copy.size()));
  return copy.data();
}

std::string typeText(const plan::TensorType &type) {
  const std::optional<DType> dtype = plan::dtypeOf(type.dtype());
  return fmt::format("{} [{}]", dtype ? nameOf(*dtype) : "?",
                     fmt::join(type.shape(), ", "));
}

std::string rangeText(const Range &r) {
  std::string text = fmt::format("from {:.4g} to {:.4g}", r.low, r.high);
  if (r.plus + r.minus + r.nan == r.count)
    text = "all";
  if (r.plus + r.minus)
    text += fmt::format(", {} infinite", r.plus + r.minus);
  if (r.nan)
    text += fmt::format(", {} NaN", r.nan);
  return text;
}

} // namespace dlc
