// SPDX-License-Identifier: Apache-2.0
// Metrics by name; each has a row of a table (Metrics.cpp).
#pragma once

#include "runtime/train/metrics/Tally.h"

#include "runtime/base/options/OptionTable.h"

#include <string>
#include <vector>

namespace dlc {

// Average over classes: unweighted mean, computed from total counts, or mean
// weighted by each class's number of rows.
enum class Average { Own, Macro, Micro, Weighted };

struct MetricRow;

// A requested metric: "accuracy", "f1.micro", "top5".
struct Metric {
  std::string name;
  const MetricRow *row = nullptr;
  Average average = Average::Own;
  int top = 0;
};

// Code::Usage for an unknown metric or an average that it does not support.
Result<std::vector<Metric>> parseMetrics(const std::vector<std::string> &names);

// Code::Usage, with the supported outputs, if the metric does not apply to
// these.
Status checkFits(const Metric &metric, const Scores &scores);
// Adds the statistics that the metric is computed from.
void addNeeds(const Metric &metric, Needs &needs);

// False for a confusion matrix. Values are NaN where undefined, such as the
// area under a curve with one class.
bool isNumber(const Metric &metric);
double valueOf(const Metric &metric, const Tally &tally, const Needs &needs);
// Whether larger values are better, for `--best`; also for names such as
// "loss".
bool isMoreBetter(const Metric &metric);

// "accuracy, balanced_accuracy, ..."
std::string metricNames();

// Adds --metrics.
Option &addMetrics(OptionTable &table, std::string key, Words &names);

// Values per class of those of `metrics` that are defined per class; empty if
// there are none.
struct ClassTable {
  std::vector<std::string> columns;      // "precision", ..., "rows"
  std::vector<std::vector<double>> rows; // per class
};
ClassTable classTable(const std::vector<Metric> &metrics, const Tally &tally);

} // namespace dlc
