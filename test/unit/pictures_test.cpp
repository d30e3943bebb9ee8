// SPDX-License-Identifier: Apache-2.0
// Pictures encoded by the libraries that dlc decodes with, and damaged by hand.
#include "runtime/base/files/Files.h"
#include "runtime/data/augment/Augment.h"
#include "runtime/data/pictures/Bounds.h"
#include "runtime/data/pictures/Codecs.h"
#include "runtime/data/pictures/Folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include <jpeglib.h>
#include <png.h>
#include <webp/encode.h>
#include <zlib.h>

#include <filesystem>

using namespace dlc;
using testing::HasSubstr;

namespace {

using Bytes = std::vector<uint8_t>;

std::span<const std::byte> spanOf(const Bytes &bytes) {
  return std::as_bytes(std::span(bytes));
}

// Smooth, and different in each corner.
Picture slope(int width, int height) {
  Picture picture{height, width, {}};
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (int value : {x * 255 / width, y * 255 / height, 128})
        picture.rgb.push_back(uint8_t(value));
  return picture;
}

// Of RGB, or of inks if `components` is 4.
Bytes jpegOf(const Bytes &pixels, int width, int height, int components,
             const Bytes &app1 = {}, bool isProgressive = false) {
  jpeg_compress_struct info;
  jpeg_error_mgr errors;
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char *data = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &data, &size);
  info.image_width = unsigned(width);
  info.image_height = unsigned(height);
  info.input_components = components;
  info.in_color_space = components == 4   ? JCS_CMYK
                        : components == 1 ? JCS_GRAYSCALE
                                          : JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, 98, TRUE);
  if (isProgressive)
    jpeg_simple_progression(&info);
  jpeg_start_compress(&info, TRUE);
  if (!app1.empty())
    jpeg_write_marker(&info, JPEG_APP0 + 1, app1.data(), unsigned(app1.size()));
  while (info.next_scanline < info.image_height) {
    JSAMPROW row = const_cast<unsigned char *>(pixels.data()) +
                   info.next_scanline * unsigned(width * components);
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  Bytes result(data, data + size);
  std::free(data);
  return result;
}

Bytes jpegOf(const Picture &picture, const Bytes &app1 = {}) {
  return jpegOf(picture.rgb, picture.width, picture.height, 3, app1);
}

Bytes pngOf(const Bytes &pixels, int width, int height, uint32_t format) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  image.width = unsigned(width);
  image.height = unsigned(height);
  image.format = format;
  png_alloc_size_t size = 0;
  png_image_write_to_memory(&image, nullptr, &size, 0, pixels.data(), 0,
                            nullptr);
  Bytes result(size);
  png_image_write_to_memory(&image, result.data(), &size, 0, pixels.data(), 0,
                            nullptr);
  result.resize(size);
  return result;
}

Bytes webpOf(const Picture &picture) {
  uint8_t *data = nullptr;
  const size_t size =
      WebPEncodeLosslessRGB(picture.rgb.data(), picture.width, picture.height,
                            picture.width * 3, &data);
  Bytes result(data, data + size);
  WebPFree(data);
  return result;
}

// EXIF in little-endian order, with one entry: the orientation.
Bytes exifOf(uint8_t orientation) {
  return {'E', 'x', 'i',         'f', 0, 0,    'I', 'I', 42, 0, 8,
          0,   0,   0,           1,   0, 0x12, 1,   3,   0,  1, 0,
          0,   0,   orientation, 0,   0, 0,    0,   0,   0,  0};
}

void expectNear(const Picture &found, const Picture &expected, int tolerance) {
  ASSERT_EQ(found.width, expected.width);
  ASSERT_EQ(found.height, expected.height);
  for (size_t i = 0; i < found.rgb.size(); ++i)
    ASSERT_NEAR(found.rgb[i], expected.rgb[i], tolerance) << "at " << i;
}

std::string errorOf(const Bytes &file) {
  return decodePicture(spanOf(file), {}).status().message();
}

// A PNG with a chunk behind its header.
Bytes withPngExif(Bytes file, const Bytes &exif) {
  Bytes chunk = {0, 0, 0, uint8_t(exif.size()), 'e', 'X', 'I', 'f'};
  chunk.insert(chunk.end(), exif.begin(), exif.end());
  const auto sum = uint32_t(
      ::crc32(0, chunk.data() + 4, static_cast<unsigned>(chunk.size() - 4)));
  for (int shift : {24, 16, 8, 0})
    chunk.push_back(uint8_t(sum >> shift));
  file.insert(file.begin() + 33, chunk.begin(), chunk.end());
  return file;
}

// A plain WebP of fewer than 256 pixels a side as an extended one with EXIF.
Bytes withWebpExif(const Bytes &file, const Picture &of, const Bytes &exif) {
  Bytes out(file.begin(), file.begin() + 12);
  const Bytes head = {'V', 'P', '8', 'X', 10, 0, 0, 0, 8, 0, 0, 0};
  out.insert(out.end(), head.begin(), head.end());
  for (int side : {of.width, of.height})
    out.insert(out.end(), {uint8_t(side - 1), 0, 0});
  out.insert(out.end(), file.begin() + 12, file.end());
  const Bytes last = {'E', 'X', 'I', 'F', uint8_t(exif.size()), 0, 0, 0};
  out.insert(out.end(), last.begin(), last.end());
  out.insert(out.end(), exif.begin(), exif.end());
  const size_t size = out.size() - 8;
  for (size_t i = 0; i < 4; ++i)
    out[4 + i] = uint8_t(size >> 8 * i);
  return out;
}

// Without a JPEG's head, as both have it, each pixel where the same turn puts
// it.
TEST(Pictures, PngAndWebpStandUpright) {
  const Picture camera = slope(13, 7);
  for (uint8_t o = 1; o <= 8; ++o) {
    Bytes exif = exifOf(o);
    exif.erase(exif.begin(), exif.begin() + 6);
    const Picture expected = upright(camera, o);
    for (const Bytes &file :
         {withPngExif(pngOf(camera.rgb, 13, 7, PNG_FORMAT_RGB), exif),
          withWebpExif(webpOf(camera), camera, exif)}) {
      const auto found = decodePicture(spanOf(file), {});
      ASSERT_TRUE(found.ok()) << found.status().message();
      ASSERT_EQ(found->width, o > 4 ? 7 : 13);
      EXPECT_EQ(found->rgb, expected.rgb) << int(o);
      EXPECT_EQ(sizeOfPicture(spanOf(file))->width, found->width);
    }
  }
}

// A chunk that claims more than there is, or ends with the file.
TEST(Pictures, ChunksOfExifThatEnd) {
  const Picture picture = slope(13, 7);
  const Bytes png = withPngExif(pngOf(picture.rgb, 13, 7, PNG_FORMAT_RGB),
                                exifOf(6)),
              webp = withWebpExif(webpOf(picture), picture, exifOf(6));
  EXPECT_EQ(orientationOfPng(spanOf(png)), 6);
  EXPECT_EQ(orientationOfWebp(spanOf(webp)), 6);
  for (size_t size = 0; size < 33 + 8 + 24; ++size)
    EXPECT_EQ(orientationOfPng(spanOf(png).first(size)), 1);
  for (size_t size = 0; size + 8 < webp.size(); ++size)
    EXPECT_EQ(orientationOfWebp(spanOf(webp).first(size)), 1);
}

TEST(Pictures, PngAndWebpKeepEachPixel) {
  const Picture picture = slope(13, 7);
  for (const Bytes &file :
       {pngOf(picture.rgb, 13, 7, PNG_FORMAT_RGB), webpOf(picture)}) {
    const auto found = decodePicture(spanOf(file), {});
    ASSERT_TRUE(found.ok()) << found.status().message();
    expectNear(*found, picture, 0);
    EXPECT_EQ(sizeOfPicture(spanOf(file))->width, 13);
  }
}

TEST(Pictures, PngWithTransparencyOrGrey) {
  const Bytes rgba = {10, 20, 30, 0, 40, 50, 60, 128};
  EXPECT_EQ(decodePicture(spanOf(pngOf(rgba, 2, 1, PNG_FORMAT_RGBA)), {})->rgb,
            (Bytes{10, 20, 30, 40, 50, 60}));
  EXPECT_EQ(
      decodePicture(spanOf(pngOf({7, 9}, 2, 1, PNG_FORMAT_GRAY)), {})->rgb,
      (Bytes{7, 7, 7, 9, 9, 9}));
}

TEST(Pictures, JpegOfColoursAndGrey) {
  const Picture picture = slope(64, 48);
  const auto found = decodePicture(spanOf(jpegOf(picture)), {});
  ASSERT_TRUE(found.ok());
  expectNear(*found, picture, 12);
  const auto grey = decodePicture(spanOf(jpegOf(Bytes(64, 77), 8, 8, 1)), {});
  EXPECT_EQ(grey->rgb, Bytes(64 * 3, 77));
}

// libjpeg marks what it writes of four inks as Adobe's, so as inverted.
TEST(Pictures, JpegOfFourInks) {
  Bytes inks;
  for (int i = 0; i < 64; ++i)
    inks.insert(inks.end(), {255, 128, 0, 255});
  const auto found = decodePicture(spanOf(jpegOf(inks, 8, 8, 4)), {});
  ASSERT_TRUE(found.ok());
  EXPECT_NEAR(found->rgb[0], 255, 3);
  EXPECT_NEAR(found->rgb[1], 128, 3);
  EXPECT_NEAR(found->rgb[2], 0, 3);
}

// Two of each 8 x 8 block: what the camera saw as its corner at the top left.
TEST(Pictures, StandsUpright) {
  const Picture camera = slope(32, 16);
  // Where (x = left, y = top) of the upright picture is in the camera's.
  const std::pair<int, int> corners[] = {{0, 0}, {31, 0}, {31, 15}, {0, 15},
                                         {0, 0}, {0, 15}, {31, 15}, {31, 0}};
  for (uint8_t o = 1; o <= 8; ++o) {
    const auto found = decodePicture(spanOf(jpegOf(camera, exifOf(o))), {});
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(found->width, o > 4 ? 16 : 32);
    const auto [x, y] = corners[o - 1];
    EXPECT_NEAR(found->rgb[0], camera.row(y)[x * 3], 12) << int(o);
    EXPECT_NEAR(found->rgb[1], camera.row(y)[x * 3 + 1], 12) << int(o);
    // Along the first row of what was turned, the camera's y changes.
    const int along = found->row(0)[(found->width - 1) * 3 + 1];
    EXPECT_EQ(std::abs(along - found->rgb[1]) > 100, o > 4) << int(o);
  }
}

TEST(Pictures, ExifThatMakesNoSense) {
  Bytes endless = exifOf(6);
  endless[14] = endless[15] = 0xff; // entries
  endless[16] = 0;
  EXPECT_EQ(exifOrientation(endless), 1);
  EXPECT_EQ(exifOrientation(exifOf(9)), 1);
  Bytes far = exifOf(6);
  far[10] = far[11] = far[12] = far[13] = 0xff; // where they are
  EXPECT_EQ(exifOrientation(far), 1);
  const Bytes whole = exifOf(6);
  for (size_t size = 0; size + 8 < whole.size(); ++size)
    EXPECT_EQ(exifOrientation(std::span(whole).first(size)), 1);
}

TEST(Pictures, SmallerJpegCoversWhatIsAskedFor) {
  const Bytes file = jpegOf(slope(640, 480));
  // Of a sample that all of it is fitted to.
  const auto size = [&](PictureSize sample) {
    const auto found = decodePicture(
        spanOf(file), sample.width ? sizeToFit({480, 640}, sample, 1) : sample);
    return std::pair(found->width, found->height);
  };
  EXPECT_EQ(size({}), std::pair(640, 480));
  EXPECT_EQ(size({224, 224}), std::pair(320, 240));
  EXPECT_EQ(size({241, 241}), std::pair(640, 480));
  EXPECT_EQ(size({8, 8}), std::pair(80, 60));
}

TEST(Pictures, RowsAreReducedAsTheyCome) {
  Picture picture;
  RowReducer reducer({3, 5}, 2, picture);
  for (int y = 0; y < 3; ++y) {
    for (int i = 0; i < 15; ++i)
      reducer.row()[i] = uint8_t(y * 100 + i);
    reducer.endRow();
  }
  // Means of four pixels, of two at the right and below, of one in the corner.
  EXPECT_EQ(picture.height, 2);
  EXPECT_EQ(picture.width, 3);
  EXPECT_EQ(picture.rgb, (Bytes{52, 53, 54, 58, 59, 60, 62, 63, 64, //
                                202, 203, 204, 208, 209, 210, 212, 213, 214}));
}

Bytes lossyWebpOf(const Picture &picture) {
  uint8_t *data = nullptr;
  const size_t size =
      WebPEncodeRGB(picture.rgb.data(), picture.width, picture.height,
                    picture.width * 3, 75, &data);
  Bytes result(data, data + size);
  WebPFree(data);
  return result;
}

TEST(Pictures, LargeOnesAreReduced) {
  const Picture large = slope(4000, 2100);
  EXPECT_EQ(reductionOf({2100, 4000}, {70, 90}), 15);
  EXPECT_EQ(reductionOf({2100, 4000}, {0, 0}), 1);
  EXPECT_EQ(reductionOf({2100, 4000}, {1100, 2000}), 1);
  EXPECT_EQ(reductionOf({2000, 4000}, {70, 90}), 1); // kLargePixels
  const std::pair<Bytes, int> files[] = {
      {pngOf(large.rgb, 4000, 2100, PNG_FORMAT_RGB), 2},
      {webpOf(large), 2},
      {lossyWebpOf(large), 8}};
  for (const auto &[file, tolerance] : files) {
    const auto found = decodePicture(spanOf(file), {70, 90});
    ASSERT_TRUE(found.ok()) << found.status().message();
    expectNear(*found, slope(267, 140), tolerance);
  }
}

TEST(Pictures, MemoryAndTimeOfDecodersAreBounded) {
  // 16 bits of four channels, by the header alone.
  Bytes png = pngOf(slope(8, 8).rgb, 8, 8, PNG_FORMAT_RGB);
  const uint8_t head[] = {0, 0, 0x1f, 0x40, 0, 0, 0x1f, 0x40, 16, 6, 0, 0, 0};
  std::copy(std::begin(head), std::end(head), png.begin() + 16);
  const auto sum = uint32_t(::crc32(0, png.data() + 12, 17));
  for (int i = 0; i < 4; ++i)
    png[size_t(29 + i)] = uint8_t(sum >> (24 - 8 * i));
  EXPECT_THAT(errorOf(png), HasSubstr("its pixels take 512000000 bytes, "
                                      "expected at most 419430400"));
  // A lossless WebP of 9,000 x 9,000.
  const uint32_t sides = 8999u | 8999u << 14;
  Bytes webp = {'R', 'I', 'F', 'F', 18, 0, 0, 0,    'W', 'E', 'B', 'P', 'V',
                'P', '8', 'L', 6,   0,  0, 0, 0x2f, 0,   0,   0,   0,   0};
  for (int i = 0; i < 4; ++i)
    webp[size_t(21 + i)] = uint8_t(sides >> (8 * i));
  EXPECT_THAT(errorOf(webp),
              HasSubstr("decoding takes 540 MiB, expected at most 288"));
  // Scans of 35 million pixels that hold nothing.
  const Bytes flat(7000 * 5000, 128);
  EXPECT_THAT(errorOf(jpegOf(flat, 7000, 5000, 1, {}, true)),
              HasSubstr("more than pictures need"));
  EXPECT_EQ(errorOf(jpegOf(Bytes(1000 * 1000, 128), 1000, 1000, 1, {}, true)),
            "");
}

TEST(Pictures, DecodersShareTheirMemory) {
  std::atomic<int64_t> used = 0, most = 0;
  std::vector<std::thread> threads;
  for (int64_t mib : {200, 1, 150, 100, 288, 30, 170, 1})
    threads.emplace_back([&, mib] {
      for (int i = 0; i < 20; ++i) {
        const auto bytes = DecoderBytes::take(mib << 20);
        ASSERT_TRUE(bytes.ok());
        const int64_t now = used += mib;
        for (int64_t seen = most; seen < now;)
          if (most.compare_exchange_weak(seen, now))
            break;
        std::this_thread::yield();
        used -= mib;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_LE(most, kAllDecodersBytes >> 20);
  EXPECT_GT(most, 200); // not one at a time
}

Picture fit(const Picture &picture, PictureSize size) {
  return fitted(picture, size, {});
}

TEST(Pictures, FitsAsItIs) {
  const Picture picture = slope(9, 5);
  EXPECT_EQ(fit(picture, {5, 9}).rgb, picture.rgb);
}

TEST(Pictures, FitsTheMiddle) {
  Picture picture{2, 6, {}};
  for (int i = 0; i < 12; ++i)
    picture.rgb.insert(picture.rgb.end(), {uint8_t(i), uint8_t(i), 9});
  // 6 x 2 covers 2 x 2 as it is: columns 2 and 3.
  EXPECT_EQ(fit(picture, {2, 2}).rgb,
            (Bytes{2, 2, 9, 3, 3, 9, 8, 8, 9, 9, 9, 9}));
}

// Numbers of Pillow's Resampling.BILINEAR: 8 grey pixels a line to 4, 4 to 8.
TEST(Pictures, ScalesAsPillow) {
  const auto line = [](Bytes values, int rows) {
    Picture picture{rows, int(values.size()), {}};
    for (int y = 0; y < rows; ++y)
      for (uint8_t value : values)
        picture.rgb.insert(picture.rgb.end(), {value, value, value});
    return picture;
  };
  const auto reds = [](const Picture &picture) {
    Bytes result;
    for (int x = 0; x < picture.width; ++x)
      result.push_back(picture.rgb[size_t(x) * 3]);
    return result;
  };
  EXPECT_EQ(reds(fit(line({0, 255, 10, 200, 30, 90, 250, 4}, 8), {4, 4})),
            (Bytes{111, 114, 101, 122}));
  EXPECT_EQ(reds(fit(line({0, 255, 10, 200}, 4), {8, 8})),
            (Bytes{0, 64, 191, 194, 71, 58, 153, 200}));
}

TEST(Pictures, Damaged) {
  const Picture picture = slope(64, 64);
  for (Bytes file :
       {jpegOf(picture), pngOf(picture.rgb, 64, 64, PNG_FORMAT_RGB),
        webpOf(picture)}) {
    const std::string kind(kindOfPicture(spanOf(file)));
    for (const size_t part : {3, 5, 9})
      EXPECT_THAT(errorOf(Bytes(file.begin(),
                                file.begin() + long(file.size() * part / 10))),
                  HasSubstr("damaged " + kind));
  }
  EXPECT_THAT(errorOf({'G', 'I', 'F', '8'}), HasSubstr("is not a picture"));
  EXPECT_THAT(errorOf({}), HasSubstr("is not a picture"));
}

// Whatever is changed in it: an error or a picture, no crash.
TEST(Pictures, AnyByteChanged) {
  const Picture picture = slope(24, 24);
  uint32_t random = 1;
  for (const Bytes &whole :
       {jpegOf(picture, exifOf(6)), pngOf(picture.rgb, 24, 24, PNG_FORMAT_RGB),
        webpOf(picture)})
    for (int i = 0; i < 500; ++i) {
      Bytes file = whole;
      for (int k = 0; k < 3; ++k) {
        random = random * 1664525 + 1013904223;
        file[(random >> 8) % file.size()] = uint8_t(random >> 24);
      }
      const auto found = decodePicture(spanOf(file), {16, 16});
      const size_t size = found.ok() ? fit(*found, {16, 16}).rgb.size() : 768;
      EXPECT_EQ(size, 768u);
    }
}

TEST(Pictures, ClaimsTooManyPixels) {
  const Picture picture = slope(8, 8);
  Bytes jpeg = jpegOf(picture);
  for (size_t i = 0; i + 9 < jpeg.size(); ++i)
    if (jpeg[i] == 0xff && jpeg[i + 1] == 0xc0) // height and width
      std::fill_n(jpeg.begin() + long(i) + 5, 4, 0xfe);
  EXPECT_THAT(errorOf(jpeg), HasSubstr("65278 x 65278 pixels, expected at"));
}

TEST(Pictures, AVeryLongOne) {
  Picture line{1, 1 << 20, {}};
  line.rgb.resize(size_t(3) << 20, 5);
  EXPECT_EQ(fit(line, {8, 8}).rgb, Bytes(8 * 8 * 3, 5));
}

} // namespace
