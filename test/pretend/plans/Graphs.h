// SPDX-License-Identifier: Apache-2.0
// graphs.txt: commands, and what the real cuDNN answers for each GPU.
#pragma once

#include "runtime/base/files/Files.h"
#include "test/pretend/cuda/Fixture.h"

#include <algorithm>
#include <array>
#include <map>
#include <sstream>

namespace dlc::test {

// MODELS | COMMAND | answer for sm_80 | for sm_90 | for sm_100
struct GraphLine {
  static constexpr size_t kModels = 0, kCommand = 1, kAnswers = 2, kCells = 5;
  std::vector<std::string> cells;

  const std::string &text() const { return cells[kCommand]; }
  std::string kind() const { return text().substr(0, text().find(' ')); }
  // Where cuDNN's limits differ from GPU to GPU.
  bool hasWideHeads() const {
    return kind().starts_with("attention") &&
           (text().find(",136]") != std::string::npos ||
            text().find(",192]") != std::string::npos ||
            text().find(",256]") != std::string::npos);
  }
  // The command without its sizes: lines that are alike differ in those.
  std::string form() const {
    std::string result;
    for (char c : text())
      if (!std::isdigit(static_cast<unsigned char>(c)))
        result += c;
    return result;
  }
};

inline std::vector<std::string> split(const std::string &text,
                                      const std::string &by) {
  std::vector<std::string> parts;
  size_t from = 0, to = 0;
  while ((to = text.find(by, from)) != std::string::npos) {
    parts.push_back(text.substr(from, to - from));
    from = to + by.size();
  }
  parts.push_back(text.substr(from));
  return parts;
}

inline std::vector<GraphLine> readGraphs(const std::string &text) {
  std::vector<GraphLine> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back({split(line, " | ")});
    EXPECT_EQ(lines.back().cells.size(), GraphLine::kCells) << line;
  }
  return lines;
}

inline std::vector<int64_t> numbersOf(const std::string &list) {
  std::vector<int64_t> numbers;
  for (const std::string &number : split(list, ","))
    if (!number.empty())
      numbers.push_back(std::stoll(number));
  return numbers;
}

// "name=2", "name=0.125", "name=[1,1]" or "name=nhwc".
inline void setAttribute(TestCommand &command, const std::string &text) {
  const size_t equals = text.find('=');
  const std::string name = text.substr(0, equals),
                    value = text.substr(equals + 1);
  if (value[0] == '[')
    command.list(name, numbersOf(value.substr(1, value.size() - 2)));
  else if (value.find_first_not_of("-0123456789") == std::string::npos)
    command.set(name, int64_t(std::stoll(value)));
  else if (value.find_first_not_of("-0123456789.e") == std::string::npos)
    command.real(name, std::stod(value));
  else
    command.set(name, value.c_str());
}

// "KIND type[sizes] ... -> type[sizes] ... name=value ...", at addresses that
// are never read.
inline TestCommand commandOf(const GraphLine &line) {
  static const std::map<std::string, plan::DType> types = {
      {"f32", plan::F32}, {"f16", plan::F16}, {"bf16", plan::BF16}};
  const std::vector<std::string> words = split(line.text(), " ");
  TestCommand command(words[0]);
  bool isOutput = false;
  uintptr_t tensors = 0;
  for (size_t i = 1; i < words.size(); ++i) {
    const std::string &word = words[i];
    const size_t bracket = word.find('[');
    if (word == "->") {
      isOutput = true;
    } else if (word.find('=') != std::string::npos) {
      setAttribute(command, word);
    } else {
      auto *at = reinterpret_cast<std::byte *>(++tensors << 40);
      const plan::DType type = types.at(word.substr(0, bracket));
      const auto shape =
          numbersOf(word.substr(bracket + 1, word.size() - bracket - 2));
      isOutput ? command.out(at, shape, type) : command.in(at, shape, type);
    }
  }
  return command;
}

} // namespace dlc::test
