// SPDX-License-Identifier: Apache-2.0
// dlc data preview: draws augmented training pictures in a grid.
#include "tools/dlc/Commands.h"
#include "tools/dlc/OptionFlags.h"
#include "tools/dlc/inspect/ShownSamples.h"

#include "runtime/base/Text.h"
#include "runtime/base/files/Atomic.h"
#include "runtime/base/numbers/Checked.h"
#include "runtime/base/process/Log.h"
#include "runtime/data/Loader.h"
#include "runtime/data/pictures/PictureSource.h"

#include <algorithm>
#include <cstring>

namespace dlc::tool {
namespace {

constexpr int kGridColumns = 6;
constexpr int kGridGap = 4; // pixels between pictures

struct PreviewArguments : FlagArguments {
  PreviewArguments() : FlagArguments("preview") {
    table.text("preview.path", path, "PATH", "pictures, as --data of dlc train")
        .named("path");
    addOutput(table, "preview.output", output, ".html or .png");
    table.count("preview.count", count, 1, "number of samples to show", 1000);
    table.count("preview.size", size, 8,
                "side in pixels of the pictures that the model reads", 4096);
    table.count("preview.seed", seed, 0, "seed, as for dlc train");
    table.count("preview.epoch", epoch, 0, "epoch whose samples are shown");
    table.group("Samples");
    samples.addTo(table, "preview");
    samples.addDrawsTo(table, "preview");
  }

  std::string path, output;
  SampleOptions samples;
  int64_t count = 24, size = 224, epoch = 0, seed = 0;
};

struct PreviewSample {
  Picture picture;
  int64_t row = 0;
  std::string label; // empty: it has none
};

// The pictures of a source, or of a u8 array, augmented as in training.
Result<std::shared_ptr<const Source>>
picturesOf(const PreviewArguments &arguments) {
  DLC_ASSIGN(auto source, openSource(arguments.path, arguments.samples));
  const std::vector<SampleInput> inputs = {
      {"x", {3, arguments.size, arguments.size}}};
  DLC_ASSIGN(auto shaped, source->shaped(inputs, arguments.samples));
  if (shaped && shaped->augments())
    return shaped;
  return augmentedArray(std::move(source), "x", arguments.samples);
}

Result<std::vector<PreviewSample>>
samplesOf(const PreviewArguments &arguments) {
  DLC_ASSIGN(const auto source, picturesOf(arguments));
  DLC_ASSIGN(const auto shown, ShownSamples::open(*source, "x"));
  const auto order = shuffledOrder(shown.count(), uint64_t(arguments.seed),
                                   uint64_t(arguments.epoch));
  const TrainingPass pass{uint64_t(arguments.seed), arguments.epoch};
  std::vector<PreviewSample> samples;
  for (const int64_t row : order) {
    if (int64_t(samples.size()) == arguments.count)
      break;
    DLC_ASSIGN(auto picture, shown.picture(row, &pass));
    DLC_ASSIGN(const auto label, shown.label(row, &pass));
    samples.push_back({std::move(picture), row,
                       label ? nameOfClass(source->classes(), *label) : ""});
  }
  if (samples.empty())
    return failed("'{}' has no samples", arguments.path);
  return samples;
}

std::string escaped(std::string_view text) {
  std::string result;
  for (char c : text)
    result += c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
  return result;
}

std::string pageOf(const PreviewArguments &arguments,
                   const std::vector<PreviewSample> &samples) {
  const std::string how = textOf(arguments.samples);
  const std::string title =
      escaped(printable(arguments.path) + (how.empty() ? "" : ": " + how));
  std::string page = fmt::format(
      "<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"><title>{0}</title>"
      "<style>body {{ font: 14px sans-serif; margin: 16px }} figure {{ "
      "display: "
      "inline-block; margin: 4px }} img {{ min-width: 96px; image-rendering: "
      "pixelated; display: block }}</style></head>\n<body><p>{0}</p>\n",
      title);
  for (const PreviewSample &sample : samples)
    page += fmt::format("<figure><img src=\"{}\" alt=\"\">"
                        "<figcaption>sample {}{}{}</figcaption></figure>\n",
                        addressOf(sample.picture), sample.row,
                        sample.label.empty() ? "" : ": ",
                        escaped(printable(sample.label)));
  return page + "</body></html>\n";
}

// Arranges pictures in rows of kGridColumns.
Picture gridOf(const std::vector<PreviewSample> &samples) {
  const Picture &first = samples[0].picture;
  const int count = int(samples.size());
  const int columns = std::min(kGridColumns, count);
  const int rows = (count + columns - 1) / columns;
  Picture grid{rows * (first.height + kGridGap) - kGridGap,
               columns * (first.width + kGridGap) - kGridGap,
               {}};
  grid.rgb.assign(size_t(grid.height) * size_t(grid.width) * 3, 255);
  for (int i = 0; i < count; ++i)
    for (int y = 0; y < first.height; ++y) {
      const int top = i / columns * (first.height + kGridGap) + y;
      const int left = i % columns * (first.width + kGridGap);
      std::memcpy(grid.rgb.data() +
                      (size_t(top) * size_t(grid.width) + size_t(left)) * 3,
                  samples[size_t(i)].picture.row(y), size_t(first.width) * 3);
    }
  return grid;
}

Status preview(const PreviewArguments &arguments) {
  const bool isPage = arguments.output.ends_with(".html");
  if (!isPage && !arguments.output.ends_with(".png"))
    return usageError("--output={}: expected a name that ends in .html or .png",
                      arguments.output);
  if (arguments.samples.mixes())
    return usageError("a preview does not apply --mixup and --cutmix, which "
                      "combine two samples");
  DLC_ASSIGN(const auto samples, samplesOf(arguments));
  DLC_TRY(writeFileAtomically(arguments.output,
                              isPage ? pageOf(arguments, samples)
                                     : encodePng(gridOf(samples))));
  info("{}: {} samples", arguments.output, samples.size());
  return {};
}

} // namespace

void addPreview(CommandLine &line, CLI::App &data) {
  auto arguments = std::make_shared<PreviewArguments>();
  CLI::App *command = data.add_subcommand(
      "preview", "show pictures as training sees them, in a grid");
  addFlagCommand(line, *command, arguments, preview, {"path", "--output"});
  command->footer("Example:\n  dlc data preview photos/train --crop=random "
                  "--hflip -o preview.html");
}

} // namespace dlc::tool
