// SPDX-License-Identifier: Apache-2.0
// Data sets of Python: files, arrays without a copy, rows on demand.
#pragma once

#include "runtime/python/Arrays.h"
#include "runtime/python/Calls.h"

#include <mutex>

namespace dlc::python {

// Rows that a Python function returns.
class RowsOfPython final : public Source {
public:
  // `read(column, sample)` returns an array. Made and ended with the GIL.
  RowsOfPython(int64_t samples, std::vector<Tensor> columns,
               nanobind::object read, std::string identity);
  ~RowsOfPython() override;

  std::string name() const override { return "rows of Python"; }
  std::string identity() const override { return identity_; }
  int64_t samples() const override { return samples_; }
  std::vector<Tensor> columns() const override { return columns_; }
  void read(size_t column, int64_t sample, void *to) const override;

  // Raises the first exception of the function, if any.
  void rethrow() const;

private:
  void copy(size_t column, int64_t sample, void *to) const;

  const int64_t samples_;
  const std::vector<Tensor> columns_;
  nanobind::object read_;
  const std::string identity_;
  mutable std::mutex mutex_;
  mutable std::exception_ptr thrown_;
};

struct Samples {
  Dataset dataset;
  std::shared_ptr<const RowsOfPython> rows = {};

  // Returns call()'s result; if the function of rows raised, raises this
  // exception instead of dlc's error.
  template <class F> decltype(auto) during(F &&call) const {
    try {
      return call();
    } catch (const Error &) {
      if (rows)
        rows->rethrow();
      throw;
    }
  }
};

void bindSamples(nanobind::module_ &module);

} // namespace dlc::python
