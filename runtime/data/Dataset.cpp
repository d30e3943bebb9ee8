#include "runtime/data/Dataset.h"

#include "runtime/base/files/Mapping.h"
#include "runtime/base/numbers/Checked.h"
#include "runtime/base/process/Boundary.h"
#include "runtime/data/Convert.h"

#include <algorithm>

namespace dlc {
namespace {

std::vector<int64_t> sampleShape(const std::vector<int64_t> &shape) {
  return {shape.begin() + (shape.empty() ? 0 : 1), shape.end()};
}

std::string_view kindOf(const InputSpec &spec) {
  return spec.isLabel ? "label" : "value";
}

std::vector<int64_t> withoutOnes(std::vector<int64_t> shape) {
  std::erase(shape, 1);
  return shape;
}

/// Labels of several dimensions a sample may come flat, but not turned round.
Status checkLabelShape(const Array &array, const InputSpec &spec) {
  const auto found = withoutOnes(sampleShape(array.shape));
  const auto expected = withoutOnes(sampleShape(spec.shape));
  if (found.size() < 2 || expected.size() < 2 || found == expected)
    return {};
  return failed("labels of a sample have shape [{}], expected [{}]: the array "
                "is {}",
                fmt::join(sampleShape(array.shape), ", "),
                fmt::join(sampleShape(spec.shape), ", "),
                describe(array.dtype, array.shape));
}

Status checkShape(const Array &array, const InputSpec &spec, int64_t batch,
                  uint64_t &elements) {
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
      return failed("a sample has shape [{}], expected [{}]: the array is {}",
                    fmt::join(found, ", "), fmt::join(expected, ", "),
                    describe(array.dtype, array.shape));
    // No rows, and more in each than can be counted.
    if (!checkedElements(found))
      return failed("is too big: {}", describe(array.dtype, array.shape));
    elements = *checkedElements(found);
    return {};
  }
  DLC_TRY(checkLabelShape(array, spec));
  elements =
      checkedElements(spec.shape).value_or(0) / static_cast<uint64_t>(batch);
  const std::optional<uint64_t> count = checkedElements(found);
  if (count != elements)
    return failed("has {} labels a sample, expected {}{}: the array is {}",
                  count ? std::to_string(*count) : "too many", elements,
                  spec.shape.size() > 2
                      ? fmt::format(" of shape [{}]",
                                    fmt::join(sampleShape(spec.shape), ", "))
                      : "",
                  describe(array.dtype, array.shape));
  return {};
}

Status checkDType(const Array &array, const InputSpec &spec) {
  if (isFloat(array.dtype) && !isFloat(spec.dtype))
    return failed("has dtype {}, expected integers ({})", nameOf(array.dtype),
                  nameOf(spec.dtype));
  return {};
}

// What can be said of an array before its content is read.
Status check(const Array &array, const InputSpec &spec, int64_t batch) {
  uint64_t elements = 0;
  DLC_TRY(checkDType(array, spec));
  return checkShape(array, spec, batch, elements);
}

Status checkRange(const Array &array, const InputSpec &spec,
                  uint64_t elements) {
  if (isFloat(spec.dtype))
    return {};
  IntegerRange allowed = rangeOf(spec.dtype);
  if (spec.limit > 0)
    allowed = {0, std::min(allowed.last, spec.limit - 1)};
  const uint64_t rows = spec.isShared ? 1 : static_cast<uint64_t>(array.rows());
  std::optional<uint64_t> wrong =
      findOutside(array.data(), array.dtype, elements * rows, allowed);
  if (!wrong)
    return {};
  return failed("{} {} in row {} is out of range, expected {} to {}",
                kindOf(spec), integerAt(array.data(), array.dtype, *wrong),
                *wrong / std::max<uint64_t>(elements, 1), allowed.first,
                allowed.last);
}

// The factor from the file's numbers to the program's.
double scaleOf(const Array &array, const InputSpec &spec,
               std::optional<double> scale) {
  if (spec.isLabel || !isFloat(spec.dtype))
    return 1;
  return scale.value_or(array.dtype == DType::U8 ? 1.0 / 255 : 1.0);
}

} // namespace

void Column::copySample(int64_t row, std::byte *to) const {
  const uint64_t stride = elements_ * sizeOf(array_.dtype);
  const uint64_t from = spec_.isShared ? 0 : static_cast<uint64_t>(row);
  convert_(array_.data() + from * stride, to, elements_, scale_);
}

Status Dataset::bind(const Array &array, const InputSpec &spec, int64_t batch,
                     std::optional<double> scale) {
  Column column;
  DLC_TRY(checkDType(array, spec));
  DLC_TRY(checkShape(array, spec, batch, column.elements_));
  DLC_TRY(checkRange(array, spec, column.elements_));
  column.spec_ = spec;
  column.array_ = array;
  column.scale_ = scaleOf(array, spec, scale);
  column.convert_ = converter(array.dtype, spec.dtype, column.scale_ != 1);
  if (!spec.isShared) {
    auto first = std::find_if(columns_.begin(), columns_.end(),
                              [](auto &c) { return !c.spec_.isShared; });
    if (first != columns_.end() && samples_ != array.rows())
      return failed("has {} samples, but '{}' has {}", array.rows(),
                    first->spec_.key, samples_);
    samples_ = array.rows();
  }
  columns_.push_back(std::move(column));
  return {};
}

Result<Dataset> Dataset::open(const std::string &path,
                              const std::vector<InputSpec> &inputs,
                              int64_t batch, std::optional<double> scale) try {
  DLC_ASSIGN(ArrayFile file, ArrayFile::open(path));
  Dataset dataset;
  dataset.path_ = path;
  for (const InputSpec &spec : inputs) {
    DLC_ASSIGN(const Array head, file.head(spec.key));
    DLC_TRY(check(head, spec, batch)
                .withContext(fmt::format("'{}': '{}'", path, spec.key)));
  }
  for (const InputSpec &spec : inputs) {
    DLC_ASSIGN(Array array, file.read(spec.key));
    DLC_TRY(dataset.bind(array, spec, batch, scale)
                .withContext(fmt::format("'{}': '{}'", path, spec.key)));
  }
  DLC_TRY(mappedFilesStatus());
  if (std::all_of(inputs.begin(), inputs.end(),
                  [](const InputSpec &spec) { return spec.isShared; }))
    dataset.samples_ = 1;
  if (dataset.samples_ == 0)
    return failed("'{}' has no samples", path);
  return dataset;
} catch (...) {
  return caughtException(path);
}

} // namespace dlc
