// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/pictures/Bounds.h"
#include "runtime/data/pictures/Codecs.h"

#include <csetjmp>
#include <cstdio>
#include <cstring>

#include <png.h>

namespace dlc {
namespace {

// In the file's pixel format, since a small file can inflate to any size.
constexpr int64_t kMaxInflated = 400 << 20;

// No object with a destructor may be in scope when longjmp is called.
struct PngReader {
  png_structp png = nullptr;
  png_infop info = nullptr;
  std::span<const std::byte> file;
  size_t at = 0;
  char message[200] = "no memory";

  explicit PngReader(std::span<const std::byte> bytes) : file(bytes) {
    png = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, onError,
                                 [](png_structp, png_const_charp) {});
    info = png ? png_create_info_struct(png) : nullptr;
  }
  PngReader(const PngReader &) = delete;
  ~PngReader() { png_destroy_read_struct(&png, &info, nullptr); }

  [[noreturn]] static void onError(png_structp png, png_const_charp text) {
    auto *self = static_cast<PngReader *>(png_get_error_ptr(png));
    std::snprintf(self->message, sizeof self->message, "%s", text);
    png_longjmp(png, 1);
  }
  static void onRead(png_structp png, png_bytep to, size_t size) {
    auto *self = static_cast<PngReader *>(png_get_io_ptr(png));
    if (size > self->file.size() - self->at)
      png_error(png, "it ends too soon");
    std::memcpy(to, self->file.data() + self->at, size);
    self->at += size;
  }

  bool readHeader() {
    if (!info || setjmp(png_jmpbuf(png)))
      return false;
    png_set_read_fn(png, this, onRead);
    png_set_user_limits(png, 1 << 30, 1 << 30); // the product is checked
    png_set_chunk_malloc_max(png, 8 << 20);
    png_set_chunk_cache_max(png, 64);
    png_read_info(png, info);
    return true;
  }

  bool isInterlaced() const {
    return png_get_interlace_type(png, info) != PNG_INTERLACE_NONE;
  }

  // Converts all formats to 8-bit RGB.
  void toRgb() {
    png_set_expand(png);
    png_set_strip_16(png);
    png_set_gray_to_rgb(png);
    png_set_strip_alpha(png);
    png_set_interlace_handling(png);
    png_read_update_info(png, info);
    if (png_get_rowbytes(png, info) !=
        size_t(png_get_image_width(png, info)) * 3)
      png_error(png, "its pixels are of no known kind");
  }

  bool readRows(RowReducer &to) {
    if (setjmp(png_jmpbuf(png)))
      return false;
    toRgb();
    for (uint32_t y = 0; y < png_get_image_height(png, info); ++y) {
      png_read_row(png, to.row(), nullptr);
      to.endRow();
    }
    png_read_end(png, nullptr);
    return true;
  }

  // Reads the seven passes of an interlaced picture.
  bool readPasses(png_bytep *rows) {
    if (setjmp(png_jmpbuf(png)))
      return false;
    toRgb();
    png_read_image(png, rows);
    png_read_end(png, nullptr);
    return true;
  }

  Status error() const { return failed("damaged PNG: {}", message); }
};

Result<PictureSize> headerOf(PngReader &reader) {
  if (!reader.readHeader())
    return reader.error();
  const auto width = png_get_image_width(reader.png, reader.info);
  const auto height = png_get_image_height(reader.png, reader.info);
  DLC_TRY(checkPixels(width, height));
  return PictureSize{int(height), int(width)};
}

} // namespace

Result<PictureSize> sizeOfPng(std::span<const std::byte> file) {
  PngReader reader(file);
  return headerOf(reader);
}

Result<Picture> decodePng(std::span<const std::byte> file, PictureSize least) {
  PngReader reader(file);
  DLC_ASSIGN(const PictureSize size, headerOf(reader));
  const auto inflated =
      int64_t(png_get_rowbytes(reader.png, reader.info)) * size.height;
  if (inflated > kMaxInflated)
    return failed("its pixels take {} bytes, expected at most {}", inflated,
                  kMaxInflated);
  const int reduction = reductionOf(size, least);
  const bool isInterlaced = reader.isInterlaced();
  const int64_t all = int64_t(size.width) * size.height * 3;
  DLC_ASSIGN(const DecoderBytes bytes,
             DecoderBytes::take((isInterlaced ? all : 0) +
                                all / reduction / reduction));
  Picture picture;
  RowReducer reducer(size, reduction, picture);
  if (!isInterlaced)
    return reader.readRows(reducer) ? Result<Picture>(std::move(picture))
                                    : reader.error();
  std::vector<uint8_t> rgb(static_cast<size_t>(all));
  std::vector<png_bytep> rows(size_t(size.height));
  const size_t stride = size_t(size.width) * 3;
  for (size_t y = 0; y < rows.size(); ++y)
    rows[y] = rgb.data() + y * stride;
  if (!reader.readPasses(rows.data()))
    return reader.error();
  for (png_bytep row : rows) {
    std::memcpy(reducer.row(), row, stride);
    reducer.endRow();
  }
  return picture;
}

} // namespace dlc
