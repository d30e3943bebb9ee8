// SPDX-License-Identifier: Apache-2.0
// numpy's files: .npy, one array, and .npz, a zip of them.
#pragma once

#include "runtime/base/numbers/DType.h"
#include "runtime/data/Zip.h"

#include <string>
#include <vector>

namespace dlc {

// A row-major array; copies share the bytes, which have no alignment.
struct Array {
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  SharedBytes content;

  const std::byte *data() const { return content.bytes.data(); }
  int64_t rows() const { return shape.empty() ? 0 : shape[0]; }
};

// "f32 [64, 1, 28, 28]"
std::string describe(DType dtype, const std::vector<int64_t> &shape);

// The shape of a row; of a scalar none.
std::vector<int64_t> sampleShape(const std::vector<int64_t> &shape);

// The content of a .npy file. Little-endian bool, u8, i32, i64, f16, f32, f64;
// i8, i16 and u16 become i32, u32 becomes i64; of those, and of an array in
// column-major order (pandas' to_numpy()), a copy is made. Others are refused
// by name.
Result<Array> parseNpy(const SharedBytes &content);

// A file of named arrays: a .npz, or a .npy whose array is called "x".
class ArrayFile {
public:
  static Result<ArrayFile> open(const std::string &path);

  const std::string &path() const { return path_; }
  std::vector<std::string> keys() const;
  bool has(const std::string &key) const;
  // Type and shape without content: so much is known before anything large is
  // inflated. The size of the content fits them. Errors name file and key.
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

// Integers of numpy's types i1, i2, u2 and u4, or safetensors' I8, I16, U16 and
// U32, as DType has them: i64 of u4, else i32.
Result<SharedBytes> widened(std::string_view type, const SharedBytes &from);

// Replaces `path` in one step. BF16 is written as f32.
Status writeNpz(const std::string &path, const std::vector<NamedArray> &arrays);

} // namespace dlc
