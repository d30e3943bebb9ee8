// SPDX-License-Identifier: Apache-2.0
#include "tools/dlc/report/GatherRuns.h"

#include "runtime/data/Convert.h"
#include "runtime/data/pictures/ArrayLayout.h"
#include "runtime/train/TrainOptions.h"
#include "runtime/train/metrics/Ranking.h"
#include "runtime/train/session/Inputs.h"
#include "tools/dlc/inspect/PngFile.h"

#include <algorithm>

namespace dlc::tool {
namespace {

struct Guess {
  int64_t sample = 0, number = 0;
  double probability = 0;
  std::optional<int64_t> label;

  bool isWrong() const { return label && *label != number; }
};

// The images and labels of a source.
class Shown {
public:
  static Result<Shown> open(const Dataset &dataset) {
    Shown shown;
    shown.source_ = &dataset.source();
    const std::string &key = dataset.columns()[0].spec().key;
    DLC_ASSIGN(const Array head, shown.source_->head(key));
    const auto layout = layoutOf({head.shape.begin() + 1, head.shape.end()});
    if (head.dtype != DType::U8 || !layout)
      return usageError("--data: '{}' of '{}' is {}, expected pictures: u8 [N, "
                        "3, H, W], or a folder of them",
                        key, shown.source_->name(),
                        describe(head.dtype, head.shape));
    shown.layout_ = *layout;
    DLC_ASSIGN(shown.pixels_, shown.source_->rows(key));
    if (shown.source_->has("y")) {
      DLC_ASSIGN(const Array y, shown.source_->head("y"));
      shown.type_ = y.dtype;
      if (y.shape.size() == 1 && !isFloat(y.dtype)) {
        DLC_ASSIGN(shown.labels_, shown.source_->rows("y"));
      }
    }
    return shown;
  }

  bool hasLabels() const { return labels_ != nullptr; }
  Result<std::optional<int64_t>> label(int64_t sample) const {
    if (!labels_)
      return std::optional<int64_t>();
    std::vector<std::byte> room(sizeOf(type_));
    DLC_TRY(labels_->read(sample, nullptr, room.data()));
    return std::optional(integerAt(room.data(), type_, 0));
  }
  Result<std::string> picture(int64_t sample) const {
    std::vector<std::byte> room(layout_.bytes());
    DLC_TRY(pixels_->read(sample, nullptr, room.data()));
    return addressOf(imageOf(room.data(), layout_));
  }
  std::string nameOf(int64_t sample) const {
    const std::string name = source_->nameOf(sample);
    return name.empty() ? fmt::format("sample {}", sample) : name;
  }

private:
  const Source *source_ = nullptr;
  PixelLayout layout_;
  DType type_ = DType::I64;
  std::shared_ptr<const RowReader> pixels_, labels_;
};

bool comesFirst(const Guess &a, const Guess &b) {
  if (a.isWrong() != b.isWrong())
    return a.isWrong();
  return a.isWrong() ? a.probability > b.probability
                     : a.probability < b.probability;
}

} // namespace

Result<Json> predictionsOf(const std::string &run, const std::string &data,
                           int64_t count) {
  DLC_ASSIGN(Model model, openModel(run));
  DLC_ASSIGN(const SampleOptions options, samplesOf(model));
  DLC_ASSIGN(const auto sources, openSources(data, options));
  DLC_ASSIGN(const SizedData sized,
             openDatasets(sources, model.artifact.plan(), "predict", options));
  DLC_ASSIGN(const auto session, Session::create(std::move(model), {}));
  if (sized.sets.size() > 1)
    return usageError("--data has samples of {} sizes, expected pictures",
                      sized.sets.size());
  const Dataset &dataset = sized.sets[0];
  DLC_ASSIGN(const Shown shown, Shown::open(dataset));
  DLC_ASSIGN(Ranking ranking,
             Ranking::create(*session, sized.sizes[0], "--data"));
  std::vector<Guess> guesses;
  const auto take = [&](int64_t sample, const auto &ranks) -> Status {
    Guess guess{sample, ranks[0].number, ranks[0].probability, {}};
    DLC_ASSIGN(guess.label, shown.label(sample));
    guesses.push_back(guess);
    return {};
  };
  DLC_TRY(ranking.run(dataset, 1, take));
  const auto wrong = std::ranges::count_if(
      guesses, [](const Guess &guess) { return guess.isWrong(); });
  std::ranges::stable_sort(guesses, comesFirst);
  guesses.resize(std::min(guesses.size(), size_t(count)));
  const auto nameOf = [&](int64_t number) {
    return number >= 0 && size_t(number) < options.classes.size()
               ? options.classes[size_t(number)]
               : fmt::format("class {}", number);
  };
  Json all = Json::array();
  for (const Guess &guess : guesses) {
    DLC_ASSIGN(const std::string picture, shown.picture(guess.sample));
    all.push_back(
        {{"picture", picture},
         {"name", shown.nameOf(guess.sample)},
         {"class", nameOf(guess.number)},
         {"probability", guess.probability},
         {"label", guess.label ? Json(nameOf(*guess.label)) : Json()}});
  }
  return Json{{"samples", dataset.samples()},
              {"wrong", shown.hasLabels() ? Json(wrong) : Json()},
              {"shown", std::move(all)}};
}

} // namespace dlc::tool
