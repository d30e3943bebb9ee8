// SPDX-License-Identifier: Apache-2.0
// dlc data inspect: describes and checks data before training.
#include "tools/dlc/Commands.h"
#include "tools/dlc/Print.h"

#include "runtime/base/Json.h"
#include "runtime/base/Text.h"
#include "runtime/base/files/Files.h"
#include "runtime/base/numbers/Checked.h"
#include "runtime/base/numbers/FloatCast.h"
#include "runtime/base/process/Log.h"
#include "runtime/base/process/Parallel.h"
#include "runtime/data/Convert.h"
#include "runtime/data/DataFiles.h"
#include "runtime/data/Source.h"
#include "runtime/data/pictures/Folder.h"
#include "runtime/data/pictures/Picture.h"
#include "runtime/data/pictures/PictureSource.h"
#include "runtime/data/shards/TarSamples.h"
#include "runtime/data/spool/TableSource.h"
#include "runtime/data/spool/TextFiles.h"
#include "runtime/data/tokens/TokenSource.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <map>
#include <mutex>

namespace dlc::tool {
namespace {

using OrderedJson = nlohmann::ordered_json;

// The report: output, and the number of broken samples.
struct DataReport {
  OrderedJson json;
  std::string text;
  int64_t broken = 0;

  template <class... Values>
  void line(fmt::format_string<Values...> format, Values &&...values) {
    text += fmt::format(format, std::forward<Values>(values)...) + "\n";
  }
};

struct DataArguments {
  std::string path, tokens = "auto", tokenizer, badSamples = "error";
  bool json = false;
};

//===--- pictures ---------------------------------------------------------===//

// Decodes all pictures on all cores.
class PictureSurvey {
public:
  explicit PictureSurvey(const Pictures &pictures) : pictures_(pictures) {}

  void run() {
    runTogether(size_t(coresOfProcess()), [this] {
      for (int64_t i; (i = next_++) < pictures_.count();)
        look(i);
    });
    std::ranges::sort(broken);
    std::ranges::sort(widths);
    std::ranges::sort(heights);
  }

  std::vector<std::pair<int64_t, std::string>> broken; // by index
  std::vector<int> widths, heights;
  std::map<std::string, int64_t> kinds;

private:
  void look(int64_t index) {
    const auto decode = [&]() -> Result<std::pair<std::string, PictureSize>> {
      DLC_ASSIGN(const SharedBytes file, pictures_.read(index));
      DLC_ASSIGN(const Picture picture, decodePicture(file.bytes, {0, 0}));
      return std::pair(std::string(kindOfPicture(file.bytes)),
                       PictureSize{picture.height, picture.width});
    };
    const auto found = decode();
    const std::lock_guard lock(mutex_);
    if (!found) {
      broken.emplace_back(index, found.status().message());
      return;
    }
    ++kinds[found->first];
    heights.push_back(found->second.height);
    widths.push_back(found->second.width);
  }

  const Pictures &pictures_;
  std::atomic<int64_t> next_ = 0;
  std::mutex mutex_;
};

OrderedJson rangeJson(const std::vector<int> &sorted) {
  return {{"least", sorted.front()},
          {"median", sorted[sorted.size() / 2]},
          {"most", sorted.back()}};
}

void reportClasses(const Pictures &pictures, DataReport &report) {
  std::map<int64_t, int64_t> counts;
  for (int64_t label : pictures.labels())
    ++counts[label];
  OrderedJson classes = OrderedJson::object();
  report.line("  {} {}", counts.size(),
              counts.size() == 1 ? "class" : "classes");
  for (const auto &[label, count] : counts) {
    const std::string name = pictures.classes().empty()
                                 ? std::to_string(label)
                                 : pictures.classes()[size_t(label)];
    classes[name] = count;
    report.line("    {}: {}", printable(name), count);
  }
  report.json["classes"] = std::move(classes);
}

void reportPictures(const Pictures &pictures, DataReport &report) {
  PictureSurvey survey(pictures);
  survey.run();
  report.json["samples"] = pictures.count();
  const std::string kinds = joined(survey.kinds, ", ", [](auto &kind) {
    return fmt::format("{} {}", kind.second, kind.first);
  });
  report.line("  {} pictures: {}", pictures.count(),
              kinds.empty() ? "none can be read" : kinds);
  report.json["kinds"] = survey.kinds;
  if (!survey.widths.empty()) {
    report.json["width"] = rangeJson(survey.widths);
    report.json["height"] = rangeJson(survey.heights);
    for (const auto &[name, sizes] : {std::pair("width", &survey.widths),
                                      std::pair("height", &survey.heights)})
      report.line("  {} {} to {}, median {}", name, sizes->front(),
                  sizes->back(), (*sizes)[sizes->size() / 2]);
  }
  if (!pictures.labels().empty())
    reportClasses(pictures, report);
  report.broken = int64_t(survey.broken.size());
  report.json["broken"] = OrderedJson::array();
  for (const auto &[index, why] : survey.broken) {
    report.json["broken"].push_back(
        {{"name", pictures.nameOf(index)}, {"why", why}});
    report.line("  broken: {}: {}", printable(pictures.nameOf(index)), why);
  }
}

//===--- arrays -----------------------------------------------------------===//

// Reports the range of integers, or floats that are not finite.
void reportValues(const Array &array, OrderedJson &json, DataReport &report,
                  std::string &line) {
  const uint64_t count =
      array.content.bytes.size() / std::max<uint64_t>(sizeOf(array.dtype), 1);
  if (count == 0)
    return;
  if (!isFloat(array.dtype)) {
    int64_t least = integerAt(array.data(), array.dtype, 0), most = least;
    for (uint64_t i = 1; i < count; ++i) {
      const int64_t value = integerAt(array.data(), array.dtype, i);
      least = std::min(least, value), most = std::max(most, value);
    }
    json["least"] = least, json["most"] = most;
    line += fmt::format(", {} to {}", least, most);
    return;
  }
  constexpr uint64_t kChunk = 1 << 20;
  uint64_t strange = 0;
  for (uint64_t at = 0; at < count; at += kChunk) {
    const uint64_t some = std::min(kChunk, count - at);
    const auto wide = castFloats(array.data() + at * sizeOf(array.dtype), some,
                                 array.dtype, DType::F64);
    const auto *values = reinterpret_cast<const double *>(wide.data());
    strange += uint64_t(std::count_if(
        values, values + some, [](double v) { return !std::isfinite(v); }));
  }
  json["not_finite"] = strange;
  if (strange) {
    line += fmt::format(", {} values that are not finite", strange);
    ++report.broken;
  }
}

Status reportArrays(const std::string &path, DataReport &report) {
  DLC_ASSIGN(const auto source, openSource(path, {}));
  for (const std::string &key : source->keys()) {
    DLC_ASSIGN(Array array, source->head(key));
    DLC_ASSIGN(const auto rows, source->rows(key));
    const uint64_t bytes = checkedElements(array.shape).value_or(0);
    array.content = {{rows->all(), bytes * sizeOf(array.dtype)}, rows};
    std::string line = fmt::format("  {}: {}", printable(key),
                                   describe(array.dtype, array.shape));
    OrderedJson json = {{"dtype", nameOf(array.dtype)}, {"shape", array.shape}};
    reportValues(array, json, report, line);
    report.line("{}", line);
    report.json["arrays"][key] = std::move(json);
  }
  return {};
}

//===--- tables -----------------------------------------------------------===//

Result<OrderedJson> parseSurvey(const std::string &text) {
  OrderedJson json = OrderedJson::parse(text, nullptr, false);
  return json.is_object() ? Result<OrderedJson>(std::move(json))
                          : failed("dlc-data says '{}'", printable(text, 100));
}

// Reports dlc-data's description of columns.
Status reportTable(const OrderedJson &survey, DataReport &report) {
  if (!survey.contains("lines") || !survey.contains("json"))
    return failed("dlc-data does not list the columns");
  report.json.update(survey["json"]);
  for (const OrderedJson &line : survey["lines"])
    if (line.is_string())
      report.line("  {}", printable(line.get<std::string>()));
  for (const OrderedJson &text : survey.value("warnings", OrderedJson::array()))
    if (text.is_string())
      warning("{}", text.get<std::string>());
  return {};
}

//===--- tokens -----------------------------------------------------------===//

void reportLists(const TokenLists &lists, DataReport &report) {
  int64_t count = 0, most = 0;
  std::vector<int64_t> some(1 << 16);
  for (const auto &list : lists) {
    for (int64_t at = 0; at < list.count(); at += int64_t(some.size())) {
      const int64_t part = std::min(int64_t(some.size()), list.count() - at);
      list.read(at, part, some.data());
      most =
          std::max(most, *std::max_element(some.begin(), some.begin() + part));
    }
    count += list.count();
  }
  report.json["files"] = lists.size();
  report.json["tokens"] = count, report.json["largest"] = most;
  report.line("  {} tokens in {} {}, the largest is {}", count, lists.size(),
              lists.size() == 1 ? "file" : "files", most);
}

Status fill(const DataArguments &arguments, DataReport &report) {
  const std::string &path = arguments.path;
  const auto begin = [&](const char *format, const char *text) {
    report.json["path"] = path, report.json["format"] = format;
    report.line("{}: {}", printable(path), text);
  };
  const auto pictures =
      [&](const char *format, const char *text,
          const Result<std::shared_ptr<const Pictures>> &found) -> Status {
    DLC_TRY(found.status());
    begin(format, text);
    reportPictures(**found, report);
    return {};
  };
  if (path.ends_with(".bin")) {
    begin("tokens", "tokens");
    DLC_ASSIGN(const auto paths, expandRange(path));
    DLC_ASSIGN(const TokenLists lists,
               openTokenFiles(paths, tokenWidthFrom(arguments.tokens)));
    reportLists(lists, report);
    return {};
  }
  SampleOptions options;
  options.tokenizer = arguments.tokenizer;
  if (isText(path, options)) {
    begin("text", "text");
    DLC_ASSIGN(const auto lists, tokensOfText(path, options));
    reportLists(lists, report);
    return {};
  }
  if (isTable(path)) {
    DLC_ASSIGN(const std::string said,
               surveyTable(path, arguments.badSamples == "skip"
                                     ? BadSamples::Skip
                                     : BadSamples::Error));
    DLC_ASSIGN(const OrderedJson survey, parseSurvey(said));
    if (!survey.value("pictures", false)) {
      begin("table", "a table");
      return reportTable(survey, report);
    }
    return pictures("table", "a table of pictures", picturesOfTable(path));
  }
  if (isShards(path))
    return pictures("shards", "shards of pictures", openShards(path));
  if (isFolder(path))
    return pictures("folder", "a folder of pictures", openPictureFolder(path));
  begin("arrays", "arrays");
  return reportArrays(path, report);
}

Status inspectData(const DataArguments &arguments) {
  DataReport report;
  DLC_TRY(fill(arguments, report));
  if (arguments.json)
    printJson(report.json, 2);
  else
    printText(report.text);
  if (report.broken && arguments.badSamples == "error")
    return failed("'{}': {} broken; training ends at them, except at pictures "
                  "with --bad-samples=skip",
                  arguments.path,
                  report.broken == 1 ? "1 is"
                                     : fmt::format("{} are", report.broken));
  return {};
}

// Where the models and data of the guide are.
Status printSamples() {
  const std::filesystem::path bin =
      std::filesystem::path(compilerPath()).parent_path();
  const std::filesystem::path folder = bin.parent_path() / "share/dlc/models";
  if (!isFolder(folder))
    return failed("no folder {}: this installation of dlc lacks its samples",
                  folder.string());
  printOut("{}\n", folder.string());
  return {};
}

} // namespace

void addData(CommandLine &line) {
  CLI::App *data = line.app.add_subcommand("data", "look at data");
  data->require_subcommand(1);
  auto arguments = std::make_shared<DataArguments>();
  CLI::App *inspect = data->add_subcommand(
      "inspect",
      "describe samples, classes and sizes, and name broken samples");
  inspect->add_option("path", arguments->path, "as --data of dlc train")
      ->required();
  inspect
      ->add_option("--tokens", arguments->tokens,
                   "type of a .bin file of tokens without a header")
      ->check(CLI::IsMember({"auto", "uint16", "uint32"}));
  inspect->add_option("--tokenizer", arguments->tokenizer,
                      "tokenizer.json of the model, for text");
  inspect
      ->add_option(
          "--bad-samples", arguments->badSamples,
          "broken samples; skip: skipped, as in training, without an error")
      ->check(CLI::IsMember({"error", "skip"}));
  inspect->add_flag("--json", arguments->json, "one JSON object on stdout");
  inspect->footer(
      R"(Decodes every picture and reads every number. Exit code 1 if anything is broken.

Examples:
  dlc data inspect photos/train
  dlc data inspect 'train-{000..127}.tar' --json
  dlc data inspect people.csv)");
  runIfChosen(line, *inspect, [arguments] { return inspectData(*arguments); });
  addPreview(line, *data);
  CLI::App *samples = data->add_subcommand(
      "samples", "print the folder of the guide's models and data");
  samples->footer("Example:\n  ln -s \"$(dlc data samples)\" models");
  runIfChosen(line, *samples, printSamples);
}

} // namespace dlc::tool
