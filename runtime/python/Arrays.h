// SPDX-License-Identifier: Apache-2.0
// Converts between Python arrays and dlc's tensors.
#pragma once

#include <dlc/dlc.hpp>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <string>
#include <vector>

namespace dlc::python {

// Keeps the owner of an array's memory alive; nothing is copied.
using Lender = nanobind::ndarray<nanobind::ro>;

// Accepts all objects with DLPack or the buffer protocol: arrays of NumPy,
// torch and JAX in host memory. Code DLC_USAGE, with the name, for arrays that
// are not row-major and contiguous, on a GPU, or of an unsupported dtype.
Tensor tensorOf(const std::string &name, nanobind::handle array,
                std::vector<Lender> &lenders);

// Copies the tensor to a new NumPy array; bf16, which NumPy lacks, to an object
// for torch and JAX (`from_dlpack`).
nanobind::object arrayOf(const Tensor &tensor);
// The same without values; `bytes` is set to its memory.
nanobind::object newArray(dlc_dtype dtype, const std::vector<int64_t> &shape,
                          void *&bytes);

// "float32".
const char *nameOf(dlc_dtype dtype);
dlc_dtype typeNamed(const std::string &name);

// [(name, dtype, shape)].
nanobind::list describe(const std::vector<Tensor> &tensors);

} // namespace dlc::python
