// SPDX-License-Identifier: Apache-2.0
// Metrics as defined by sklearn and torchmetrics. For several classes the
// default average is macro; a class that occurs neither in labels nor in
// outputs is excluded. 0 / 0 is 0.
#include "runtime/train/metrics/Metrics.h"

#include "runtime/base/options/Nearest.h"

#include <algorithm>
#include <cmath>
#include <fmt/ranges.h>

namespace dlc {
namespace {

enum Tasks : unsigned {
  kBinary = 1 << int(Task::Binary),
  kLabels = 1 << int(Task::Labels),
  kClasses = 1 << int(Task::Classes),
  kValues = 1 << int(Task::Values),
  kCounted = kBinary | kLabels | kClasses
};
enum Use : unsigned { kMatrix = 1, kOrder = 2, kLogs = 4, kColumns = 8 };

double over(double a, double b) { return b == 0 ? 0 : a / b; }
size_t classesOf(const Tally &t) { return size_t(t.scores().classes); }

} // namespace

struct MetricRow {
  std::string_view name;
  unsigned tasks;
  unsigned uses;
  bool more; // larger values are better
  // Either computed per class and averaged,
  double (*ofClass)(const ClassCounts &) = nullptr;
  // or from all counts; null: not a scalar.
  double (*ofAll)(const Tally &, Average) = nullptr;
  bool averages = false; // ofAll supports macro and weighted
};

namespace {

double recall(const ClassCounts &n) { return over(n.tp, n.tp + n.fn); }
double precision(const ClassCounts &n) { return over(n.tp, n.tp + n.fp); }
double f1(const ClassCounts &n) {
  return over(2 * n.tp, 2 * n.tp + n.fp + n.fn);
}
double iou(const ClassCounts &n) { return over(n.tp, n.tp + n.fp + n.fn); }
double specificity(const ClassCounts &n) { return over(n.tn, n.tn + n.fp); }

// Mean over occurring classes, weighted by `weight`.
template <class Value, class Weight>
double meanOver(const Tally &t, const Value &value, const Weight &weight) {
  double sum = 0, weights = 0;
  for (size_t c = 0; c < classesOf(t); ++c)
    if (const double w = weight(c); w > 0)
      if (const double x = value(c); !std::isnan(x))
        sum += w * x, weights += w;
  return weights == 0 ? NAN : sum / weights;
}

double isThere(const Tally &t, size_t c) {
  const ClassCounts n = t.countsOf(c);
  return t.scores().task != Task::Classes || n.tp + n.fp + n.fn > 0;
}

double averaged(const Tally &t, double (*ofClass)(const ClassCounts &),
                Average average) {
  if (average == Average::Micro) {
    ClassCounts all;
    for (size_t c = 0; c < classesOf(t); ++c) {
      const ClassCounts n = t.countsOf(c);
      all = {all.tp + n.tp, all.fp + n.fp, all.fn + n.fn, all.tn + n.tn};
    }
    return ofClass(all);
  }
  const auto value = [&](size_t c) { return ofClass(t.countsOf(c)); };
  if (average == Average::Weighted)
    return meanOver(t, value, [&](size_t c) { return double(t.actual(c)); });
  return meanOver(t, value, [&](size_t c) { return isThere(t, c); });
}

double accuracy(const Tally &t, Average average) {
  if (average == Average::Macro)
    return averaged(t, recall, average);
  return over(double(t.right()),
              double(t.rows()) *
                  (t.scores().task == Task::Labels ? t.scores().classes : 1));
}

// Mean recall of classes that occur in labels.
double balancedAccuracy(const Tally &t, Average) {
  if (t.scores().task == Task::Binary) {
    const ClassCounts n = t.countsOf(0);
    return (recall(n) + specificity(n)) / 2;
  }
  return meanOver(
      t, [&](size_t c) { return recall(t.countsOf(c)); },
      [&](size_t c) { return t.actual(c) > 0; });
}

// Number of rows, number of correct ones, and sums over classes of found *
// actual, found^2 and actual^2.
struct Agreement {
  double rows, same, both = 0, found = 0, actual = 0;
};
Agreement agreementOf(const Tally &t) {
  Agreement a{double(t.rows()), double(t.right())};
  const auto add = [&](double found, double actual) {
    a.both += found * actual, a.found += found * found,
        a.actual += actual * actual;
  };
  for (size_t c = 0; c < classesOf(t); ++c) {
    const ClassCounts n = t.countsOf(c);
    add(n.tp + n.fp, n.tp + n.fn);
    if (t.scores().task == Task::Binary)
      add(n.tn + n.fn, n.tn + n.fp);
  }
  return a;
}
double matthews(const Tally &t, Average) {
  const Agreement a = agreementOf(t);
  return over(
      a.same * a.rows - a.both,
      std::sqrt((a.rows * a.rows - a.found) * (a.rows * a.rows - a.actual)));
}
double kappa(const Tally &t, Average) {
  const Agreement a = agreementOf(t);
  return over(a.same * a.rows - a.both, a.rows * a.rows - a.both);
}

// Area under the ROC curve of a class against the rest, by trapezoids; equal
// scores are one point.
double areaUnderCurve(const Tally &t, size_t c) {
  double yes = 0, no = 0, area = 0;
  const bool known = t.inOrder(c, [&](int64_t positive, int64_t negative) {
    area += double(negative) * (yes + double(positive) / 2);
    yes += double(positive), no += double(negative);
  });
  return known && yes > 0 && no > 0 ? area / yes / no : NAN;
}
// Sum of precision times increase of recall.
double averagePrecision(const Tally &t, size_t c) {
  double yes = 0, all = 0, sum = 0;
  const bool known = t.inOrder(c, [&](int64_t positive, int64_t negative) {
    yes += double(positive), all += double(positive + negative);
    sum += double(positive) * yes / all;
  });
  return known && yes > 0 ? sum / yes : NAN;
}
template <double (*of)(const Tally &, size_t)>
double curve(const Tally &t, Average average) {
  const bool weighs = average == Average::Weighted;
  return meanOver(
      t, [&](size_t c) { return of(t, c); },
      [&](size_t c) { return weighs ? double(t.actual(c)) : 1; });
}

double elementsOf(const Tally &t) {
  return double(t.rows()) * double(t.scores().elements());
}
double mae(const Tally &t, Average) { return over(t.sum(0), elementsOf(t)); }
double mse(const Tally &t, Average) { return over(t.sum(1), elementsOf(t)); }
double rmse(const Tally &t, Average) { return std::sqrt(mse(t, {})); }
// Mean over the elements of a sample; 1 or 0 for constant labels.
double r2(const Tally &t, Average) {
  const auto n = double(t.rows());
  const auto columns = size_t(t.scores().elements());
  double sum = 0;
  for (size_t i = 0; i < columns; ++i) {
    const double error = t.sum(2 + 3 * i), distance = t.sum(3 + 3 * i);
    const double all = t.sum(4 + 3 * i) - distance * distance / n;
    sum += all > 0 ? 1 - error / all : error == 0;
  }
  return over(sum, double(columns));
}
double perplexity(const Tally &t, Average) {
  return std::exp(over(t.sum(0), double(t.rows())));
}
double topHits(const Tally &, Average) { return 0; } // see valueOf

const MetricRow kRows[] = {
    {"accuracy", kCounted, 0, true, nullptr, accuracy, true},
    {"balanced_accuracy", kBinary | kClasses, 0, true, nullptr,
     balancedAccuracy},
    {"top", kClasses, 0, true, nullptr, topHits},
    {"precision", kCounted, 0, true, precision},
    {"recall", kCounted, 0, true, recall},
    {"specificity", kCounted, 0, true, specificity},
    {"f1", kCounted, 0, true, f1},
    {"dice", kCounted, 0, true, f1},
    {"iou", kCounted, 0, true, iou},
    {"mcc", kBinary | kClasses, 0, true, nullptr, matthews},
    {"kappa", kBinary | kClasses, 0, true, nullptr, kappa},
    {"auc", kCounted, kOrder, true, nullptr, curve<areaUnderCurve>, true},
    {"ap", kCounted, kOrder, true, nullptr, curve<averagePrecision>, true},
    {"perplexity", kClasses, kLogs, false, nullptr, perplexity},
    {"confusion", kBinary | kClasses, kMatrix, true},
    {"mae", kValues, 0, false, nullptr, mae},
    {"mse", kValues, 0, false, nullptr, mse},
    {"rmse", kValues, 0, false, nullptr, rmse},
    {"r2", kValues, kColumns, true, nullptr, r2},
};
constexpr std::string_view kTop = "top";

Words namesFor(unsigned tasks) {
  Words names;
  for (const MetricRow &row : kRows)
    if (row.tasks & tasks)
      names.push_back(std::string(row.name) + (row.name == kTop ? "5" : ""));
  return names;
}

const MetricRow *findRow(std::string_view name) {
  for (const MetricRow &row : kRows)
    if (row.name == name)
      return &row;
  return nullptr;
}

// 5 for "top5"; 0 for other names.
int topOf(const std::string &name) {
  if (!std::string_view(name).starts_with(kTop))
    return 0;
  const auto number = parseCount(name.substr(kTop.size()), 1, 1 << 20);
  return number ? int(*number) : 0;
}

Result<Metric> parseMetric(const std::string &word) {
  static const Words averages = {"", "macro", "micro", "weighted"};
  const size_t dot = word.find('.');
  const std::string name = word.substr(0, dot);
  Metric metric{word, findRow(topOf(name) ? std::string(kTop) : name),
                Average::Own, topOf(name)};
  if (!metric.row || (metric.row->name == kTop && !metric.top))
    return usageError("'{}' is not a metric, expected some of {}{}", word,
                      metricNames(), suggestion(name, namesFor(~0U)));
  if (dot == word.npos)
    return metric;
  const std::string average = word.substr(dot + 1);
  const auto found = std::find(averages.begin() + 1, averages.end(), average);
  const bool any = metric.row->ofClass || metric.row->averages;
  if (!any || found == averages.end())
    return usageError(
        "'{}': {}", word,
        any ? fmt::format("'{}' is no average, expected macro, micro or "
                          "weighted",
                          average)
            : fmt::format("{} is one number, without averages", name));
  metric.average = static_cast<Average>(found - averages.begin());
  if (metric.average == Average::Micro && metric.row->uses & kOrder)
    return usageError("'{}': {} is averaged as macro or weighted", word, name);
  return metric;
}

} // namespace

Result<std::vector<Metric>>
parseMetrics(const std::vector<std::string> &names) {
  std::vector<Metric> metrics;
  for (const std::string &name : names) {
    DLC_ASSIGN(Metric metric, parseMetric(name));
    if (std::ranges::none_of(metrics,
                             [&](const Metric &m) { return m.name == name; }))
      metrics.push_back(std::move(metric));
  }
  return metrics;
}

Status checkFits(const Metric &metric, const Scores &scores) {
  const unsigned task = 1U << int(scores.task);
  if (!(metric.row->tasks & task))
    return usageError("{} is not a metric of output '{}', which is {} by its "
                      "loss; metrics that apply: {}",
                      metric.name, scores.output, nameOf(scores.task),
                      fmt::join(namesFor(task), ", "));
  if (scores.task == Task::Binary && metric.average != Average::Own)
    return usageError("{}: output '{}' is binary, of one class: there is "
                      "nothing to average, expected {}",
                      metric.name, scores.output, metric.row->name);
  if (scores.task == Task::Labels && metric.row->ofAll == accuracy &&
      metric.average != Average::Own)
    return usageError("{}: accuracy of several labels is the share of all that "
                      "are right, without averages",
                      metric.name);
  if (metric.top > scores.classes)
    return usageError("{}: output '{}' has {} classes", metric.name,
                      scores.output, scores.classes);
  return {};
}

void addNeeds(const Metric &metric, Needs &needs) {
  const unsigned uses = metric.row->uses;
  needs.matrix |= (uses & kMatrix) != 0;
  needs.order |= (uses & kOrder) != 0;
  needs.logs |= (uses & kLogs) != 0;
  needs.columns |= (uses & kColumns) != 0;
  if (metric.top)
    needs.tops.push_back(metric.top);
}

bool isNumber(const Metric &metric) {
  return metric.row->ofClass || metric.row->ofAll;
}

double valueOf(const Metric &metric, const Tally &tally, const Needs &needs) {
  if (tally.rows() == 0)
    return NAN;
  if (metric.top) {
    const auto at = std::ranges::find(needs.tops, metric.top);
    return over(double(tally.topHits(size_t(at - needs.tops.begin()))),
                double(tally.rows()));
  }
  return metric.row->ofClass
             ? averaged(tally, metric.row->ofClass, metric.average)
             : metric.row->ofAll(tally, metric.average);
}

bool isMoreBetter(const Metric &metric) { return metric.row->more; }

std::string metricNames() {
  return fmt::format("{}", fmt::join(namesFor(~0U), ", "));
}

Option &addMetrics(OptionTable &table, std::string key, Words &names) {
  Option &row = table.list(
      std::move(key), names, "NAME,...",
      fmt::format("metrics of validation besides the loss: {}; with averages "
                  "over classes: f1.macro, f1.micro, f1.weighted; auc and ap "
                  "are exact up to {} scores, else computed with {} bins",
                  metricNames(), Tally::kMostScores, Tally::kBins));
  row.commas = true;
  return row;
}

ClassTable classTable(const std::vector<Metric> &metrics, const Tally &tally) {
  std::vector<const MetricRow *> rows;
  for (const Metric &metric : metrics)
    if (metric.row->ofClass && std::ranges::count(rows, metric.row) == 0)
      rows.push_back(metric.row);
  ClassTable table;
  if (rows.empty() || classesOf(tally) < 2)
    return table;
  for (const MetricRow *row : rows)
    table.columns.emplace_back(row->name);
  table.columns.emplace_back("rows");
  for (size_t c = 0; c < classesOf(tally); ++c) {
    table.rows.emplace_back();
    for (const MetricRow *row : rows)
      table.rows.back().push_back(row->ofClass(tally.countsOf(c)));
    table.rows.back().push_back(double(tally.actual(c)));
  }
  return table;
}

} // namespace dlc
