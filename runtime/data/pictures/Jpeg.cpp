// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/pictures/Bounds.h"
#include "runtime/data/pictures/Codecs.h"

#include <csetjmp>
#include <cstdio>

#include <jpeglib.h>

#include <jerror.h>

namespace dlc {
namespace {

struct JpegErrors {
  jpeg_error_mgr base;
  jpeg_progress_mgr progress;
  jmp_buf jump;
  char message[JMSG_LENGTH_MAX];
  int64_t fileBytes = 0;
};

JpegErrors &errorsOf(j_common_ptr info) {
  return *reinterpret_cast<JpegErrors *>(info->err);
}

[[noreturn]] void giveUp(j_common_ptr info) {
  JpegErrors &errors = errorsOf(info);
  (*info->err->format_message)(info, errors.message);
  longjmp(errors.jump, 1);
}

// libjpeg continues with grey after a warning, so warnings are errors.
void onMessage(j_common_ptr info, int level) {
  const int code = info->err->msg_code;
  if (level < 0 && (code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER))
    giveUp(info);
}

// Each scan of a progressive picture is a pass over all pixels.
bool hasTooManyScans(j_decompress_ptr info) {
  JpegErrors &errors = errorsOf(j_common_ptr(info));
  const Status status = checkScans(
      info->input_scan_number, int64_t(info->image_width) * info->image_height,
      errors.fileBytes);
  if (!status.ok())
    std::snprintf(errors.message, sizeof errors.message, "%s",
                  std::string(status.message()).c_str());
  return !status.ok();
}

void onProgress(j_common_ptr info) {
  if (info->is_decompressor && hasTooManyScans(j_decompress_ptr(info)))
    longjmp(errorsOf(info).jump, 1);
}

// Converts a row of CMYK to RGB; Adobe's programs write it inverted.
void fromCmyk(const uint8_t *inks, size_t pixels, bool inverted, uint8_t *rgb) {
  for (size_t i = 0; i < pixels; ++i) {
    const auto paper = [&](size_t ink) -> unsigned {
      const uint8_t value = inks[i * 4 + ink];
      return inverted ? value : 255u - value;
    };
    for (size_t c = 0; c < 3; ++c)
      rgb[i * 3 + c] = uint8_t((paper(c) * paper(3) + 127) / 255);
  }
}

// No object with a destructor may be in scope when longjmp is called.
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
    errors.fileBytes = int64_t(file.size());
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

  // Reads rows of a CMYK picture through the buffer `inks`.
  bool readRows(RowReducer &to, unsigned char *inks) {
    if (setjmp(errors.jump))
      return false;
    while (info.output_scanline < info.output_height) {
      JSAMPROW row = inks ? inks : to.row();
      jpeg_read_scanlines(&info, &row, 1);
      if (inks)
        fromCmyk(inks, info.output_width, info.saw_Adobe_marker, to.row());
      to.endRow();
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

// Denominator of the smallest scale that is at least `least`.
unsigned scaleFor(const jpeg_decompress_struct &info, PictureSize least) {
  unsigned scale = 1;
  if (least.width > 0)
    while (scale < 8 && int(info.image_width) / int(scale * 2) >= least.width &&
           int(info.image_height) / int(scale * 2) >= least.height)
      scale *= 2;
  return scale;
}

// Memory of libjpeg: the coefficients of a picture with several scans.
int64_t coefficientBytes(jpeg_decompress_struct &info) {
  if (!jpeg_has_multiple_scans(&info))
    return 0;
  int64_t bytes = 0;
  for (int i = 0; i < info.num_components; ++i) {
    const jpeg_component_info &component = info.comp_info[i];
    bytes += int64_t(component.width_in_blocks) * component.height_in_blocks *
             int64_t(sizeof(JBLOCK));
  }
  return bytes;
}

} // namespace

Result<PictureSize> sizeOfJpeg(std::span<const std::byte> file) {
  JpegReader reader;
  const jpeg_decompress_struct &info = reader.info;
  if (!reader.readHeader(file))
    return reader.error();
  DLC_TRY(checkPixels(info.image_width, info.image_height));
  return turned({int(info.image_height), int(info.image_width)},
                orientationOf(info));
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
  jpeg_calc_output_dimensions(&info);
  const PictureSize size{int(info.output_height), int(info.output_width)};
  const int reduction = reductionOf(size, turned(least, orientation));
  const int64_t result =
      int64_t(size.width) * size.height * 3 / reduction / reduction;
  DLC_ASSIGN(const DecoderBytes bytes,
             DecoderBytes::take(coefficientBytes(info) + result));
  if (!reader.start())
    return reader.error();
  Picture picture;
  RowReducer reducer(size, reduction, picture);
  std::vector<uint8_t> inks(isCmyk ? size_t(size.width) * 4 : 0);
  if (!reader.readRows(reducer, isCmyk ? inks.data() : nullptr))
    return reader.error();
  return upright(std::move(picture), orientation);
}

} // namespace dlc
