// SPDX-License-Identifier: Apache-2.0
#include "tools/dlc/inspect/ShownSamples.h"

#include "runtime/data/Convert.h"

#include <new>
#include <openssl/evp.h>
#include <png.h>

namespace dlc {

Result<ShownSamples> ShownSamples::open(const Source &source,
                                        const std::string &key) {
  ShownSamples shown;
  DLC_ASSIGN(const Array head, source.head(key));
  const auto layout = layoutOf({head.shape.begin() + 1, head.shape.end()});
  if (head.dtype != DType::U8 || !layout)
    return usageError("'{}' of '{}' is {}, expected pictures: u8 [N, 3, H, W], "
                      "or a folder of them",
                      key, source.name(), describe(head.dtype, head.shape));
  shown.count_ = head.rows();
  shown.layout_ = *layout;
  DLC_ASSIGN(shown.pixels_, source.rows(key));
  if (source.has("y")) {
    DLC_ASSIGN(const Array y, source.head("y"));
    shown.type_ = y.dtype;
    if (y.shape.size() == 1 && !isFloat(y.dtype)) {
      DLC_ASSIGN(shown.labels_, source.rows("y"));
    }
  }
  return shown;
}

Result<Picture> ShownSamples::picture(int64_t row,
                                      const TrainingPass *pass) const {
  std::vector<std::byte> room(layout_.bytes());
  DLC_TRY(pixels_->read(row, pass, room.data()));
  return imageOf(room.data(), layout_);
}

Result<std::optional<int64_t>>
ShownSamples::label(int64_t row, const TrainingPass *pass) const {
  if (!labels_)
    return std::optional<int64_t>();
  std::vector<std::byte> room(sizeOf(type_));
  DLC_TRY(labels_->read(row, pass, room.data()));
  return std::optional(integerAt(room.data(), type_, 0));
}

std::string nameOfClass(const std::vector<std::string> &names, int64_t number) {
  return number >= 0 && size_t(number) < names.size()
             ? names[size_t(number)]
             : fmt::format("class {}", number);
}
std::string encodePng(const Picture &picture) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  image.width = uint32_t(picture.width);
  image.height = uint32_t(picture.height);
  image.format = PNG_FORMAT_RGB;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::string file(size, '\0');
  if (!png_image_write_to_memory(&image, file.data(), &size, 0,
                                 picture.rgb.data(), 0, nullptr))
    throw std::bad_alloc();
  file.resize(size);
  return file;
}

std::string addressOf(const Picture &picture) {
  const std::string png = encodePng(picture);
  std::string text((png.size() + 2) / 3 * 4 + 1, '\0'); // ends in a zero
  text.resize(size_t(EVP_EncodeBlock(
      reinterpret_cast<uint8_t *>(text.data()),
      reinterpret_cast<const uint8_t *>(png.data()), int(png.size()))));
  return "data:image/png;base64," + text;
}

} // namespace dlc
