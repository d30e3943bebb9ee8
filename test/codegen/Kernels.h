// SPDX-License-Identifier: Apache-2.0
// Compiles kernels from MLIR text, loads them and runs them on arrays.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace dlc::test {

using Sizes = std::vector<int64_t>;

/// A tensor type and an array of integers as text.
std::string tensor(const Sizes &shape, const std::string &type = "f32");
std::string list(const Sizes &v);

/// A row-major array of one of MLIR's element types, seen as doubles.
struct Array {
  Array(std::string type, std::vector<int64_t> shape);
  /// Elements f(0), f(1), ...
  Array(std::string type, std::vector<int64_t> shape,
        const std::function<double(int64_t)> &f);

  int64_t size() const;
  double get(int64_t i) const;
  void set(int64_t i, double v);

  std::string type;
  std::vector<int64_t> shape;
  std::vector<uint8_t> bytes;
};

/// The value that is nearest to v in bf16, ties to even.
float roundToBf16(double v);
/// Uniform in [low, high), the same numbers for the same seed.
std::function<double(int64_t)> uniform(double low, double high,
                                       unsigned seed = 1);

/// The exec.kernels of a module, compiled for this machine, or for a GPU and
/// emulated (test/pretend/emulator): the same tests judge both. A module that
/// does not compile fails the test.
class Kernels {
public:
  explicit Kernels(const std::string &text, const std::string &cpu = "native",
                   unsigned optLevel = 3);
  ~Kernels();

  /// Runs all items of a kernel at once, then again in uneven parts and
  /// backwards (on a GPU: threads in other orders), and expects the same bytes.
  void run(const std::string &name, const std::vector<const Array *> &inputs,
           const std::vector<Array *> &outputs);
  /// Runs with the buffers as given, once.
  void runRaw(const std::string &name, std::vector<void *> args);
  int64_t extent(const std::string &name) const { return extents.at(name); }
  bool areEmulated() const { return bool(gpu); }

private:
  using Function = void (*)(void *const *, int64_t, int64_t);
  Function find(const std::string &name);
  struct Gpu;
  std::shared_ptr<Gpu> gpu;
  void *library = nullptr;
  std::map<std::string, int64_t> extents;
};

/// "exec.kernel @name { ^bb0(args): body }" in a module is all that a case
/// needs.
std::string module(const std::string &kernels);

} // namespace dlc::test
