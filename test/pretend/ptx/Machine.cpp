// SPDX-License-Identifier: Apache-2.0
#include "Machine.h"
#include "Decoder.h"
#include "Undefined.h"
#include "test/pretend/emulator/Grid.h"
#include "test/pretend/emulator/Guarded.h"
#include "text/Parser.h"

#include <cstring>

namespace dlc::ptx {

Machine::Machine(const std::string &text, std::string &error) {
  try {
    const ProgramText program = parseProgram(text);
    for (const Function &f : program.entries) {
      Kernel kernel = decodeKernel(program, f);
      checkUndefined(kernel);
      std::vector<uint64_t> visits(kernel.blocks.size());
      entries[f.name] = {std::move(kernel), std::move(visits)};
    }
    for (const Variable &v : program.variables) {
      Global &made = globals.emplace_back(v.name, v.values);
      if (v.space == ".shared")
        continue;                 // keeps the numbers of the others
      made.bytes.resize(v.bytes); // the ISA: zeros
    }
  } catch (const Refusal &why) {
    error = why.what();
  }
}

std::string Machine::run(const std::string &name, int64_t grid, int64_t block,
                         const std::vector<void *> &arguments,
                         test::Order order, unsigned seed) {
  const auto found = entries.find(name);
  if (found == entries.end())
    return "the module has no kernel " + name;
  Entry &entry = found->second;
  const Kernel &kernel = entry.kernel;
  if (arguments.size() != kernel.parameters.size())
    return "kernel " + name + " has " +
           std::to_string(kernel.parameters.size()) + " parameters, not " +
           std::to_string(arguments.size());
  if (kernel.mostThreads && uint64_t(block) > kernel.mostThreads)
    return "kernel " + name + " has blocks of at most " +
           std::to_string(kernel.mostThreads) + " threads, not " +
           std::to_string(block);
  std::vector<Array> global;
  for (Global &g : globals)
    global.push_back({g.name, g.bytes.data(), g.bytes.size()});
  std::vector<uint8_t> parameters(kernel.parameterBytes);
  for (size_t i = 0; i < arguments.size(); ++i) {
    auto value = uint64_t(arguments[i]);
    if (const auto array = test::Guarded::around(arguments[i])) {
      value = globalAddress(global.size()) +
              uint64_t(static_cast<uint8_t *>(arguments[i]) - array->data());
      global.push_back(
          {"parameter " + std::to_string(i), array->data(), array->size()});
    }
    const auto [offset, bytes] = kernel.parameters[i];
    std::memcpy(parameters.data() + offset, &value, bytes);
  }
  Launch launch(kernel, std::move(global), std::move(parameters));
  std::vector<test::SharedArray> shared;
  for (const Array &a : launch.shared)
    shared.push_back({a.data, a.bytes});
  const std::string error = test::runGrid(name, grid, block, shared, order,
                                          seed, [&] { launch.runThread(); });
  for (size_t i = 0; i < entry.visits.size(); ++i)
    entry.visits[i] += launch.visits[i];
  return error;
}

std::map<std::string, uint64_t> Machine::executed() const {
  std::map<std::string, uint64_t> counts;
  for (const auto &[name, entry] : entries) {
    const Kernel &kernel = entry.kernel;
    for (size_t b = 0; b < kernel.blocks.size(); ++b) {
      const size_t end = b + 1 < kernel.blocks.size() ? kernel.blocks[b + 1]
                                                      : kernel.code.size();
      // A block's first instruction counts, and a statement may have several.
      std::optional<uint32_t> last;
      for (size_t i = kernel.blocks[b] + 1; i < end && entry.visits[b]; ++i)
        if (const uint32_t s = kernel.effects[i].statement; last != s) {
          counts[kernel.opcodes[s]] += entry.visits[b];
          last = s;
        }
    }
  }
  return counts;
}

std::string Machine::summary() const {
  uint64_t total = 0;
  std::string names;
  for (const auto &[opcode, count] : executed()) {
    total += count;
    names += " " + opcode;
  }
  return std::to_string(total) + " instructions, opcodes:" + names;
}

} // namespace dlc::ptx
