#include "runtime/data/pictures/PictureSource.h"

#include "runtime/base/process/Log.h"

#include <atomic>
#include <cstring>

namespace dlc {
namespace {

// How the pixels of a sample lie.
struct Layout {
  PictureSize size;
  int channels = 3;
  bool planar = true; // channels first
};

Result<Layout> layoutOf(const std::vector<int64_t> &shape) {
  constexpr int64_t kMost = 1 << 15;
  const auto isCount = [](int64_t n) { return n == 1 || n == 3; };
  if (shape.size() == 3)
    for (const size_t at : {size_t(0), size_t(2)}) {
      const int64_t height = shape[at == 0 ? 1 : 0];
      const int64_t width = shape[at == 0 ? 2 : 1];
      if (isCount(shape[at]) && height > 0 && width > 0 && height <= kMost &&
          width <= kMost)
        return Layout{{int(width), int(height)}, int(shape[at]), at == 0};
    }
  return failed("pictures cannot be samples of shape [{}], expected [3, H, W], "
                "[1, H, W], [H, W, 3] or [H, W, 1]",
                fmt::join(shape, ", "));
}

// ITU-R 601-2, as Pillow's "L".
uint8_t greyOf(const uint8_t *rgb) {
  return uint8_t(
      (rgb[0] * 19595U + rgb[1] * 38470U + rgb[2] * 7471U + 0x8000) >> 16);
}

void layOut(const Picture &picture, const Layout &layout, std::byte *to) {
  auto *out = reinterpret_cast<uint8_t *>(to);
  const size_t pixels = picture.rgb.size() / 3;
  if (layout.channels == 1) {
    for (size_t i = 0; i < pixels; ++i)
      out[i] = greyOf(&picture.rgb[i * 3]);
  } else if (!layout.planar) {
    std::memcpy(out, picture.rgb.data(), picture.rgb.size());
  } else {
    for (size_t c = 0; c < 3; ++c)
      for (size_t i = 0; i < pixels; ++i)
        out[c * pixels + i] = picture.rgb[i * 3 + c];
  }
}

// The samples in one shape. What is known to be bad stays known.
class ShapedPictures {
public:
  ShapedPictures(std::shared_ptr<const Pictures> pictures, Layout layout,
                 BadSamples bad)
      : pictures_(std::move(pictures)), layout_(layout), bad_(bad),
        states_(bad == BadSamples::Skip ? size_t(pictures_->count()) : 0) {}

  uint64_t sampleBytes() const {
    return uint64_t(layout_.size.width) * uint64_t(layout_.size.height) *
           uint64_t(layout_.channels);
  }

  Status read(int64_t row, const TrainingPass *, std::byte *to) const {
    if (bad_ == BadSamples::Error)
      return decode(row, to);
    return readable(row, to).status();
  }

  // The label of the picture that read() gives for this row.
  Result<int64_t> label(int64_t row) const {
    if (states_[size_t(row)] != State::Good) {
      std::vector<std::byte> pixels(sampleBytes());
      DLC_ASSIGN(row, readable(row, pixels.data()));
    }
    return pictures_->labels()[size_t(row)];
  }

private:
  enum class State : uint8_t { Unknown, Good, Bad };

  // The first row from `row` on that can be decoded, decoded.
  Result<int64_t> readable(int64_t row, std::byte *to) const {
    const int64_t count = pictures_->count();
    for (int64_t i = 0; i < count; ++i) {
      const int64_t at = (row + i) % count;
      if (states_[size_t(at)] == State::Bad)
        continue;
      const Status status = decode(at, to);
      if (status.ok()) {
        states_[size_t(at)] = State::Good;
        return at;
      }
      if (states_[size_t(at)].exchange(State::Bad) != State::Bad)
        warning("skipped: {}", status.message());
    }
    return failed("none of {} pictures can be decoded", count);
  }

  Status decode(int64_t row, std::byte *to) const {
    const auto work = [&]() -> Status {
      DLC_ASSIGN(const SharedBytes file, pictures_->read(row));
      DLC_ASSIGN(const Picture picture,
                 decodePicture(file.bytes, layout_.size));
      layOut(fitPicture(picture, layout_.size), layout_, to);
      return {};
    };
    const Status status = work();
    return status.ok() ? status
                       : status.withContext(
                             fmt::format("'{}'", pictures_->nameOf(row)));
  }

  std::shared_ptr<const Pictures> pictures_;
  Layout layout_;
  BadSamples bad_;
  mutable std::vector<std::atomic<State>> states_;
};

class PixelRows final : public RowReader {
public:
  explicit PixelRows(std::shared_ptr<const ShapedPictures> pictures)
      : pictures_(std::move(pictures)) {}
  Status read(int64_t row, const TrainingPass *pass,
              std::byte *to) const override {
    return pictures_->read(row, pass, to);
  }

private:
  std::shared_ptr<const ShapedPictures> pictures_;
};

// Labels of pictures of which any may be skipped.
class LabelRows final : public RowReader {
public:
  explicit LabelRows(std::shared_ptr<const ShapedPictures> pictures)
      : pictures_(std::move(pictures)) {}
  Status read(int64_t row, const TrainingPass *, std::byte *to) const override {
    DLC_ASSIGN(const int64_t label, pictures_->label(row));
    std::memcpy(to, &label, sizeof label);
    return {};
  }

private:
  std::shared_ptr<const ShapedPictures> pictures_;
};

// All labels, in memory.
class AllLabels final : public RowReader {
public:
  explicit AllLabels(std::shared_ptr<const Pictures> pictures)
      : pictures_(std::move(pictures)) {}
  const std::byte *all() const override {
    return reinterpret_cast<const std::byte *>(pictures_->labels().data());
  }
  Status read(int64_t row, const TrainingPass *, std::byte *to) const override {
    std::memcpy(to, &pictures_->labels()[size_t(row)], sizeof(int64_t));
    return {};
  }

private:
  std::shared_ptr<const Pictures> pictures_;
};

class PictureSource final : public Source {
public:
  PictureSource(std::shared_ptr<const Pictures> pictures, BadSamples bad,
                std::vector<int64_t> shape,
                std::shared_ptr<const ShapedPictures> shaped)
      : pictures_(std::move(pictures)), bad_(bad), shape_(std::move(shape)),
        shaped_(std::move(shaped)) {}

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
      return std::make_shared<const AllLabels>(pictures_);
    if (!shaped_)
      return failed("'{}' has pictures, whose shape a model must tell", name());
    if (key == "y")
      return std::make_shared<const LabelRows>(shaped_);
    return std::make_shared<const PixelRows>(shaped_);
  }
  Result<std::shared_ptr<const Source>>
  shaped(const std::vector<int64_t> &sample,
         const SampleOptions &) const override {
    const auto layout = layoutOf(sample);
    if (!layout)
      return layout.status().withContext(fmt::format("'{}'", name()));
    return std::make_shared<const PictureSource>(
        pictures_, bad_, sample,
        std::make_shared<const ShapedPictures>(pictures_, *layout, bad_));
  }
  bool isSlow() const override { return true; }
  Result<std::string> hash(int) const override { return pictures_->hash(); }

private:
  std::shared_ptr<const Pictures> pictures_;
  BadSamples bad_;
  std::vector<int64_t> shape_; // of a sample; none yet: empty
  std::shared_ptr<const ShapedPictures> shaped_;
};

} // namespace

std::shared_ptr<const Source>
pictureSource(std::shared_ptr<const Pictures> pictures, BadSamples bad) {
  return std::make_shared<const PictureSource>(std::move(pictures), bad,
                                               std::vector<int64_t>(), nullptr);
}

} // namespace dlc
