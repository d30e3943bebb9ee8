// SPDX-License-Identifier: Apache-2.0
#include "tools/dlc/report/GatherRuns.h"

#include "runtime/train/TrainOptions.h"
#include "runtime/train/metrics/Ranking.h"
#include "runtime/train/session/Inputs.h"
#include "tools/dlc/inspect/ShownSamples.h"

#include <algorithm>

namespace dlc::tool {
namespace {

struct Guess {
  int64_t sample = 0, number = 0;
  double probability = 0;
  std::optional<int64_t> label;

  bool isWrong() const { return label && *label != number; }
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
  DLC_ASSIGN(
      const auto shown,
      ShownSamples::open(dataset.source(), dataset.columns()[0].spec().key)
          .withContext("--data"));
  DLC_ASSIGN(Ranking ranking,
             Ranking::create(*session, sized.sizes[0], "--data"));
  std::vector<Guess> guesses;
  const auto take = [&](int64_t sample, const auto &ranks) -> Status {
    Guess guess{sample, ranks[0].number, ranks[0].probability, {}};
    DLC_ASSIGN(guess.label, shown.label(sample, nullptr));
    guesses.push_back(guess);
    return {};
  };
  DLC_TRY(ranking.run(dataset, 1, take));
  const auto wrong = std::ranges::count_if(
      guesses, [](const Guess &guess) { return guess.isWrong(); });
  std::ranges::stable_sort(guesses, comesFirst);
  guesses.resize(std::min(guesses.size(), size_t(count)));
  const auto nameOf = [&](int64_t number) {
    return nameOfClass(options.classes, number);
  };
  Json all = Json::array();
  for (const Guess &guess : guesses) {
    DLC_ASSIGN(const Picture picture, shown.picture(guess.sample, nullptr));
    const std::string name = dataset.source().nameOf(guess.sample);
    all.push_back(
        {{"picture", addressOf(picture)},
         {"name", name.empty() ? fmt::format("sample {}", guess.sample) : name},
         {"class", nameOf(guess.number)},
         {"probability", guess.probability},
         {"label", guess.label ? Json(nameOf(*guess.label)) : Json()}});
  }
  return Json{{"samples", dataset.samples()},
              {"wrong", shown.hasLabels() ? Json(wrong) : Json()},
              {"shown", std::move(all)}};
}

} // namespace dlc::tool
