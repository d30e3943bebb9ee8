// SPDX-License-Identifier: Apache-2.0
// From an ONNX file to a trained one, in one program:
// from_onnx MODEL.onnx TRAIN.npz TRAINED.onnx
#include <dlc/dlc.hpp>

#include <iostream>

static void train(const std::string &model, const std::string &data,
                  const std::string &trained) {
  const std::string artifact = trained + ".dlc", folder = trained + ".run";
  dlc::compile(model, artifact,
               {{"optimizer", "adamw"}, {"lr", "0.003"}, {"quiet", ""}});
  auto trainer =
      dlc::Trainer::open(artifact, dlc::Dataset::open(data),
                         {{"epochs", "3"}, {"run", folder}, {"quiet", ""}});
  const dlc::Run run = trainer.run();
  dlc::exportOnnx(folder, trained);
  const double loss =
      dlc::Session::open(folder).evaluate(dlc::Dataset::open(data)).loss;
  std::cout << trained << ": after " << run.steps << " steps, loss " << loss
            << "\n";
}

int main(int count, char **words) {
  if (count != 4) {
    std::cerr << "usage: from_onnx MODEL.onnx TRAIN.npz TRAINED.onnx\n";
    return DLC_USAGE;
  }
  try {
    train(words[1], words[2], words[3]);
    return 0;
  } catch (const dlc::Error &error) {
    std::cerr << "error: " << error.what() << "\n";
    return error.code();
  }
}
