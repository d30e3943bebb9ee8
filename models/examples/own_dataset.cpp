// SPDX-License-Identifier: Apache-2.0
// Samples that a program makes as they are needed: a model of 8 x 8 numbers
// and 10 classes learns which of ten waves it sees. own_dataset MODEL.dlc RUN
#include <dlc/dlc.hpp>

#include <cmath>
#include <iostream>

namespace {

class Waves final : public dlc::Source {
public:
  std::string name() const override { return "waves"; }
  std::string identity() const override { return "waves 1"; }
  int64_t samples() const override { return 2000; }
  std::vector<dlc::Tensor> columns() const override {
    return {{"x", DLC_F32, {1, 8, 8}}, {"y", DLC_I64, {}}};
  }

  // The same for equal samples, so that a run may be resumed.
  void read(size_t column, int64_t sample, void *to) const override {
    const int64_t wave = sample % 10;
    if (column == 1) {
      *static_cast<int64_t *>(to) = wave;
      return;
    }
    const double phase = 0.1 * static_cast<double>(sample);
    for (int i = 0; i < 64; ++i)
      static_cast<float *>(to)[i] = static_cast<float>(
          std::sin(phase + 0.1 * i * static_cast<double>(wave + 1)));
  }
};

void train(const std::string &model, const std::string &run) {
  const auto waves = dlc::Dataset::of(std::make_shared<Waves>());
  auto trainer = dlc::Trainer::open(
      model, waves, waves, {{"epochs", "20"}, {"run", run}, {"quiet", ""}});
  const dlc::Run done = trainer.run();
  auto session = dlc::Session::open(done.folder);
  std::cout << "accuracy " << session.evaluate(waves).accuracy.value_or(0)
            << "\n";
}

} // namespace

int main(int count, char **words) {
  if (count != 3) {
    std::cerr << "usage: own_dataset MODEL.dlc RUN\n";
    return DLC_USAGE;
  }
  try {
    train(words[1], words[2]);
    return 0;
  } catch (const dlc::Error &error) {
    std::cerr << "error: " << error.what() << "\n";
    return error.code();
  }
}
