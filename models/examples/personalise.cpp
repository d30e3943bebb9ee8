// SPDX-License-Identifier: Apache-2.0
// On a device: a model learns from its user's samples with low-rank adapters,
// within a limit of memory, and goes on where it was when it is killed.
//
//   dlc compile model.onnx --lora=4 --memory=64MiB -o model.dlc
//   personalise MODEL.dlc SAMPLES.npz RUN STEPS
//
// The same command, again after any end, continues the run.
#include <dlc/dlc.hpp>

#include <filesystem>
#include <iostream>

static void personalise(const std::string &model, const std::string &samples,
                        const std::string &run, const std::string &steps) {
  dlc::Options options = {{"save-every", "10"}, {"keep", "1"}, {"quiet", ""}};
  auto open = [&] {
    if (std::filesystem::exists(run + "/config.yaml"))
      return dlc::Trainer::resume(run, options);
    options.insert(options.end(),
                   {{"data", samples}, {"steps", steps}, {"run", run}});
    return dlc::Trainer::open(model, options);
  };
  const dlc::Run done = open().run();
  // What the user's device keeps: the adapters are a few kilobytes.
  auto session = dlc::Session::open(done.folder);
  uint64_t adapters = 0;
  for (const dlc::Tensor &state : session.states())
    if (state.name.find("lora_") != std::string::npos)
      adapters += state.bytes;
  std::cout << done.steps << " steps, loss "
            << session.evaluate(dlc::Dataset::open(samples)).loss << ", "
            << adapters << " bytes of adapters and their moments\n";
}

int main(int count, char **words) {
  if (count != 5) {
    std::cerr << "usage: personalise MODEL.dlc SAMPLES.npz RUN STEPS\n";
    return DLC_USAGE;
  }
  try {
    personalise(words[1], words[2], words[3], words[4]);
    return 0;
  } catch (const dlc::Error &error) {
    std::cerr << "error: " << error.what() << "\n";
    return error.code();
  }
}
