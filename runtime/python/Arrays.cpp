// SPDX-License-Identifier: Apache-2.0
#include "runtime/python/Arrays.h"

#include <nanobind/stl/string.h>

#include <cstring>

namespace nb = nanobind;

namespace dlc::python {
namespace {

using Code = nb::dlpack::dtype_code;

struct TypeRow {
  dlc_dtype type;
  Code code;
  uint8_t bits;
  const char *name;
};
constexpr TypeRow kTypes[] = {
    {DLC_F32, Code::Float, 32, "float32"},
    {DLC_F16, Code::Float, 16, "float16"},
    {DLC_BF16, Code::Bfloat, 16, "bfloat16"},
    {DLC_F64, Code::Float, 64, "float64"},
    {DLC_I64, Code::Int, 64, "int64"},
    {DLC_I32, Code::Int, 32, "int32"},
    {DLC_U8, Code::UInt, 8, "uint8"},
    {DLC_BOOL, Code::Bool, 8, "bool"},
};

const TypeRow &rowOf(dlc_dtype type) {
  for (const TypeRow &row : kTypes)
    if (row.type == type)
      return row;
  throw Error(DLC_FAILED, "a tensor of no known dtype");
}

std::string textOf(nb::handle object, const char *attribute) {
  return nb::str(nb::getattr(object, attribute, nb::str("?"))).c_str();
}

dlc_dtype typeOf(const std::string &name, nb::handle array,
                 const nb::dlpack::dtype &found) {
  for (const TypeRow &row : kTypes)
    if (found == nb::dlpack::dtype{static_cast<uint8_t>(row.code), row.bits, 1})
      return row.type;
  throw Error(DLC_USAGE, "array '" + name + "' has dtype " +
                             textOf(array, "dtype") +
                             ", which dlc does not support: convert it");
}

// Row-major and contiguous.
bool isDense(const Lender &array) {
  int64_t expected = 1;
  if (array.size() == 0)
    return true;
  for (size_t i = array.ndim(); i-- > 0;) {
    const auto extent = static_cast<int64_t>(array.shape(i));
    if (extent != 1 && array.stride(i) != expected)
      return false;
    expected *= extent;
  }
  return true;
}

void deleteBytes(void *bytes) noexcept {
  delete[] static_cast<std::byte *>(bytes);
}

} // namespace

const char *nameOf(dlc_dtype dtype) { return rowOf(dtype).name; }

dlc_dtype typeNamed(const std::string &name) {
  for (const TypeRow &row : kTypes)
    if (name == row.name)
      return row.type;
  throw Error(DLC_USAGE, "no dtype '" + name + "'");
}

Tensor tensorOf(const std::string &name, nb::handle array,
                std::vector<Lender> &lenders) {
  Lender lender;
  if (!nb::try_cast<Lender>(array, lender, false)) {
    // NumPy does not distinguish extension dtypes of other packages.
    throw Error(DLC_USAGE,
                "'" + name + "' is no array that can be read: found " +
                    std::string(nb::type_name(array.type()).c_str()) +
                    ", expected one with __dlpack__ or a buffer");
  }
  if (lender.device_type() != nb::device::cpu::value)
    throw Error(DLC_USAGE, "array '" + name + "' is on the device " +
                               textOf(array, "device") +
                               ": dlc takes it in the host's memory, as by "
                               ".cpu()");
  if (!isDense(lender))
    throw Error(DLC_USAGE, "array '" + name +
                               "' has gaps or another order than row by row: "
                               "give numpy.ascontiguousarray(x), or "
                               "x.contiguous() of torch");
  const dlc_dtype type = typeOf(name, array, lender.dtype());
  std::vector<int64_t> shape(lender.shape_ptr(),
                             lender.shape_ptr() + lender.ndim());
  const void *data = lender.data();
  lenders.push_back(std::move(lender));
  return Tensor(name, type, std::move(shape), data);
}

nb::object newArray(dlc_dtype dtype, const std::vector<int64_t> &shape,
                    void *&bytes) {
  const TypeRow &row = rowOf(dtype);
  const Tensor whole("", dtype, shape);
  auto *made = new std::byte[whole.bytes + 1]; // never null
  const nb::capsule owner(made, deleteBytes);
  bytes = made;
  const std::vector<size_t> sizes(shape.begin(), shape.end());
  const nb::dlpack::dtype type{static_cast<uint8_t>(row.code), row.bits, 1};
  if (dtype == DLC_BF16)
    return nb::cast(
        nb::ndarray<>(made, sizes.size(), sizes.data(), owner, nullptr, type));
  return nb::cast(nb::ndarray<nb::numpy>(made, sizes.size(), sizes.data(),
                                         owner, nullptr, type));
}

nb::object arrayOf(const Tensor &tensor) {
  void *bytes = nullptr;
  nb::object made = newArray(tensor.dtype, tensor.shape, bytes);
  if (tensor.bytes > 0)
    std::memcpy(bytes, tensor.data, tensor.bytes);
  return made;
}

nb::list describe(const std::vector<Tensor> &tensors) {
  nb::list list;
  for (const Tensor &tensor : tensors) {
    nb::list sizes;
    for (const int64_t size : tensor.shape)
      sizes.append(size);
    list.append(
        nb::make_tuple(tensor.name, nameOf(tensor.dtype), nb::tuple(sizes)));
  }
  return list;
}

} // namespace dlc::python
