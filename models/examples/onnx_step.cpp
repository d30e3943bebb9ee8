// SPDX-License-Identifier: Apache-2.0
// Trains with ONNX Runtime alone: onnx_step STEP.onnx STEPS
//
// STEP.onnx is the training step that `dlc export --step` has written, of a
// model of x [batch, ...] and labels y [batch]; it learns whether the first
// half of a sample's numbers is larger than the second.
#include <onnxruntime_cxx_api.h>

#include <cstdlib>
#include <iostream>
#include <numeric>
#include <random>
#include <string>
#include <vector>

// Feeds the state that a step returns to the next one.
class Step {
public:
  explicit Step(const char *path) : session(env, path, Ort::SessionOptions()) {
    Ort::AllocatorWithDefaultOptions memory;
    for (size_t i = 0; i < session.GetInputCount(); ++i)
      inputs.push_back(session.GetInputNameAllocated(i, memory).get());
    for (size_t i = 0; i < session.GetOutputCount(); ++i)
      outputs.push_back(session.GetOutputNameAllocated(i, memory).get());
  }

  std::vector<int64_t> shape(size_t input) const {
    return session.GetInputTypeInfo(input)
        .GetTensorTypeAndShapeInfo()
        .GetShape();
  }

  // The loss of a batch: a value for each input, in their order.
  float operator()(std::vector<Ort::Value> batch) {
    std::vector<const char *> given, asked;
    for (const auto *names : {&inputs, &changed})
      for (const std::string &name : *names)
        given.push_back(name.c_str());
    for (Ort::Value &value : state)
      batch.push_back(std::move(value));
    for (const std::string &name : outputs)
      asked.push_back(name.c_str());
    auto results = session.Run(Ort::RunOptions(), given.data(), batch.data(),
                               batch.size(), asked.data(), asked.size());
    float loss = 0;
    changed.clear();
    state.clear();
    for (size_t i = 0; i < results.size(); ++i) {
      if (outputs[i] == "loss")
        loss = *results[i].GetTensorData<float>();
      if (outputs[i].rfind("next/", 0) == 0) {
        changed.push_back(outputs[i].substr(5));
        state.push_back(std::move(results[i]));
      }
    }
    return loss;
  }

private:
  Ort::Env env{ORT_LOGGING_LEVEL_ERROR, "step"};
  Ort::Session session;
  std::vector<std::string> inputs, outputs;
  std::vector<std::string> changed; // names of the state, and its values
  std::vector<Ort::Value> state;
};

int main(int argc, char **argv) try {
  if (argc != 3)
    return std::cerr << "usage: onnx_step STEP.onnx STEPS\n", 2;
  Step step(argv[1]);
  const auto shape = step.shape(0), rows = step.shape(1);
  const size_t count = std::accumulate(shape.begin(), shape.end(), size_t(1),
                                       std::multiplies<size_t>());
  const size_t columns = count / size_t(rows[0]);
  std::vector<float> x(count);
  std::vector<int64_t> y(size_t(rows[0]), 0);
  std::mt19937 random(1);
  std::uniform_real_distribution<float> noise(0, 1);
  auto memory =
      Ort::MemoryInfo::CreateCpu(OrtArenaAllocator, OrtMemTypeDefault);
  for (int number = 1; number <= std::atoi(argv[2]); ++number) {
    for (size_t i = 0; i < count; ++i) {
      int64_t &label = y[i / columns];
      if (i % columns == 0)
        label = int64_t(random() % 2);
      const bool first = i % columns < columns / 2;
      x[i] = noise(random) + (first == bool(label) ? 1.0f : 0.0f);
    }
    std::vector<Ort::Value> batch;
    batch.push_back(Ort::Value::CreateTensor<float>(
        memory, x.data(), count, shape.data(), shape.size()));
    batch.push_back(Ort::Value::CreateTensor<int64_t>(
        memory, y.data(), y.size(), rows.data(), rows.size()));
    const float loss = step(std::move(batch));
    if (number % 10 == 0)
      std::cout << "step " << number << ": loss " << loss << "\n";
  }
  return 0;
} catch (const Ort::Exception &error) {
  std::cerr << "error: " << error.what() << "\n";
  return 1;
}
