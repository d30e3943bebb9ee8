// SPDX-License-Identifier: Apache-2.0
// Options for how samples of files become samples of a step.
#pragma once

#include "runtime/data/augment/Augment.h"

#include <optional>
#include <string>
#include <vector>

namespace dlc {

class OptionTable;

// Treatment of samples that cannot be decoded.
enum class BadSamples {
  Error, // reading fails
  Skip,  // skipped with a warning: the next picture replaces them; rows of
         // tables are dropped
};

// Padding of an input's samples that are too short: a value in the type of the
// file, before conversion.
struct InputPadding {
  std::string input; // name of the input or array
  double value = 0;
};

struct SampleOptions {
  std::optional<double> scale; // factor; default: 1/255 for u8, else 1
  // A float sample becomes (value * scale - mean) / std, with one number per
  // channel or one for all. Set both or neither.
  std::vector<double> mean, std;
  // Type of a token file without header: "uint16", "uint32"; "auto": the file
  // has a header.
  std::string tokens = "auto";
  std::string tokenizer; // tokenizer.json for text
  // Text: the unit that special tokens enclose: "none", "file", "line".
  std::string specialTokens = "none";
  // Text: tokens per row of packed whole documents; 0: windows of all tokens.
  int64_t pack = 0;
  // Tables: which columns make which array, in dlc-data's syntax.
  std::string columns;
  // Tables and picture folders: names of the label classes, in order of their
  // numbers; empty: derived from the data.
  std::vector<std::string> classes;
  BadSamples badSamples = BadSamples::Error;
  std::vector<InputPadding> pads;
  Augmentation augmentation; // of pictures, in training only
  // Probability of torchvision's RandomErasing, after all other changes.
  double randomErase = 0;
  // alpha of MixUp and CutMix (Mix.h); 0: disabled.
  double mixup = 0, cutmix = 0;

  bool mixes() const { return mixup > 0 || cutmix > 0; }
  // Whether `augmentation` changes samples in training, or in evaluation.
  bool changesPictures(bool training) const {
    return training ? augmentation.changes() : augmentation.cropPct != 1;
  }

  // Adds rows "SECTION.NAME": options of all passes over samples, and options
  // of training only.
  void addTo(OptionTable &table, const std::string &section);
  void addDrawsTo(OptionTable &table, const std::string &section);
};

// The options that differ from the defaults: "hflip 0.5, crop random".
std::string textOf(const SampleOptions &options);

} // namespace dlc
