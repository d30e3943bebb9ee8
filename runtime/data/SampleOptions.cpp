// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/SampleOptions.h"

#include "runtime/base/Text.h"
#include "runtime/base/options/PixelNumbers.h"
#include "runtime/data/lengths/Joined.h"

#include <algorithm>
#include <fmt/ranges.h>
#include <span>

namespace dlc {
namespace {

Words textsOf(std::span<const double> numbers) {
  Words words;
  for (double number : numbers)
    words.push_back(numberText(number));
  return words;
}

void addByChannel(OptionTable &table, std::string key,
                  std::vector<double> &field,
                  Result<std::vector<double>> (*parse)(const Words &),
                  std::string help) {
  Option &row = table.add(std::move(key), std::move(help), "NAME|NUMBER,...");
  row.commas = true;
  row.set = [&field, parse](const Words &words) -> Status {
    DLC_ASSIGN(field, parse(words));
    return {};
  };
  row.get = [&field] { return textsOf(field); };
}

void addRange(OptionTable &table, const std::string &key, DrawRange &field,
              double high, std::string help, const std::string &crop) {
  Option &row = table.add(key, std::move(help), "LOW,HIGH");
  row.only(crop, {"random"}).commas = true;
  row.set = [&field, high](const Words &words) -> Status {
    DLC_ASSIGN(const auto numbers, parseFractions(words, kAboveZero, high));
    if (numbers.size() != 2 || numbers[0] > numbers[1])
      return usageError("expected two numbers, the smaller first, found '{}'",
                        fmt::join(words, ","));
    field = {numbers[0], numbers[1]};
    return {};
  };
  row.get = [&field] { return textsOf(std::array{field.low, field.high}); };
}

// A switch with an optional probability.
void addChance(OptionTable &table, const std::string &key, double &field,
               double usual, const std::string &help) {
  Option &row = table.add(
      key, fmt::format("{} (alone: {})", help, numberText(usual)), "P");
  row.optionalWord = true;
  row.set = [&field, usual](const Words &words) -> Status {
    DLC_ASSIGN(const std::string word, oneWord(words));
    if (word == "true" || word == "false")
      return field = word == "true" ? usual : 0, Status();
    DLC_ASSIGN(field, parseNumber(word, 0, 1));
    return {};
  };
  row.get = [&field] { return Words{numberText(field)}; };
}

void addJitter(OptionTable &table, const std::string &key,
               JitterRanges &field) {
  Option &row =
      table.add(key,
                "largest relative changes of brightness, contrast, saturation "
                "and hue (at most 0.5), in random order; default: 0",
                "B,C,S,H");
  row.commas = true;
  row.set = [&field](const Words &words) -> Status {
    DLC_ASSIGN(auto numbers, parseFractions(words, 0, 1000));
    if (numbers.size() > 4 || (numbers.size() == 4 && numbers[3] > 0.5))
      return usageError("expected at most four numbers, the hue's at most 0.5, "
                        "found '{}'",
                        fmt::join(words, ","));
    numbers.resize(4);
    field = {numbers[0], numbers[1], numbers[2], numbers[3]};
    return {};
  };
  row.get = [&field] {
    return textsOf(std::array{field.brightness, field.contrast,
                              field.saturation, field.hue});
  };
}

void addPads(OptionTable &table, std::string key,
             std::vector<InputPadding> &field) {
  Option &row =
      table.add(std::move(key),
                "padding value of each input, for samples shorter than the "
                "model was compiled for; for labels, one that the loss ignores",
                "INPUT:NUMBER,...");
  row.commas = true;
  row.set = [&field](const Words &words) -> Status {
    std::vector<InputPadding> pads;
    for (const std::string &word : words) {
      const size_t colon = word.rfind(':');
      if (colon == std::string::npos || colon == 0)
        return usageError("expected INPUT:NUMBER, found '{}'", word);
      DLC_ASSIGN(const double value,
                 parseNumber(word.substr(colon + 1), -kNoLimit, kNoLimit));
      pads.push_back({word.substr(0, colon), value});
      for (size_t i = 0; i + 1 < pads.size(); ++i)
        if (pads[i].input == pads.back().input)
          return usageError("'{}' has two numbers, expected one",
                            pads[i].input);
    }
    field = std::move(pads);
    return {};
  };
  row.get = [&field] {
    Words words;
    for (const InputPadding &pad : field)
      words.push_back(pad.input + ":" + numberText(pad.value));
    return words;
  };
}

} // namespace

void SampleOptions::addTo(OptionTable &table, const std::string &section) {
  const auto key = [&](const char *name) { return section + "." + name; };
  Option &factor =
      table
          .number(
              key("scale"), scale, -kNoLimit, kNoLimit,
              "factor of the samples' values (default: 1/255 for u8, else 1)")
          .described("FACTOR");
  factor.set = [this, set = factor.set](const Words &words) -> Status {
    DLC_TRY(set(words));
    return scale == 0 ? usageError("0 would make all samples equal") : Status();
  };
  addByChannel(table, key("mean"), mean, parseMeans,
               "mean of (value scale - mean) / std, one number per channel or "
               "one for all; or a name: imagenet, inception, clip");
  addByChannel(table, key("std"), std, parseDeviations,
               "std of (value scale - mean) / std, like --mean");
  table.choice(
      key("interpolation"), augmentation.filter,
      {"nearest", "bilinear", "bicubic"},
      "interpolation when a picture is resized, antialiased like Pillow's");
  table
      .number(key("crop-pct"), augmentation.cropPct, 0.01, 1,
              "ratio of the center crop's side to the resized picture's: 0.875 "
              "is 224 of 256")
      .described("SHARE");
  table.choice(key("tokens"), tokens, {"auto", "uint16", "uint32"},
               "token type of .bin files; auto: from the header");
  table.text(key("tokenizer"), tokenizer, "FILE",
             "tokenizer.json for text (.txt, or a folder of them)");
  table.choice(key("special-tokens"), specialTokens, {"none", "file", "line"},
               "documents that get the tokenizer's special tokens, such as "
               "[CLS] and [SEP]: each file of text, or each line");
  table
      .count(key("pack"), pack, 0,
             "tokens of a row that holds several documents of text (each line; "
             "each file with --special-tokens=file; \"text\" of each line of "
             "a .jsonl), for a model of dlc compile --pack; 0: none")
      .described("T");
  table.choice(key("bad-samples"), badSamples, {"error", "skip"},
               "samples that cannot be decoded; error: the run ends; skip: the "
               "next picture, or no row of a table, with a warning");
  Option &names = table.text(
      key("columns"), columns, "ARRAY:COLUMN,...;...",
      "columns of a table (.csv, .tsv, .parquet) for each array, as in "
      "x:a,b,f..k;y:label (default: y is column y, x all others); for files of "
      "arrays, the array of each input, as in x=images,y=labels");
  names.set = [this, set = names.set](const Words &words) -> Status {
    DLC_TRY(set(words));
    columns = columnsText(columns);
    return {};
  };
  table
      .list(key("classes"), classes, "NAME,...",
            "class names of a table or folder in the order of their numbers "
            "(default: those of the training data, sorted)")
      .commas = true;
  table.require([this](auto &) -> Status {
    auto sorted = classes;
    std::ranges::sort(sorted);
    if (std::ranges::adjacent_find(sorted) != sorted.end())
      return usageError("--classes has a name twice");
    return {};
  });
  addPads(table, key("pad"), pads);
  table.require([this](auto &) -> Status {
    if (mean.empty() == std.empty())
      return {};
    return usageError("--mean and --std belong together, found only --{}",
                      mean.empty() ? "std" : "mean");
  });
}

std::string textOf(const SampleOptions &options) {
  SampleOptions own = options, usual;
  OptionTable table, defaults;
  for (auto &[of, to] : {std::pair(&own, &table), std::pair(&usual, &defaults)})
    of->addTo(*to, "run"), of->addDrawsTo(*to, "run");
  return joined(table.all(), ", ", [&](const Option &option) {
    return option.yaml() == defaults.find(option.key)->yaml()
               ? ""
               : fmt::format("{} {}", option.name(), option.yaml());
  });
}

void SampleOptions::addDrawsTo(OptionTable &table, const std::string &section) {
  Augmentation &a = augmentation;
  const auto key = [&](const char *name) { return section + "." + name; };
  table.group("Augmentation");
  table.choice(key("crop"), a.crop, {"center", "random", "padded"},
               "crop of pictures in training; center: as in evaluation; "
               "random: random position and size (RandomResizedCrop); padded: "
               "random position after padding in black (RandomCrop)");
  addRange(table, key("crop-scale"), a.cropScale, 1,
           "range of the crop's share of the picture's area", key("crop"));
  addRange(table, key("crop-ratio"), a.cropRatio, 1000,
           "range of the crop's width / height, as in 3/4,4/3", key("crop"));
  table
      .count(key("crop-padding"), a.cropPadding, 1,
             "width of the black padding in pixels", 1024)
      .only(key("crop"), {"padded"});
  addChance(table, key("hflip"), a.hflip, 0.5, "horizontal flip of a share P");
  addChance(table, key("vflip"), a.vflip, 0.5, "vertical flip of a share P");
  addJitter(table, key("color-jitter"), a.jitter);
  addChance(
      table, key("random-erase"), randomErase, 0.25,
      "a random box set to 0, after --mean and --std, with probability P");
  for (auto [name, field, what] :
       {std::tuple("mixup", &mixup, "mixup of samples and labels"),
        std::tuple(
            "cutmix", &cutmix,
            "cutmix: a box from another picture, and its share of the label")})
    table
        .number(key(name), *field, 0, 1000,
                fmt::format("{}, with a share from Beta(ALPHA, ALPHA); with "
                            "--mixup and --cutmix, each in half of the steps; "
                            "needs --soft-labels at compile time; 0: off",
                            what))
        .described("ALPHA");
}

} // namespace dlc
