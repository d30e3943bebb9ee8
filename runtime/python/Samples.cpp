// SPDX-License-Identifier: Apache-2.0
#include "runtime/python/Samples.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstring>

namespace nb = nanobind;

namespace dlc::python {

RowsOfPython::RowsOfPython(int64_t samples, std::vector<Tensor> columns,
                           nb::object read, std::string identity)
    : samples_(samples), columns_(std::move(columns)), read_(std::move(read)),
      identity_(std::move(identity)) {}

RowsOfPython::~RowsOfPython() {
  const Gil gil;
  read_.reset();
}

void RowsOfPython::read(size_t column, int64_t sample, void *to) const {
  const Gil gil;
  try {
    copy(column, sample, to);
  } catch (...) {
    const std::scoped_lock lock(mutex_);
    if (!thrown_)
      thrown_ = std::current_exception();
    throw;
  }
}

void RowsOfPython::copy(size_t column, int64_t sample, void *to) const {
  const Tensor &expected = columns_[column];
  std::vector<Lender> lenders;
  const Tensor found =
      tensorOf(expected.name, read_(expected.name, sample), lenders);
  if (found.dtype != expected.dtype || found.shape != expected.shape)
    throw Error(DLC_USAGE, "column '" + expected.name + "' of sample " +
                               std::to_string(sample) +
                               " has another dtype or shape than the first");
  std::memcpy(to, found.data, found.bytes);
}

void RowsOfPython::rethrow() const {
  const std::scoped_lock lock(mutex_);
  if (thrown_)
    std::rethrow_exception(thrown_);
}

namespace {

using Arrays = std::vector<std::pair<std::string, nb::object>>;
using Columns =
    std::vector<std::tuple<std::string, std::string, std::vector<int64_t>>>;

Samples *ofArrays(const Arrays &arrays) {
  auto lenders = std::make_unique<std::vector<Lender>>();
  std::vector<Tensor> tensors;
  for (const auto &[name, array] : arrays)
    tensors.push_back(tensorOf(name, array, *lenders));
  // Released on whichever thread reads them last.
  const std::shared_ptr<const void> owner(
      lenders.release(), [](const void *kept) {
        const Gil gil;
        delete static_cast<const std::vector<Lender> *>(kept);
      });
  return new Samples{Dataset::view(tensors, owner)};
}

Samples *ofRows(int64_t samples, const Columns &columns, nb::object read,
                std::string identity) {
  std::vector<Tensor> tensors;
  for (const auto &[name, dtype, shape] : columns)
    tensors.emplace_back(name, typeNamed(dtype), shape);
  const auto rows = std::make_shared<const RowsOfPython>(
      samples, std::move(tensors), std::move(read), std::move(identity));
  return new Samples{Dataset::of(rows), rows};
}

} // namespace

void bindSamples(nb::module_ &module) {
  nb::class_<Samples>(module, "Dataset")
      .def_static(
          "open",
          [](const std::string &path, const Options &options) {
            return released(
                [&] { return new Samples{Dataset::open(path, options)}; });
          },
          nb::arg("path"), nb::arg("options"))
      .def_static("arrays", ofArrays, nb::arg("arrays"))
      .def_static("rows", ofRows, nb::arg("samples"), nb::arg("columns"),
                  nb::arg("read"), nb::arg("identity"));
}

} // namespace dlc::python
