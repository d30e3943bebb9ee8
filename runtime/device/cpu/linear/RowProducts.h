// SPDX-License-Identifier: Apache-2.0
// Products of rows that are only known when the step runs: the rows are
// gathered and multiplied by oneDNN, with a primitive for each of a few numbers
// of rows, padded with zeros. Each object is used by one thread.
#pragma once

#include "runtime/device/cpu/Onednn.h"
#include "runtime/device/cpu/kernels/HalfLoops.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

namespace dlc {

// Rows of one product.
constexpr int64_t kFewestRows = 8, kMostRows = 256;

// Rounds up to whole cache lines.
constexpr int64_t toLines(int64_t bytes) { return (bytes + 63) / 64 * 64; }

// Gathers rows, or `columns` of their elements, in the type that oneDNN
// computes in: f32 for 16-bit types that it does not support.
class RowBuffer {
public:
  RowBuffer(plan::DType type, int64_t whole, int64_t columns)
      : type_(type), columns_(columns),
        isWide_(type != plan::F32 &&
                onednnType(type) == dnnl::memory::data_type::f32),
        stored_(whole * elementSize(type)),
        row_(columns * (isWide_ ? 4 : elementSize(type))) {}

  bool isWide() const { return isWide_; }
  int64_t bytes(int64_t rows) const { return toLines(rows * row_); }

  // Copies rows `rows` of `from`, followed by zeros up to `count` rows.
  void take(const std::byte *from, std::span<const int64_t> rows, int64_t count,
            std::byte *buffer) const {
    for (const int64_t row : rows) {
      read(from + row * stored_, buffer);
      buffer += row_;
    }
    std::memset(buffer, 0, size_t((count - int64_t(rows.size())) * row_));
  }
  // Copies the rows back.
  void put(const std::byte *buffer, std::span<const int64_t> rows,
           std::byte *to) const {
    for (const int64_t row : rows) {
      write(buffer, to + row * stored_);
      buffer += row_;
    }
  }

private:
  template <class F> void asHalf(F &&f) const {
    type_ == plan::F16 ? f(F16{}) : f(Bf16{});
  }
  void read(const std::byte *from, std::byte *to) const {
    if (!isWide_)
      std::memcpy(to, from, size_t(row_));
    else
      asHalf([&]<class T>(T) {
        widen(reinterpret_cast<const T *>(from), reinterpret_cast<float *>(to),
              0, columns_);
      });
  }
  void write(const std::byte *from, std::byte *to) const {
    if (!isWide_)
      std::memcpy(to, from, size_t(row_));
    else
      asHalf([&]<class T>(T) {
        narrow(reinterpret_cast<const float *>(from), reinterpret_cast<T *>(to),
               0, columns_);
      });
  }

  plan::DType type_;
  int64_t columns_;
  bool isWide_;
  int64_t stored_, row_; // bytes
};

// A oneDNN product for each number of rows, for one thread.
class RowProducts {
public:
  struct Operands {
    dnnl::memory::desc source, weights, result;
  };
  // Whether the product `adds` to the result instead of replacing it.
  template <class F> RowProducts(int64_t most, bool adds, F operandsOf) {
    for (int64_t rows = kFewestRows;; rows *= 2) {
      const Operands o = operandsOf(rows);
      dnnl::primitive_attr attributes = onednnAttributes();
      if (adds) {
        dnnl::post_ops sum;
        sum.append_sum();
        attributes.set_post_ops(sum);
      }
      const dnnl::matmul::primitive_desc desc(onednnEngine(), o.source,
                                              o.weights, o.result, attributes);
      sizes_.push_back({rows, dnnl::matmul(desc), memoryOf(o.source),
                        memoryOf(o.weights), memoryOf(o.result),
                        memoryOf(desc.scratchpad_desc()),
                        desc.scratchpad_desc().get_size()});
      if (rows >= std::min(most, kMostRows))
        break;
    }
  }
  int64_t most() const { return sizes_.back().rows; }
  int64_t scratchBytes() const {
    size_t bytes = 0;
    for (const Size &size : sizes_)
      bytes = std::max(bytes, size.scratchBytes);
    return toLines(int64_t(bytes));
  }
  // Number of rows of the next product if `left` rows are left: at most a
  // quarter of them is padding, except for the smallest product.
  int64_t rowsOf(int64_t left) const {
    for (const Size &size : sizes_)
      if (size.rows >= left)
        return size.rows == kFewestRows || size.rows <= left + size.rows / 4
                   ? size.rows
                   : size.rows / 2;
    return most();
  }
  Status run(int64_t rows, const std::byte *source, const std::byte *weights,
             std::byte *result, std::byte *scratch) {
    auto &size = *std::find_if(sizes_.begin(), sizes_.end(),
                               [&](const Size &s) { return s.rows == rows; });
    std::array<dnnl_exec_arg_t, 4> arguments;
    int count = 0;
    const auto pass = [&](int index, dnnl::memory &m, const std::byte *data) {
      m.set_data_handle(const_cast<std::byte *>(data));
      arguments[size_t(count++)] = {index, m.get()};
    };
    pass(DNNL_ARG_SRC, size.source, source);
    pass(DNNL_ARG_WEIGHTS, size.weights, weights);
    pass(DNNL_ARG_DST, size.result, result);
    if (size.scratchBytes)
      pass(DNNL_ARG_SCRATCHPAD, size.scratch, scratch);
    const FatalAllocations fatal;
    const dnnl_status_t status = dnnl_primitive_execute(
        size.product.get(), onednnStream().get(), count, arguments.data());
    if (status != dnnl_success)
      return failed("oneDNN reports {}", dnnl_status2str(status));
    return {};
  }

private:
  struct Size {
    int64_t rows;
    dnnl::matmul product;
    dnnl::memory source, weights, result, scratch;
    size_t scratchBytes; // cached, as querying the memory allocates
  };
  static dnnl::memory memoryOf(const dnnl::memory::desc &desc) {
    return dnnl::memory(desc, onednnEngine(), nullptr);
  }
  std::vector<Size> sizes_;
};

// A row-major matrix, or its transpose.
inline dnnl::memory::desc matrix(int64_t rows, int64_t columns, bool transposed,
                                 dnnl::memory::data_type type) {
  return {{rows, columns},
          type,
          transposed ? dnnl::memory::dims{1, rows}
                     : dnnl::memory::dims{columns, 1}};
}

} // namespace dlc
