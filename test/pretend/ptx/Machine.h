// SPDX-License-Identifier: Apache-2.0
// Runs the kernels of a PTX module on the host.
#pragma once

#include "Launch.h"
#include "test/pretend/emulator/GpuCode.h"
#include <deque>
#include <map>
#include <optional>

namespace dlc::ptx {

class Machine : public test::GpuCode {
public:
  /// The kernels of a module. `error` says what cannot be run, and in which
  /// line.
  Machine(const std::string &text, std::string &error);

  std::string run(const std::string &kernel, int64_t grid, int64_t block,
                  const std::vector<void *> &arguments, test::Order order,
                  unsigned seed = 1) override;
  std::string summary() const override;

  /// How often each opcode has run, by all threads.
  std::map<std::string, uint64_t> executed() const;

private:
  struct Entry {
    Kernel kernel;
    std::vector<uint64_t> visits; // of each block of its code, in all launches
  };
  /// Arrays of the module, which live as long as it does.
  struct Global {
    std::string name;
    std::vector<uint8_t> bytes;
  };
  std::map<std::string, Entry> entries;
  std::deque<Global> globals;
};

} // namespace dlc::ptx
