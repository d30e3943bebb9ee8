// SPDX-License-Identifier: Apache-2.0
// The outputs and labels that metrics use: scores.json of an artifact, written
// by the compiler.
#pragma once

#include "runtime/plan/Artifact.h"

#include <optional>
#include <string>

namespace dlc {

// binary: a number and a 0/1 label per row; labels: several independent ones;
// classes: a score for each class and the label's number; values: numbers and
// target numbers.
enum class Task { Binary, Labels, Classes, Values };
std::string_view nameOf(Task task); // "binary", "multilabel", ...

struct Scores {
  Task task = Task::Classes;
  std::string output, labels;                // of predict; key in the data
  int64_t outer = 1, classes = 1, inner = 1; // factors of an output's size
  std::optional<int64_t> ignored;            // label of rows that are ignored
  bool probabilities = false;                // else logits or log-probabilities
  int port = 0;                              // of predict's outputs

  int64_t rows() const { return outer * inner; } // per sample
  int64_t elements() const { return rows() * classes; }
};

// For samples of the model's size `size`. Code::Usage if the model's loss does
// not define its outputs' meaning, which `asks` needs; Code::Corrupt for a
// damaged file.
Result<Scores> readScores(const Artifact &artifact, int size = 0,
                          std::string_view asks = "--metrics");

} // namespace dlc
