// What each optimizer reads, and its defaults.
#include "passes/Options.h"
#include <algorithm>
#include <cmath>
#include <iterator>

namespace dlc {
namespace {

constexpr double none = NAN; // not read

struct Defaults {
  const char *name;
  double lr, weightDecay, momentum, beta1, beta2, epsilon, alpha;
  bool nesterov, dampening, amsgrad; // whether it is read
};

const Defaults table[] = {
    // name        lr    decay momentum beta1 beta2  eps    alpha  what is read
    {"sgd", 1e-2, 0, 0.9, none, none, none, none, true, true, false},
    {"adam", 1e-3, 0, none, 0.9, 0.999, 1e-8, none, false, false, true},
    {"adamw", 1e-3, 1e-2, none, 0.9, 0.999, 1e-8, none, false, false, true},
    {"rmsprop", 1e-2, 0, 0, none, none, 1e-8, 0.99, false, false, false},
    {"rmsprop_tf", 1e-2, 0, 0, none, none, 1e-10, 0.9, false, false, false},
    {"adagrad", 1e-2, 0, none, none, none, 1e-10, none, false, false, false},
    {"lamb", 1e-3, 1e-2, none, 0.9, 0.999, 1e-6, none, false, false, false},
    {"lion", 1e-4, 0, none, 0.9, 0.99, none, none, false, false, false},
    {"muon", 1e-3, 0.1, 0.95, none, none, 1e-7, none, true, false, false},
};

const Defaults *find(const std::string &name) {
  auto it = std::find_if(std::begin(table), std::end(table),
                         [&](const Defaults &d) { return d.name == name; });
  return it == std::end(table) ? nullptr : it;
}

const std::pair<const char *, double Defaults::*> numbers[] = {
    {"lr", &Defaults::lr},
    {"weight-decay", &Defaults::weightDecay},
    {"momentum", &Defaults::momentum},
    {"beta1", &Defaults::beta1},
    {"beta2", &Defaults::beta2},
    {"eps", &Defaults::epsilon},
    {"alpha", &Defaults::alpha},
};
const std::pair<const char *, bool Defaults::*> switches[] = {
    {"nesterov", &Defaults::nesterov},
    {"dampening", &Defaults::dampening},
    {"amsgrad", &Defaults::amsgrad},
};

} // namespace

std::vector<std::string> optimizerNames() {
  std::vector<std::string> names;
  for (const Defaults &d : table)
    names.push_back(d.name);
  return names;
}

std::optional<double> optimizerDefault(const std::string &optimizer,
                                       const std::string &option) {
  const Defaults *d = find(optimizer);
  for (auto [name, field] : numbers)
    if (d && option == name && !std::isnan(d->*field))
      return d->*field;
  return std::nullopt;
}

bool optimizerReads(const std::string &optimizer, const std::string &flag) {
  if (flag == "betas")
    return optimizerDefault(optimizer, "beta1").has_value();
  for (auto [name, field] : numbers)
    if (flag == name)
      return optimizerDefault(optimizer, flag).has_value();
  const Defaults *d = find(optimizer);
  for (auto [name, field] : switches)
    if (flag == name)
      return d && d->*field;
  return true;
}

void OptimizerOptions::resolve() {
  auto fill = [&](std::optional<double> &field, const char *option) {
    if (!field)
      field = optimizerDefault(name, option);
  };
  fill(lr, "lr");
  fill(weightDecay, "weight-decay");
  fill(momentum, "momentum");
  fill(beta1, "beta1");
  fill(beta2, "beta2");
  fill(epsilon, "eps");
  fill(alpha, "alpha");
  if (!nesterov)
    nesterov = name == "muon";
}

} // namespace dlc
