// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/Options.h"
#include "llvm/ADT/STLExtras.h"
#include <fmt/format.h>

namespace dlc {

CompileOptions CompileOptions::resolved() const {
  CompileOptions options = *this;
  options.train.resolve();
  return options;
}

/// Defaults for the optimizer of `options`.
static CompileOptions defaultsOf(const CompileOptions &options) {
  CompileOptions d;
  d.train.optimizer.name = options.train.optimizer.name;
  return d.resolved();
}

std::vector<plan::Size> CompileOptions::sizes() const {
  std::vector<plan::Size> all;
  for (int64_t batch : batches.empty() ? std::vector<int64_t>{0} : batches)
    all.emplace_back().set_batch(batch);
  for (const auto &[name, values] : dims) {
    std::vector<plan::Size> longer;
    for (const plan::Size &size : all)
      for (int64_t value : values) {
        plan::Size::Dim &dim = *longer.emplace_back(size).add_dims();
        dim.set_name(name);
        dim.set_size(value);
      }
    all = std::move(longer);
  }
  const auto elements = [](const plan::Size &size) {
    double n = double(std::max<int64_t>(1, size.batch()));
    for (const plan::Size::Dim &dim : size.dims())
      n *= double(std::max<int64_t>(1, dim.size()));
    return n;
  };
  llvm::stable_sort(all, [&](const plan::Size &a, const plan::Size &b) {
    return elements(a) > elements(b);
  });
  return all;
}

// clang-format takes a line that begins with `import` for a module's.
auto CompileOptions::importing(const plan::Size &size) const
    -> import::ImportOptions {
  import::ImportOptions o = import;
  if (size.batch() > 0)
    o.batch = size.batch();
  for (const plan::Size::Dim &dim : size.dims())
    o.dims[dim.name()] = dim.size();
  o.otherwiseBatch = kDefaultBatch;
  o.trains = !predictOnly;
  o.init.seed = train.random.seed;
  o.device = train.target.name;
  return o;
}

std::string toYaml(const CompileOptions &options) {
  CompileOptions o = options.resolved();
  OptionTable table;
  o.addTo(table);
  return table.yaml(false);
}

/// Whether the option is worth printing: it is read, and it is a core option,
/// the optimizer's own, or not the default.
static bool isTelling(const OptionTable &table, const Option &option,
                      const OptionTable &defaults) {
  const char *core[] = {"train.loss", "train.optimizer", "train.lr",
                        "train.weight-decay"};
  return table.applies(option) &&
         (llvm::is_contained(core, option.key) ||
          option.onlyWith == "train.optimizer" ||
          option.get() != defaults.find(option.key)->get());
}

std::string toLine(const CompileOptions &options) {
  CompileOptions o = options.resolved(), d = defaultsOf(options);
  OptionTable table, defaults;
  o.addTo(table);
  d.addTo(defaults);
  std::string text;
  for (const Option &option : table.all())
    if (option.kept && isTelling(table, option, defaults))
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", option.name(),
                          option.yaml());
  return text;
}

void describePlateau(const StepOptions &options, plan::Plan &plan) {
  const ScheduleOptions &o = options.schedule;
  if (o.name != "plateau")
    return;
  StepOptions whole = options;
  whole.resolve();
  plan::Plateau &p = *plan.mutable_plateau();
  p.set_lr(*whole.optimizer.lr);
  p.set_factor(o.plateauFactor);
  p.set_threshold(o.plateauThreshold);
  p.set_min_lr(o.minLr);
  p.set_patience(o.plateauPatience);
}

void describe(const CompileOptions &options, plan::Plan &plan) {
  CompileOptions o = options.resolved(), d = defaultsOf(options);
  OptionTable table, defaults;
  o.addTo(table);
  d.addTo(defaults);
  for (const Option &option : table.all()) {
    std::string value = option.yaml(), name = option.name();
    if (!isTelling(table, option, defaults) ||
        (option.key.starts_with("model.") && name != "pack") ||
        name == "loss" || name == "ddp")
      continue;
    plan::Attribute &attribute = *plan.add_schedule();
    attribute.set_name(name);
    if (auto x = parseNumber(value, -kNoLimit, kNoLimit))
      attribute.set_f(*x);
    else
      attribute.set_s(value);
  }
}

} // namespace dlc
