// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/pictures/Codecs.h"

#include <csetjmp>
#include <cstdio>

#include <jpeglib.h>

#include <jerror.h>

namespace dlc {
namespace {

constexpr int kMaxScans = 200; // progressive: each costs a pass over all

struct JpegErrors {
  jpeg_error_mgr base;
  jpeg_progress_mgr progress;
  jmp_buf jump;
  char message[JMSG_LENGTH_MAX];
};

JpegErrors &errorsOf(j_common_ptr info) {
  return *reinterpret_cast<JpegErrors *>(info->err);
}

[[noreturn]] void giveUp(j_common_ptr info) {
  JpegErrors &errors = errorsOf(info);
  (*info->err->format_message)(info, errors.message);
  longjmp(errors.jump, 1);
}

// A warning goes on with grey; so does nobody who trains on it knowingly.
void onMessage(j_common_ptr info, int level) {
  const int code = info->err->msg_code;
  if (level < 0 && (code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER))
    giveUp(info);
}

void onProgress(j_common_ptr info) {
  JpegErrors &errors = errorsOf(info);
  if (info->is_decompressor &&
      reinterpret_cast<j_decompress_ptr>(info)->input_scan_number > kMaxScans) {
    std::snprintf(errors.message, sizeof errors.message,
                  "has more than %d scans", kMaxScans);
    longjmp(errors.jump, 1);
  }
}

// Nothing with a destructor lives where longjmp passes.
struct JpegReader {
  jpeg_decompress_struct info;
  JpegErrors errors;

  JpegReader() {
    info.err = jpeg_std_error(&errors.base);
    errors.base.error_exit = giveUp;
    errors.base.emit_message = onMessage;
    errors.progress.progress_monitor = onProgress;
    errors.message[0] = 0;
    jpeg_create_decompress(&info);
    info.progress = &errors.progress;
  }
  JpegReader(const JpegReader &) = delete;
  ~JpegReader() { jpeg_destroy_decompress(&info); }

  bool readHeader(std::span<const std::byte> file) {
    if (setjmp(errors.jump))
      return false;
    jpeg_mem_src(&info, reinterpret_cast<const unsigned char *>(file.data()),
                 file.size());
    jpeg_save_markers(&info, JPEG_APP0 + 1, 0xffff);
    jpeg_read_header(&info, TRUE);
    return true;
  }

  bool start() {
    if (setjmp(errors.jump))
      return false;
    jpeg_start_decompress(&info);
    return true;
  }

  bool readRows(unsigned char *to, size_t stride) {
    if (setjmp(errors.jump))
      return false;
    while (info.output_scanline < info.output_height) {
      JSAMPROW row = to + info.output_scanline * stride;
      jpeg_read_scanlines(&info, &row, 1);
    }
    jpeg_finish_decompress(&info);
    return true;
  }

  Status error() const { return failed("damaged JPEG: {}", errors.message); }
};

int orientationOf(const jpeg_decompress_struct &info) {
  for (auto marker = info.marker_list; marker; marker = marker->next)
    if (marker->marker == JPEG_APP0 + 1)
      if (const int found =
              exifOrientation({marker->data, marker->data_length});
          found != 1)
        return found;
  return 1;
}

// Denominator of the smallest scale that leaves `least`.
unsigned scaleFor(const jpeg_decompress_struct &info, PictureSize least) {
  unsigned scale = 1;
  if (least.width > 0)
    while (scale < 8 && int(info.image_width) / int(scale * 2) >= least.width &&
           int(info.image_height) / int(scale * 2) >= least.height)
      scale *= 2;
  return scale;
}

// Four inks to RGB; Adobe's programs write them inverted.
void fromCmyk(const std::vector<uint8_t> &inks, bool inverted,
              std::vector<uint8_t> &rgb) {
  for (size_t i = 0, n = inks.size() / 4; i < n; ++i) {
    const auto paper = [&](size_t ink) -> unsigned {
      const uint8_t value = inks[i * 4 + ink];
      return inverted ? value : 255u - value;
    };
    for (size_t c = 0; c < 3; ++c)
      rgb[i * 3 + c] = uint8_t((paper(c) * paper(3) + 127) / 255);
  }
}

} // namespace

Result<JpegHeader> readJpegHeader(std::span<const std::byte> file) {
  JpegReader reader;
  if (!reader.readHeader(file))
    return reader.error();
  DLC_TRY(checkPixels(reader.info.image_width, reader.info.image_height));
  const int orientation = orientationOf(reader.info);
  return JpegHeader{
      turned({int(reader.info.image_height), int(reader.info.image_width)},
             orientation),
      orientation};
}

Result<Picture> decodeJpeg(std::span<const std::byte> file, PictureSize least) {
  JpegReader reader;
  jpeg_decompress_struct &info = reader.info;
  if (!reader.readHeader(file))
    return reader.error();
  DLC_TRY(checkPixels(info.image_width, info.image_height));
  const int orientation = orientationOf(info);
  const bool isCmyk = info.num_components == 4;
  info.out_color_space = isCmyk ? JCS_CMYK : JCS_RGB;
  info.scale_num = 1;
  info.scale_denom = scaleFor(info, turned(least, orientation));
  if (!reader.start())
    return reader.error();
  Picture picture{int(info.output_height), int(info.output_width), {}};
  const size_t pixels = size_t(picture.width) * size_t(picture.height);
  picture.rgb.resize(pixels * 3);
  std::vector<uint8_t> inks(isCmyk ? pixels * 4 : 0);
  if (!reader.readRows(isCmyk ? inks.data() : picture.rgb.data(),
                       size_t(picture.width) * (isCmyk ? 4 : 3)))
    return reader.error();
  if (isCmyk)
    fromCmyk(inks, info.saw_Adobe_marker, picture.rgb);
  return upright(std::move(picture), orientation);
}

} // namespace dlc
