// SPDX-License-Identifier: Apache-2.0
// What a run makes of samples between their file and its step.
#pragma once

#include "runtime/data/augment/Augment.h"

#include <optional>
#include <string>
#include <vector>

namespace dlc {

class OptionTable;

// What becomes of samples that cannot be decoded.
enum class BadSamples {
  Error, // they end what reads them
  Skip,  // they are passed over, with a warning: the next picture takes their
         // place, a table has a row less
};

// What samples of an input that are too short are filled up with: a number as
// the file has them.
struct InputPadding {
  std::string input; // by its name, or the array's
  double value = 0;
};

struct SampleOptions {
  std::optional<double> scale; // factor; absent: 1/255 for u8, else 1
  // A float sample becomes (value * scale - mean) / std: a number for each
  // channel, or one for all. Both or none.
  std::vector<double> mean, std;
  // Type of a token file that has no header: "uint16", "uint32"; "auto": it has
  // one.
  std::string tokens = "auto";
  std::string tokenizer; // of text: a tokenizer.json
  // Of text: what is a document, with special tokens around it: "none", "file",
  // "line".
  std::string specialTokens = "none";
  // Of text: tokens of a row of whole documents; 0: windows of all tokens.
  int64_t pack = 0;
  // Of tables: which columns make which array, as dlc-data reads it.
  std::string columns;
  // Of tables and folders of pictures: the names of the labels' classes in the
  // order of their numbers; empty: found.
  std::vector<std::string> classes;
  BadSamples badSamples = BadSamples::Error;
  std::vector<InputPadding> pads;
  Augmentation augmentation; // of pictures: what it draws, in training only
  // torchvision's RandomErasing: how likely a box of a picture becomes 0, when
  // all else is done.
  double randomErase = 0;
  // How a batch is mixed with itself, see Mix.h: alpha of the share; 0: not.
  double mixup = 0, cutmix = 0;

  bool mixes() const { return mixup > 0 || cutmix > 0; }
  // Whether evaluation's samples are changed by `augmentation`, or training's.
  bool changesPictures(bool training) const {
    return training ? augmentation.changes() : augmentation.cropPct != 1;
  }

  // Rows "SECTION.NAME": those of every pass over samples, and those of a pass
  // of training.
  void addTo(OptionTable &table, const std::string &section);
  void addDrawsTo(OptionTable &table, const std::string &section);
};

// The options that are not as by default: "hflip 0.5, crop random".
std::string textOf(const SampleOptions &options);

} // namespace dlc
