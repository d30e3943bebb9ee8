// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/Dataset.h"

#include "runtime/base/Text.h"
#include "runtime/base/files/MappedFile.h"
#include "runtime/base/numbers/Checked.h"
#include "runtime/base/process/Log.h"
#include "runtime/base/process/Parallel.h"
#include "runtime/data/arrays/Advice.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>

namespace dlc {

bool becomesShares(const Array &array, const InputSpec &spec, int64_t batch,
                   const SampleOptions &options) {
  const auto entries =
      checkedElements(spec.shape).value_or(0) / uint64_t(batch);
  return options.mixes() && spec.isLabel && spec.dtype == DType::F32 &&
         !isFloat(array.dtype) && entries > 1 &&
         checkedElements(sampleShape(array.shape)) == 1U;
}

namespace {

std::string_view kindOf(const InputSpec &spec) {
  return spec.isLabel ? "label" : "value";
}

std::vector<int64_t> withoutOnes(std::vector<int64_t> shape) {
  std::erase(shape, 1);
  return shape;
}

/// Labels with several dimensions may be flattened, but not transposed.
Status checkLabelShape(const Array &array, const InputSpec &spec) {
  const auto found = withoutOnes(sampleShape(array.shape));
  const auto expected = withoutOnes(sampleShape(spec.shape));
  if (found.size() < 2 || expected.size() < 2 || found == expected)
    return {};
  return failed("labels of a sample have shape [{}], expected [{}]: the array "
                "is {}; where an output has its classes: dlc compile "
                "--class-axis=AXIS",
                fmt::join(sampleShape(array.shape), ", "),
                fmt::join(sampleShape(spec.shape), ", "),
                describe(array.dtype, array.shape));
}

Status checkShape(const Array &array, const InputSpec &spec, int64_t batch,
                  bool isOneHot, uint64_t &elements) {
  if (spec.isShared) {
    if (array.shape != spec.shape)
      return failed("is the same for all samples and has shape [{}], expected "
                    "[{}]",
                    fmt::join(array.shape, ", "), fmt::join(spec.shape, ", "));
    elements = checkedElements(spec.shape).value_or(0);
    return {};
  }
  std::vector<int64_t> found = sampleShape(array.shape);
  if (array.shape.empty())
    return failed("is a single number, expected samples as rows");
  if (!spec.isLabel) {
    std::vector<int64_t> expected = sampleShape(spec.shape);
    if (found != expected)
      return failed("a sample has shape [{}], expected [{}]: the array is {}{}",
                    fmt::join(found, ", "), fmt::join(expected, ", "),
                    describe(array.dtype, array.shape),
                    adviceOnShape(spec.key, found, expected));
    // Rejects arrays without rows whose row size overflows.
    if (!checkedElements(found))
      return failed("is too big: {}", describe(array.dtype, array.shape));
    elements = *checkedElements(found);
    return {};
  }
  if (!isOneHot)
    DLC_TRY(checkLabelShape(array, spec));
  elements = checkedElements(spec.shape).value_or(0) / uint64_t(batch);
  const std::optional<uint64_t> count = checkedElements(found);
  if (count != elements && !isOneHot)
    return failed(
        "has {} labels a sample, expected {}{}: the array is {}{}",
        count ? std::to_string(*count) : "too many", elements,
        spec.shape.size() > 2
            ? fmt::format(" of shape [{}]",
                          fmt::join(sampleShape(spec.shape), ", "))
            : "",
        describe(array.dtype, array.shape),
        isFloat(spec.dtype) ? "" : adviceOnLabels(spec.key, array, elements));
  return {};
}

Status checkDType(const Array &array, const InputSpec &spec, int64_t batch) {
  if (isFloat(array.dtype) && !isFloat(spec.dtype))
    return failed("has dtype {}, expected integers ({}): the array is {}{}",
                  nameOf(array.dtype), nameOf(spec.dtype),
                  describe(array.dtype, array.shape),
                  adviceOnLabels(spec.key, array,
                                 checkedElements(spec.shape).value_or(0) /
                                     uint64_t(batch)));
  return {};
}

// Checks that are possible before the content is read.
Status check(const Array &array, const InputSpec &spec, int64_t batch,
             const SampleOptions &options) {
  uint64_t elements = 0;
  DLC_TRY(checkDType(array, spec, batch));
  return checkShape(array, spec, batch,
                    becomesShares(array, spec, batch, options), elements);
}

// The scale factor of the conversion.
double scaleOf(const Array &array, const InputSpec &spec,
               std::optional<double> scale) {
  if (spec.isLabel || !isFloat(spec.dtype))
    return 1;
  return scale.value_or(array.dtype == DType::U8 ? 1.0 / 255 : 1.0);
}

} // namespace

// Negative integers are usually a mistake, such as -100 for ignored labels, but
// in ONNX they index from the end.
static void tellFromEnd(const InputSpec &spec, int64_t value, uint64_t row) {
  static std::once_flag told;
  std::call_once(told, [&] {
    warning("'{}': {} in row {} counts from the end, like all values below 0: "
            "{} is the last",
            spec.key, value, row, spec.limit - 1);
  });
}

// Only integers in u8 arrays are scaled automatically.
static void tellPixels(const std::string &file, const std::string &key,
                       int range) {
  static std::once_flag told;
  std::call_once(told, [&] {
    warning("'{}': '{}' has whole numbers up to {}, as pixels of pictures, "
            "which most models take from 0 to 1: --scale={:.4g} divides by {}",
            file, key, range, 1.0 / range, range);
  });
}

Status Column::checkRange(const std::byte *values, int64_t firstRow,
                          int64_t rows) const {
  if (isFloat(spec_.dtype))
    return {};
  IntegerRange allowed = rangeOf(spec_.dtype);
  if (spec_.limit > 0)
    allowed = {spec_.fromEnd ? std::max(allowed.first, -spec_.limit) : 0,
               std::min(allowed.last, spec_.limit - 1)};
  const uint64_t count = elements_ * uint64_t(rows);
  const auto rowOf = [&](uint64_t element) {
    return uint64_t(firstRow) + element / std::max<uint64_t>(elements_, 1);
  };
  if (const auto wrong = findOutside(values, found_, count, allowed)) {
    const int64_t value = integerAt(values, found_, *wrong);
    return failed("{} {} in row {} is out of range, expected {} to {}{}",
                  kindOf(spec_), value, rowOf(*wrong),
                  value < 0 ? allowed.first
                            : std::max<int64_t>(allowed.first, 0),
                  allowed.last,
                  spec_.isLabel && value == spec_.limit
                      ? fmt::format("; of classes numbered from 1, {0} = {0} - "
                                    "1 counts from 0",
                                    spec_.key)
                      : "");
  }
  if (spec_.limit <= 0 || !spec_.fromEnd)
    return {};
  if (const auto below = findOutside(values, found_, count, {0, allowed.last}))
    tellFromEnd(spec_, integerAt(values, found_, *below), rowOf(*below));
  return {};
}

// Checks rows that are computed from arrays in memory.
Status Column::checkRows(int64_t rows) const {
  std::vector<std::byte> values(stride());
  for (int64_t row = 0; row < rows && !isFloat(spec_.dtype); ++row) {
    DLC_TRY(rows_->read(row, nullptr, values.data()));
    DLC_TRY(checkRange(values.data(), row, 1));
  }
  return {};
}

std::optional<PixelLayout> Column::layout() const {
  auto found = layoutOf(sampleShape(spec_.shape));
  return found && !spec_.isLabel && !spec_.isShared ? std::optional(*found)
                                                    : std::nullopt;
}

Status Column::writeOneHot(const std::byte *from, int64_t row,
                           std::byte *to) const {
  const auto classes = int64_t(elements_);
  const int64_t value = integerAt(from, found_, 0);
  if (value < 0 || value >= classes)
    return failed("label {} in row {} is out of range, expected 0 to {}", value,
                  row, classes - 1);
  auto *shares = reinterpret_cast<float *>(to);
  std::fill_n(shares, elements_, 0.0F);
  shares[value] = 1;
  return {};
}

Status Column::write(const std::byte *from, int64_t row,
                     const TrainingPass *pass, std::byte *to) const {
  if (isOneHot_)
    return writeOneHot(from, row, to);
  if (!finish_) {
    convert_(from, to, elements_, scale_);
    return {};
  }
  thread_local std::vector<float> room;
  room.resize(elements_);
  auto *values = reinterpret_cast<std::byte *>(room.data());
  convert_(from, values, elements_, scale_);
  finish_->apply(room, row, pass);
  if (narrow_)
    narrow_(values, to, elements_, 1);
  else
    std::memcpy(to, values, elements_ * sizeof(float));
  return {};
}

Status Column::copySample(int64_t row, const TrainingPass *pass,
                          std::byte *to) const {
  if (spec_.isWeight) {
    constexpr float kOne = 1;
    std::memcpy(to, &kOne, sizeof kOne);
    return {};
  }
  const int64_t at = spec_.isShared ? 0 : row;
  if (all_)
    return write(all_ + uint64_t(at) * stride(), row, pass, to)
        .withContext("'{}'", spec_.key);
  thread_local std::vector<std::byte> room;
  room.resize(stride());
  DLC_TRY(rows_->read(at, pass, room.data()).withContext("'{}'", spec_.key));
  return convertSample(room.data(), row, pass, to);
}

Status Column::convertSample(const std::byte *from, int64_t row,
                             const TrainingPass *pass, std::byte *to) const {
  const auto convert = [&]() -> Status {
    const Status range = checkRange(from, spec_.isShared ? 0 : row, 1);
    if (!range.ok()) {
      const std::string place = rows_->placeOf(row, pass);
      return place.empty() ? range : range.withContext(place);
    }
    return write(from, row, pass, to);
  };
  return convert().withContext("'{}'", spec_.key);
}

Status Dataset::bind(const InputSpec &spec, int64_t batch) {
  Column column;
  if (spec.isWeight) {
    column.spec_ = spec;
    column.elements_ = 1;
    columns_.push_back(std::move(column));
    return {};
  }
  DLC_ASSIGN(const Array head, source_->head(spec.key));
  column.isOneHot_ = becomesShares(head, spec, batch, options_);
  DLC_TRY(checkShape(head, spec, batch, column.isOneHot_, column.elements_));
  DLC_ASSIGN(column.rows_, source_->rows(spec.key));
  column.all_ = column.rows_->all();
  column.spec_ = spec;
  column.found_ = head.dtype;
  const Status inRange =
      column.all_
          ? column.checkRange(column.all_, 0, spec.isShared ? 1 : head.rows())
      : column.rows_->isInMemory() ? column.checkRows(head.rows())
                                   : Status();
  const auto classes = int64_t(source_->classes().size());
  if (!inRange.ok() && spec.isLabel && classes > spec.limit)
    return failed("there are {0} classes, but the model has {1}: "
                  "dlc compile --replace-head={0}",
                  classes, spec.limit);
  DLC_TRY(inRange);
  column.scale_ = scaleOf(head, spec, options_.scale);
  const Finish finish(options_, sampleShape(spec.shape));
  const bool isFinished = isFloat(spec.dtype) && !spec.isLabel &&
                          !spec.isShared &&
                          (finish.normalizes() || finish.erases());
  if (isFinished) {
    column.finish_ = finish;
    if (spec.dtype != DType::F32)
      column.narrow_ = converter(DType::F32, spec.dtype, false);
  }
  column.convert_ = converter(head.dtype, isFinished ? DType::F32 : spec.dtype,
                              column.scale_ != 1);
  if (!spec.isShared) {
    auto first = std::ranges::find_if(columns_, [](auto &c) {
      return !c.spec_.isShared && !c.spec_.isWeight;
    });
    if (first != columns_.end() && samples_ != head.rows())
      return failed("has {} samples, but '{}' has {}", head.rows(),
                    first->spec_.key, samples_);
    samples_ = head.rows();
  }
  if (column.all_ && column.layout() && spec.dtype == DType::F32 &&
      head.dtype != DType::U8 && !options_.scale && options_.mean.empty())
    if (const int range = pixelRange(column, samples_))
      tellPixels(source_->name(), spec.key, range);
  columns_.push_back(std::move(column));
  return {};
}

// An error if scale, normalisation or erasing applies to no input.
Status Dataset::checkFinish() const {
  bool normalizes = options_.mean.empty(), erases = options_.randomErase == 0;
  bool scales = options_.scale.value_or(1) == 1;
  for (const Column &column : columns_) {
    normalizes |= column.finish_ && column.finish_->normalizes();
    erases |= column.finish_ && column.finish_->erases();
    scales |= !column.spec_.isLabel && isFloat(column.spec_.dtype);
  }
  const std::string found = joined(columns_, ", ", [](const Column &column) {
    const InputSpec &spec = column.spec_;
    return spec.isLabel ? ""
                        : fmt::format("'{}' {}", spec.key,
                                      describe(spec.dtype, spec.shape));
  });
  if (!scales)
    return usageError("--scale needs an input of floats: {}", found);
  if (!normalizes)
    return usageError("--mean and --std have {} and {} numbers, expected one "
                      "or one for each channel of an input of floats: {}",
                      options_.mean.size(), options_.std.size(), found);
  if (!erases)
    return usageError("--random-erase needs an input of pictures, floats in 1 "
                      "or 3 channels: {}",
                      found);
  return {};
}

// Only f32 inputs are mixed: pictures, other numbers, class probabilities.
Status Dataset::checkMix() const {
  if (!options_.mixes())
    return {};
  const char *flag = options_.mixup > 0 ? "--mixup" : "--cutmix";
  for (const Column &column : columns_) {
    const InputSpec &spec = column.spec_;
    if (spec.isLabel && !isFloat(spec.dtype))
      return usageError("{} mixes labels, but '{}' takes classes ({}): compile "
                        "the model with --soft-labels, which --loss="
                        "cross_entropy and --loss=dice have",
                        flag, spec.key, describe(spec.dtype, spec.shape));
    if (!spec.isShared && spec.dtype != DType::F32)
      return usageError("{} mixes samples of f32, but '{}' takes {}", flag,
                        spec.key, describe(spec.dtype, spec.shape));
    if (options_.cutmix > 0 && !spec.isLabel && !spec.isShared &&
        !column.layout())
      return usageError("--cutmix needs inputs of pictures, in 1 or 3 "
                        "channels, but '{}' takes {}",
                        spec.key, describe(spec.dtype, spec.shape));
  }
  return {};
}

void Dataset::setWorkers(int workers, int ranks) {
  const int cores = source_->isSlow() ? coresOfProcess() / ranks : 1;
  workers_ = std::max(1, workers > 0 ? workers : cores);
}

Result<Dataset> Dataset::open(std::shared_ptr<const Source> source,
                              const std::vector<InputSpec> &inputs,
                              int64_t batch, const SampleOptions &options) {
  const std::string name = source->name();
  Dataset dataset;
  dataset.source_ = std::move(source);
  dataset.options_ = options;
  for (const InputSpec &spec : inputs) {
    if (spec.isWeight)
      continue;
    DLC_ASSIGN(const Array head, dataset.source_->head(spec.key));
    DLC_TRY(check(head, spec, batch, options)
                .withContext("'{}': '{}'", name, spec.key));
  }
  for (const InputSpec &spec : inputs)
    DLC_TRY(
        dataset.bind(spec, batch).withContext("'{}': '{}'", name, spec.key));
  DLC_TRY(dataset.checkFinish());
  DLC_TRY(dataset.checkMix());
  DLC_TRY(mappedFilesStatus());
  if (std::ranges::all_of(inputs, [](const InputSpec &spec) {
        return spec.isShared || spec.isWeight;
      }))
    dataset.samples_ = 1;
  if (dataset.samples_ == 0)
    return failed("'{}' has no samples", name);
  dataset.setWorkers(0, 1);
  return dataset;
}

Finish::Finish(const SampleOptions &options,
               const std::vector<int64_t> &sample) {
  const auto channels = int64_t(options.mean.size());
  const auto counts = [&](const auto &at) { return at == channels; };
  const bool isOne = options.mean.size() == 1 && options.std.size() == 1;
  planar_ = sample.size() == 3 && counts(sample.front());
  if (isOne || planar_ || (!sample.empty() && counts(sample.back()))) {
    mean_.assign(options.mean.begin(), options.mean.end());
    std_.assign(options.std.begin(), options.std.end());
  }
  if (auto layout = layoutOf(sample); options.randomErase > 0 && layout) {
    erase_ = options.randomErase;
    layout_ = *layout;
  }
}

void Finish::normalize(std::span<float> values) const {
  const size_t count = mean_.size();
  const size_t plane = planar_ ? values.size() / count : 1;
  for (size_t at = 0, c = 0; at < values.size(); at += plane, ++c)
    for (size_t i = at; i < at + plane; ++i)
      values[i] = (values[i] - mean_[c % count]) / std_[c % count];
}

void Finish::apply(std::span<float> values, int64_t row,
                   const TrainingPass *pass) const {
  if (normalizes())
    normalize(values);
  if (!pass || !erases())
    return;
  SampleDraws draws(pass->seed, pass->epoch, row, uint32_t(DrawStream::Erase));
  if (draws.uniform(0, 1) >= erase_)
    return;
  const PictureSize size = layout_.size;
  const PictureBox box = drawErased(size, draws);
  layout_.eachRow(box, [&](ptrdiff_t at, int count) {
    std::fill_n(values.begin() + at, count, 0.0F);
  });
}

PictureBox drawErased(PictureSize size, SampleDraws &draws) {
  const double area = double(size.height) * size.width;
  for (int tries = 0; tries < 10; ++tries) {
    const double erased = area * draws.uniform(0.02, 0.33);
    const double aspect = std::exp(draws.uniform(std::log(0.3), std::log(3.3)));
    const int height = int(std::nearbyint(std::sqrt(erased * aspect)));
    const int width = int(std::nearbyint(std::sqrt(erased / aspect)));
    if (height >= size.height || width >= size.width)
      continue;
    const int top = draws.below(size.height - height + 1);
    return {top, draws.below(size.width - width + 1), height, width};
  }
  return {};
}

} // namespace dlc
