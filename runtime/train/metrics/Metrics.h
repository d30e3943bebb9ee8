// SPDX-License-Identifier: Apache-2.0
// Metrics by name: one row of a table each (Metrics.cpp).
#pragma once

#include "runtime/train/metrics/Tally.h"

#include "runtime/base/options/OptionTable.h"

#include <string>
#include <vector>

namespace dlc {

// Over the classes: their plain mean, of all their counts together, or weighted
// by how many rows each has.
enum class Average { Own, Macro, Micro, Weighted };

struct MetricRow;

// One that was asked for: "accuracy", "f1.micro", "top5".
struct Metric {
  std::string name;
  const MetricRow *row = nullptr;
  Average average = Average::Own;
  int top = 0;
};

// Code::Usage names what is wrong: no such metric, an average that it has not.
Result<std::vector<Metric>> parseMetrics(const std::vector<std::string> &names);

// Whether a metric is of these outputs; Code::Usage says which are.
Status checkFits(const Metric &metric, const Scores &scores);
// Adds what it is computed from.
void addNeeds(const Metric &metric, Needs &needs);

// NaN where it is not defined, as the area under a curve of one class. A
// confusion matrix is no number.
bool isNumber(const Metric &metric);
double valueOf(const Metric &metric, const Tally &tally, const Needs &needs);
// Whether more is better: what `--best` asks. Any name, "loss" too.
bool isMoreBetter(const Metric &metric);

// "accuracy, balanced_accuracy, ..."
std::string metricNames();

// --metrics.
Option &addMetrics(OptionTable &table, std::string key, Words &names);

// A row of each class for those of `metrics` that are of classes one by one;
// none if there is no such metric.
struct ClassTable {
  std::vector<std::string> columns;      // "precision", ..., "rows"
  std::vector<std::vector<double>> rows; // of each class
};
ClassTable classTable(const std::vector<Metric> &metrics, const Tally &tally);

} // namespace dlc
