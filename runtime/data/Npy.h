// SPDX-License-Identifier: Apache-2.0
// numpy's .npy (an array) and .npz (a zip of arrays).
#pragma once

#include "runtime/base/numbers/DType.h"
#include "runtime/data/Zip.h"

#include <string>
#include <vector>

namespace dlc {

// A row-major array. Copies share the bytes, which may be unaligned.
struct Array {
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  SharedBytes content;

  const std::byte *data() const { return content.bytes.data(); }
  int64_t rows() const { return shape.empty() ? 0 : shape[0]; }
};

// "f32 [64, 1, 28, 28]"
std::string describe(DType dtype, const std::vector<int64_t> &shape);

// Shape of a row; empty for a scalar.
std::vector<int64_t> sampleShape(const std::vector<int64_t> &shape);

// Parses a .npy file: little-endian bool, u8, i32, i64, f16, f32, f64. i8, i16
// and u16 are converted to i32, u32 to i64, and column-major arrays (pandas'
// to_numpy()) to row-major, in a copy. Errors name any other type.
Result<Array> parseNpy(const SharedBytes &content);

// A file of named arrays: a .npz, or a .npy as an array "x".
class ArrayFile {
public:
  static Result<ArrayFile> open(const std::string &path);

  const std::string &path() const { return path_; }
  std::vector<std::string> keys() const;
  bool has(const std::string &key) const;
  // Type and shape without content, so that they can be checked before anything
  // large is inflated. They match the content's size. Errors name file and key.
  Result<Array> head(const std::string &key) const;
  Result<Array> read(const std::string &key) const;

private:
  Result<Array> parse(const std::string &key, const SharedBytes &bytes,
                      uint64_t size) const;

  std::string path_;
  std::optional<ZipFile> zip_;
  std::optional<Array> single_;
};

struct NamedArray {
  std::string key;
  DType dtype;
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;
};

// Converts numpy's i1, i2, u2 and u4, or safetensors' I8, I16, U16 and U32: u4
// to i64, the others to i32.
Result<SharedBytes> widened(std::string_view type, const SharedBytes &from);

// Replaces `path` atomically. BF16 is written as f32.
Status writeNpz(const std::string &path, const std::vector<NamedArray> &arrays);

} // namespace dlc
