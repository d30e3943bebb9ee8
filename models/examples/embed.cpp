// SPDX-License-Identifier: Apache-2.0
// A program that trains a compiled model, stops when it is good enough, and
// uses it: embed MODEL.dlc TRAIN.npz TEST.npz
#include <dlc/dlc.hpp>

#include <iostream>

static void trainAndTest(char **paths) {
  dlc::Callbacks callbacks;
  callbacks.step = [](const dlc_step &step) {
    if (step.step % 50 == 0)
      std::cout << "step " << step.step << " of " << step.steps << ": loss "
                << dlc::valueOf(step, "loss").value_or(0) << "\n";
    return true;
  };
  callbacks.epoch = [](const dlc_epoch &epoch) {
    const double accuracy = dlc::valueOf(epoch, "val_accuracy").value_or(0);
    std::cout << "epoch " << epoch.epoch << ": accuracy " << accuracy << "\n";
    return accuracy < 0.95; // false ends the run
  };
  const auto test = dlc::Dataset::open(paths[2]);
  auto trainer =
      dlc::Trainer::open(paths[0], dlc::Dataset::open(paths[1]), test,
                         {{"epochs", "10"}, {"quiet", ""}}, callbacks);
  const dlc::Run run = trainer.run();
  auto session = dlc::Session::open(run.folder);
  const dlc::Evaluation result = session.evaluate(test);
  std::cout << run.folder << ": " << run.steps << " steps, accuracy "
            << result.accuracy.value_or(0) << " on " << result.samples
            << " samples\n";
}

int main(int count, char **words) {
  if (count != 4) {
    std::cerr << "usage: embed MODEL.dlc TRAIN.npz TEST.npz\n";
    return DLC_USAGE;
  }
  try {
    trainAndTest(words + 1);
    return 0;
  } catch (const dlc::Error &error) {
    std::cerr << "error: " << error.what() << "\n";
    return error.code();
  }
}
