// SPDX-License-Identifier: Apache-2.0
// Arrays of Python as dlc's tensors, and back.
#pragma once

#include <dlc/dlc.hpp>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <string>
#include <vector>

namespace dlc::python {

// What gave an array, alive as long as this: nothing is copied.
using Lender = nanobind::ndarray<nanobind::ro>;

// Anything that speaks DLPack or the buffer protocol: NumPy's, torch's, JAX's
// arrays in the host's memory. Code DLC_USAGE, by name, for what dlc cannot
// read where it is: not row by row without gaps, on a GPU, of another dtype.
Tensor tensorOf(const std::string &name, nanobind::handle array,
                std::vector<Lender> &lenders);

// A new array of NumPy with the tensor's bytes; of bf16, which NumPy lacks, an
// object that torch and JAX take (`from_dlpack`).
nanobind::object arrayOf(const Tensor &tensor);
// The same without values yet, and where they go.
nanobind::object newArray(dlc_dtype dtype, const std::vector<int64_t> &shape,
                          void *&bytes);

// "float32".
const char *nameOf(dlc_dtype dtype);
dlc_dtype typeNamed(const std::string &name);

// [(name, dtype, shape)].
nanobind::list describe(const std::vector<Tensor> &tensors);

} // namespace dlc::python
