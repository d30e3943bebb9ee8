// SPDX-License-Identifier: Apache-2.0
// dlc predict: a trained model's outputs for samples, or their most probable
// classes by name.
#include "tools/dlc/Commands.h"
#include "tools/dlc/OptionFlags.h"
#include "tools/dlc/Print.h"
#include "tools/dlc/predict/PredictSamples.h"

#include "runtime/base/Text.h"
#include "runtime/base/process/Log.h"
#include "runtime/data/pictures/ArrayLayout.h"
#include "runtime/data/pictures/Folder.h"
#include "runtime/plan/Ports.h"
#include "runtime/train/metrics/Ranking.h"

#include <filesystem>
#include <glob.h>
#include <iostream>

namespace dlc::tool {
namespace {

struct PredictArguments : SampleArguments {
  PredictArguments();

  Words pictures; // files, folders, "-" for names on standard input
  std::string output;
  int64_t top = 1;
  bool csv = false, json = false;
};

bool holdsArrays(const std::string &path) {
  constexpr std::string_view kEndings[] = {".npz",     ".npy", ".safetensors",
                                           ".parquet", ".csv", ".tsv"};
  return std::ranges::any_of(
      kEndings, [&](std::string_view e) { return path.ends_with(e); });
}

PredictArguments::PredictArguments() {
  addOutput(table, "eval.output", output,
            ".npz of the raw outputs, in place of classes: y, or by name if "
            "there are several");
  table.count("eval.top", top, 1, "number of classes to print per sample",
              1'000'000);
  table.toggle("eval.csv", csv, "classes as CSV, with a header");
  table.toggle("eval.json", json, "classes as JSON, one object per line");
  table.require([this](const OptionTable::Given &given) -> Status {
    if (pictures.empty() == data.empty())
      return usageError("{}: expected either --data or names of pictures",
                        data.empty() ? "no samples" : "samples twice");
    const auto arrays = std::ranges::find_if(pictures, holdsArrays);
    if (arrays != pictures.end())
      return usageError("'{0}' is not a picture: expected --data={0}", *arrays);
    for (const char *name : {"top", "csv", "json"})
      if (isGiven(given, std::string("eval.") + name) && !output.empty())
        return usageError("--{} formats printed classes, but --output writes "
                          "raw outputs: give one of them",
                          name);
    if (csv && json)
      return usageError("--csv and --json are both given, expected one");
    return {};
  });
}

// Expands a pattern that the shell has not expanded, unless a file has that
// name.
Words matching(const std::string &name) {
  if (std::filesystem::exists(std::filesystem::symlink_status(name)))
    return {name};
  glob_t found = {};
  Words names = {name};
  if (glob(name.c_str(), 0, nullptr, &found) == 0)
    names.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  return names;
}

// Replaces "-" by the lines of standard input.
Words namesOf(const Words &pictures) {
  Words names;
  for (const std::string &picture : pictures) {
    if (picture != "-") {
      const Words found = matching(picture);
      names.insert(names.end(), found.begin(), found.end());
      continue;
    }
    for (std::string line; std::getline(std::cin, line);)
      if (!line.empty())
        names.push_back(line);
  }
  return names;
}

// Prints how pictures of other sizes are resized and cropped.
void sayFit(const Model &model, const SampleOptions &options) {
  const plan::Plan &plan = model.artifact.plan();
  const plan::Program &program = *plan::findProgram(plan, "predict");
  auto shape = plan::batchShape(plan, program, program.inputs(0));
  shape.erase(shape.begin());
  const auto layout = layoutOf(shape);
  if (!layout)
    return; // the samples report the error
  const Augmentation &a = options.augmentation;
  info("pictures are scaled to cover {} x {} pixels{}{}", layout->size.width,
       layout->size.height,
       a.cropPct == 1 ? "" : fmt::format(" / {}", a.cropPct),
       layout->channels == 1 ? ", cropped at the center, and made grey"
                             : ", and cropped at the center");
}

// Prints how pictures are prepared, as the run does not store everything.
Status sayPreparation(const Model &model, const SampleOptions &options) {
  SampleOptions shown = options;
  shown.classes.clear();
  shown.badSamples = BadSamples::Error;
  std::string how = textOf(shown);
  if (!options.scale)
    how = "scale 1/255" + (how.empty() ? "" : ", " + how);
  if (!model.checkpoint) {
    warning("'{}' does not record the preprocessing of pictures, as a run "
            "does: flags alone determine it ({}), and classes have no names "
            "without --classes",
            model.artifact.path(), how);
    return {};
  }
  const auto run = std::filesystem::path(model.checkpoint->path).parent_path();
  DLC_ASSIGN(const TrainOptions trained,
             optionsFromYaml((run / "config.yaml").string()));
  if (!trained.dataCommand.empty() || !trained.data.starts_with('/'))
    warning("the run was trained on samples of another program, whose "
            "preprocessing is unknown: pictures get {}",
            how);
  else if (holdsArrays(trained.data))
    warning("the run was trained on arrays, '{}': pictures get {}, which is "
            "right if the arrays were pixels, 0 to 255",
            trained.data, how);
  else
    info("preprocessing of pictures as in training: {}", how);
  return {};
}

Result<Judge::Sources> openPictures(const Words &pictures, const Model &model,
                                    const SampleOptions &options,
                                    BadSamples badSamples) {
  DLC_TRY(sayPreparation(model, options));
  sayFit(model, options);
  DLC_ASSIGN(auto list, openPictureList(namesOf(pictures)));
  return Judge::Sources{pictureSource(std::move(list), badSamples)};
}

int64_t countReplaced(const Dataset &data) {
  int64_t count = 0;
  for (int64_t i = 0; i < data.samples(); ++i)
    count += data.source().isReplaced(i);
  return count;
}

// Removes rows of replaced samples.
void leaveOutReplaced(const Dataset &data, Session::Output &output) {
  const auto samples = size_t(data.samples());
  const size_t bytes = output.bytes.size() / samples;
  size_t kept = 0;
  for (size_t i = 0; i < samples; ++i)
    if (!data.source().isReplaced(int64_t(i)))
      std::copy_n(output.bytes.begin() + ptrdiff_t(i * bytes), bytes,
                  output.bytes.begin() + ptrdiff_t(kept++ * bytes));
  output.bytes.resize(kept * bytes);
  output.shape[0] = output.shape[0] / data.samples() * int64_t(kept);
}

Status writeOutputs(LoadedSamples &loaded, const std::string &path) {
  const Dataset &data = loaded.data.sets[0];
  DLC_ASSIGN(auto outputs, loaded.session->predict(data));
  const plan::Plan &plan = loaded.session->plan();
  const plan::Program &program = *plan::findProgram(plan, "predict");
  const bool hasReplaced = countReplaced(data) > 0;
  std::vector<NamedArray> arrays;
  for (Session::Output &output : outputs) {
    const int port = findOutput(program, output.name);
    if (hasReplaced && plan::isPrediction(plan, program, program.outputs(port)))
      leaveOutReplaced(data, output);
    arrays.push_back({outputs.size() == 1 ? "y" : output.name, output.dtype,
                      output.shape, output.bytes});
  }
  DLC_TRY(writeNpz(path, arrays));
  for (const NamedArray &array : arrays)
    info("{}: {} {}", path, array.key, describe(array.dtype, array.shape));
  return {};
}

enum class RankFormat { Text, Csv, Json };

// Prints the classes of samples. Samples are identified by file, or by number
// if they have none; classes by name, or by number.
class RankTable {
public:
  // `classes`: the known names. All arguments must outlive it.
  RankTable(RankFormat format, const Source &source, int64_t samples,
            const std::vector<std::string> &classes)
      : format_(format), source_(source), classes_(classes),
        isNamed_(!source.nameOf(0).empty()) {
    if (format != RankFormat::Text)
      return;
    constexpr size_t kWidest = 60; // longer names shift the line's columns
    for (int64_t i = 0; isNamed_ && i < samples; ++i)
      nameWidth_ = std::max(nameWidth_, nameOf(i).size());
    for (const std::string &name : classes)
      classWidth_ = std::max(classWidth_, name.size());
    nameWidth_ = std::min(nameWidth_, kWidest);
    classWidth_ = std::min(classWidth_, kWidest);
  }

  void printHead() const {
    if (format_ == RankFormat::Csv)
      printOut("{},rank,class,probability\n", column());
    else if (format_ == RankFormat::Text)
      printOut("{:<{}}  rank  {:<{}}  probability\n", column(), nameWidth_,
               "class", classWidth_);
  }

  // Prints a line for each rank, from 1; for JSON an object for the sample:
  // {"file": NAME or "sample": NUMBER, "classes": [{"class", "number",
  // "probability"}]}.
  void print(int64_t sample, const std::vector<RankedClass> &ranks) const {
    nlohmann::ordered_json object;
    if (isNamed_)
      object[column()] = nameOf(sample);
    else
      object[column()] = sample;
    for (size_t i = 0; i < ranks.size(); ++i) {
      const auto &[number, probability] = ranks[i];
      if (format_ == RankFormat::Json)
        object["classes"].push_back({{"class", classOf(number)},
                                     {"number", number},
                                     {"probability", probability}});
      else if (format_ == RankFormat::Csv)
        printOut("{},{},{},{}\n", csvField(nameOf(sample)), i + 1,
                 csvField(classOf(number)), probability);
      else
        printOut("{:<{}}  {:>4}  {:<{}}  {:>11.4f}\n", nameOf(sample),
                 nameWidth_, i + 1, classOf(number), classWidth_, probability);
    }
    if (format_ == RankFormat::Json)
      printJson(object);
  }

private:
  std::string nameOf(int64_t sample) const {
    return isNamed_ ? source_.nameOf(sample) : std::to_string(sample);
  }
  std::string classOf(int64_t number) const {
    return size_t(number) < classes_.size() ? classes_[size_t(number)]
                                            : std::to_string(number);
  }
  const char *column() const { return isNamed_ ? "file" : "sample"; }

  RankFormat format_;
  const Source &source_;
  const std::vector<std::string> &classes_;
  bool isNamed_;
  size_t nameWidth_ = 6, classWidth_ = 5;
};

Status printRanks(LoadedSamples &loaded, const PredictArguments &arguments) {
  const Dataset &data = loaded.data.sets[0];
  DLC_ASSIGN(Ranking ranking,
             Ranking::create(*loaded.session, loaded.data.sizes[0], "--top"));
  const std::string function(ranking.function());
  info("probabilities: {}output '{}'",
       function.empty() ? "" : function + " of ", ranking.output());
  const auto known = int64_t(loaded.options.classes.size());
  if (known > 0 && known != ranking.classes())
    warning(
        "{} class names, but the model has {} classes: the others have numbers",
        known, ranking.classes());
  const RankTable table(arguments.csv    ? RankFormat::Csv
                        : arguments.json ? RankFormat::Json
                                         : RankFormat::Text,
                        data.source(), data.samples(), loaded.options.classes);
  table.printHead();
  const auto print = [&](int64_t sample, const auto &ranks) -> Status {
    if (!data.source().isReplaced(sample))
      table.print(sample, ranks);
    return {};
  };
  return ranking.run(data, arguments.top, print);
}

Status predict(const PredictArguments &arguments) {
  // Printed lines have names, so gaps are noticeable; rows of arrays do not.
  const bool passesOver = !arguments.pictures.empty() &&
                          arguments.output.empty() &&
                          !isGiven(arguments.flags.given(), "eval.bad-samples");
  OpenSources open;
  if (!arguments.pictures.empty())
    open = [&](const Model &model, const SampleOptions &options) {
      return openPictures(arguments.pictures, model, options,
                          passesOver ? BadSamples::Skip : options.badSamples);
    };
  DLC_ASSIGN(LoadedSamples loaded, loadSamples(arguments, "predict", open));
  if (loaded.data.sets.size() > 1)
    return usageError(
        "--data has samples of {} lengths: predict each length separately",
        loaded.data.sets.size());
  DLC_TRY(arguments.output.empty() ? printRanks(loaded, arguments)
                                   : writeOutputs(loaded, arguments.output));
  const Dataset &data = loaded.data.sets[0];
  if (const int64_t count = countReplaced(data)) {
    if (passesOver && loaded.options.badSamples == BadSamples::Error)
      return failed("{} of {} pictures could not be decoded and are left out; "
                    "with --bad-samples=skip that is a warning",
                    count, data.samples());
    warning("{} of {} samples could not be decoded and are left out", count,
            data.samples());
  }
  return {};
}

} // namespace

void addPredict(CommandLine &line) {
  CLI::App *command = line.app.add_subcommand(
      "predict", "print most probable classes, or write the model's outputs");
  auto arguments = std::make_shared<PredictArguments>();
  addFlagCommand(line, *command, arguments, predict, {"model"});
  command->add_option(
      "pictures", arguments->pictures,
      "files or folders of pictures; -: names on standard input, one per line");
  command->footer(
      R"(Pictures get the preprocessing of the run's evaluation, and classes the names of the run's
folders or table column. Outputs become probabilities by softmax or sigmoid, depending on
the loss. Of pictures named as arguments, those that cannot be decoded are left out, named and
counted, and the exit code is 1; --bad-samples=skip makes it 0, --bad-samples=error ends at once.

Examples:
  dlc predict runs/flowers new/*.jpg --top=5
  find new -name '*.png' | dlc predict runs/flowers - --csv > classes.csv
  dlc predict runs/lenet-1 --data=x.npz -o y.npz)");
}

} // namespace dlc::tool
