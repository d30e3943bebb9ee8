// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/pictures/PictureSource.h"

#include "runtime/base/Text.h"
#include "runtime/base/files/Files.h"
#include "runtime/base/files/MappedFile.h"
#include "runtime/base/process/Log.h"
#include "runtime/data/augment/Augment.h"
#include "runtime/data/pictures/ArrayLayout.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>

namespace dlc {
namespace {

// Lower limit on a JPEG's reduced size: it must not be enlarged later.
PictureSize leastFor(PictureSize picture, const PictureBox &box,
                     PictureSize sample) {
  const auto least = [](int whole, int part, int needed) {
    return int(
        std::min<int64_t>((int64_t(whole) * needed + part - 1) / part, whole));
  };
  return {least(picture.height, box.height, sample.height),
          least(picture.width, box.width, sample.width)};
}

// Scales `box` of a picture of `size` to the size that was decoded.
PictureBox scaledBox(const PictureBox &box, PictureSize size,
                     const Picture &decoded) {
  const double down = double(decoded.height) / size.height;
  const double across = double(decoded.width) / size.width;
  PictureBox result{int(box.top * down), int(box.left * across),
                    std::max(1, int(std::lround(box.height * down))),
                    std::max(1, int(std::lround(box.width * across)))};
  result.height = std::min(result.height, decoded.height - result.top);
  result.width = std::min(result.width, decoded.width - result.left);
  return result;
}

Result<Picture> sampleOf(std::span<const std::byte> file, PictureSize sample,
                         const Augmentation &how, int64_t row,
                         const TrainingPass *pass) {
  DLC_ASSIGN(const PictureSize size, sizeOfPicture(file));
  Picture image;
  if (pass && how.crop == CropKind::Random) {
    SampleDraws draws(pass->seed, pass->epoch, row, uint32_t(DrawStream::Crop));
    const PictureBox box = drawCrop(size, how.cropScale, how.cropRatio, draws);
    DLC_ASSIGN(image, decodePicture(file, leastFor(size, box, sample)));
    image = resizedCrop(image, scaledBox(box, size, image), sample.height,
                        sample.width, how.filter);
  } else {
    DLC_ASSIGN(image,
               decodePicture(file, sizeToFit(size, sample, how.cropPct)));
    image = fitted(image, sample, how);
  }
  if (pass)
    augment(image, how, pass->seed, pass->epoch, row);
  return image;
}

using Labels = std::shared_ptr<const std::vector<int64_t>>;

// Samples in one shape. Remembers which pictures are bad.
class ShapedPictures {
public:
  ShapedPictures(std::shared_ptr<const Pictures> pictures, Labels labels,
                 PixelLayout layout, const Augmentation &how, BadSamples bad)
      : pictures_(std::move(pictures)), labels_(std::move(labels)),
        layout_(layout), how_(how), bad_(bad),
        states_(bad == BadSamples::Skip ? size_t(pictures_->count()) : 0) {}

  Status read(int64_t row, const TrainingPass *pass, std::byte *to) const {
    if (bad_ == BadSamples::Error)
      return decode(row, pass, to);
    return readable(row, pass, to).status();
  }

  // Label of the picture that read() returns for this row.
  Result<int64_t> label(int64_t row) const {
    if (states_[size_t(row)] != State::Good) {
      std::vector<std::byte> pixels(layout_.bytes());
      DLC_ASSIGN(row, readable(row, nullptr, pixels.data()));
    }
    return (*labels_)[size_t(row)];
  }

  // Whether the picture is known to be bad.
  bool isReplaced(int64_t row) const {
    return !states_.empty() && states_[size_t(row)] == State::Bad;
  }

private:
  enum class State : uint8_t { Unknown, Good, Bad };

  // Decodes the first valid picture from `row` on, and returns its row.
  Result<int64_t> readable(int64_t row, const TrainingPass *pass,
                           std::byte *to) const {
    const int64_t count = pictures_->count();
    for (int64_t i = 0; i < count; ++i) {
      const int64_t at = (row + i) % count;
      if (states_[size_t(at)] == State::Bad)
        continue;
      const Status status = decode(at, pass, to);
      if (status.ok()) {
        states_[size_t(at)] = State::Good;
        return at;
      }
      if (states_[size_t(at)].exchange(State::Bad) != State::Bad)
        warning("skipped: {}", status.message());
    }
    return failed("none of {} pictures can be decoded", count);
  }

  Status decode(int64_t row, const TrainingPass *pass, std::byte *to) const {
    const auto work = [&]() -> Status {
      DLC_ASSIGN(const SharedBytes file, pictures_->read(row));
      DLC_ASSIGN(const Picture image,
                 sampleOf(file.bytes, layout_.size, how_, row, pass));
      layOut(image, layout_, to);
      return {};
    };
    const Status status = work();
    return status.ok() ? status
                       : status.withContext("'{}'", pictures_->nameOf(row));
  }

  std::shared_ptr<const Pictures> pictures_;
  Labels labels_;
  PixelLayout layout_;
  Augmentation how_;
  BadSamples bad_;
  mutable std::vector<std::atomic<State>> states_;
};

// The numbers of the pictures' classes in `classes`, which must include them.
Result<Labels> renumbered(const Pictures &pictures,
                          const std::vector<std::string> &classes) {
  std::vector<int64_t> numbers, labels;
  for (const std::string &name : pictures.classes()) {
    const auto found = std::ranges::find(classes, name);
    if (found == classes.end())
      return failed("'{}': '{}' is none of the {} classes ({})",
                    pictures.name(), printable(name), classes.size(),
                    printable(fmt::format("{}", fmt::join(classes, ", "))));
    numbers.push_back(found - classes.begin());
  }
  for (const int64_t label : pictures.labels())
    labels.push_back(numbers[size_t(label)]);
  return std::make_shared<const std::vector<int64_t>>(std::move(labels));
}

class PictureSource final : public Source {
public:
  PictureSource(std::shared_ptr<const Pictures> pictures, BadSamples bad)
      : pictures_(std::move(pictures)), bad_(bad),
        labels_(pictures_, &pictures_->labels()),
        classes_(pictures_->classes()) {}

  std::string name() const override { return pictures_->name(); }
  std::vector<std::string> keys() const override {
    return pictures_->labels().empty() ? std::vector<std::string>{"x"}
                                       : std::vector<std::string>{"x", "y"};
  }
  Result<Array> head(const std::string &key) const override {
    if (!has(key))
      return noSuchArray(*this, key);
    std::vector<int64_t> shape{pictures_->count()};
    if (key == "y")
      return Array{DType::I64, std::move(shape), {}};
    shape.insert(shape.end(), shape_.begin(), shape_.end());
    return Array{DType::U8, std::move(shape), {}};
  }
  Result<std::shared_ptr<const RowReader>>
  rows(const std::string &key) const override {
    if (!has(key))
      return noSuchArray(*this, key);
    if (key == "y" && bad_ == BadSamples::Error)
      return readerOf({DType::I64,
                       {pictures_->count()},
                       {std::as_bytes(std::span(*labels_)), labels_}});
    if (!shaped_)
      return failed("'{}' contains pictures; their shape comes from a model, "
                    "and there is none",
                    name());
    if (key == "x")
      return readerBy([shaped = shaped_](auto... row) -> Status {
        return shaped->read(row...);
      });
    return readerBy([shaped = shaped_](int64_t row, auto, auto *to) -> Status {
      DLC_ASSIGN(const int64_t label, shaped->label(row));
      std::memcpy(to, &label, sizeof label);
      return {};
    });
  }
  Result<std::shared_ptr<const Source>>
  shaped(std::span<const SampleInput> inputs,
         const SampleOptions &options) const override {
    const std::vector<int64_t> &sample = *shapeOfFirst(inputs);
    DLC_ASSIGN(const auto layout, layoutOf(sample).withContext("'{}'", name()));
    auto made = std::make_shared<PictureSource>(*this);
    made->shape_ = sample;
    const bool isLabelled = std::ranges::any_of(
        inputs, [](const SampleInput &input) { return input.isLabel; });
    if (isLabelled && !options.classes.empty() && !classes_.empty()) {
      DLC_ASSIGN(made->labels_, renumbered(*pictures_, options.classes));
      made->classes_ = options.classes;
    }
    made->shaped_ = std::make_shared<const ShapedPictures>(
        pictures_, made->labels_, layout, options.augmentation, bad_);
    return made;
  }
  std::vector<std::string> classes() const override { return classes_; }
  std::string nameOf(int64_t row) const override {
    return pictures_->nameOf(row);
  }
  bool isReplaced(int64_t row) const override {
    return shaped_ && shaped_->isReplaced(row);
  }
  bool isSlow() const override { return true; }
  bool augments() const override { return true; }
  Result<std::string> hash(int) const override { return pictures_->hash(); }

private:
  std::shared_ptr<const Pictures> pictures_;
  BadSamples bad_;
  Labels labels_;
  std::vector<std::string> classes_;
  std::vector<int64_t> shape_; // of a sample; empty before shaped()
  std::shared_ptr<const ShapedPictures> shaped_;
};

// Pictures in an array.
class AugmentedArray final : public SourceOver {
public:
  AugmentedArray(std::shared_ptr<const Source> source, std::string key,
                 const PixelLayout &layout, const Augmentation &how)
      : SourceOver(std::move(source)), key_(std::move(key)), layout_(layout),
        how_(how) {}

  Result<std::shared_ptr<const RowReader>>
  rows(const std::string &key) const override {
    DLC_ASSIGN(auto rows, source_->rows(key));
    if (key != key_)
      return rows;
    return readerBy([rows, layout = layout_,
                     how = how_](int64_t row, auto *pass, auto *to) -> Status {
      DLC_TRY(rows->read(row, pass, to));
      augmentRow(layout, how, row, pass, to);
      return {};
    });
  }
  bool isSlow() const override { return true; }

private:
  static void augmentRow(const PixelLayout &layout, const Augmentation &how,
                         int64_t row, const TrainingPass *pass, std::byte *to) {
    Picture image = imageOf(to, layout);
    if (pass && how.crop == CropKind::Random) {
      SampleDraws draws(pass->seed, pass->epoch, row,
                        uint32_t(DrawStream::Crop));
      const PictureBox box =
          drawCrop(layout.size, how.cropScale, how.cropRatio, draws);
      image = resizedCrop(image, box, image.height, image.width, how.filter);
    } else {
      image = fitted(image, layout.size, how);
    }
    if (pass)
      augment(image, how, pass->seed, pass->epoch, row);
    layOut(image, layout, to);
  }

  std::string key_;
  PixelLayout layout_;
  Augmentation how_;
};

} // namespace

Result<SharedBytes> readPictureFile(const std::string &path) {
  DLC_ASSIGN(std::string content, readFile(path, kMaxPictureFile));
  auto owner = std::make_shared<const std::string>(std::move(content));
  return SharedBytes{std::as_bytes(std::span(*owner)), owner};
}

SharedBytes lentBytes(std::span<const std::byte> bytes,
                      std::shared_ptr<const void> file) {
  const auto giveBack = [bytes, file = std::move(file)](const void *) {
    if (!bytes.empty())
      releaseMapped(bytes.data(), bytes.size());
  };
  return {bytes, std::shared_ptr<const void>(bytes.data(), giveBack)};
}

std::shared_ptr<const Source>
pictureSource(std::shared_ptr<const Pictures> pictures, BadSamples bad) {
  return std::make_shared<const PictureSource>(std::move(pictures), bad);
}

Result<std::shared_ptr<const Source>>
augmentedArray(std::shared_ptr<const Source> source, std::string key,
               const SampleOptions &options) {
  DLC_ASSIGN(const Array head, source->head(key));
  const auto layout = layoutOf(sampleShape(head.shape));
  if (!layout || head.dtype != DType::U8)
    return usageError("'{}': '{}' is {}, which cannot be augmented: expected "
                      "pictures, u8 in 3 or 1 channels, as [N, 3, H, W]",
                      source->name(), key, describe(head.dtype, head.shape));
  return std::make_shared<const AugmentedArray>(
      std::move(source), std::move(key), *layout, options.augmentation);
}

} // namespace dlc
