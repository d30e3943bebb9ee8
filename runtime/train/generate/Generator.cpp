// SPDX-License-Identifier: Apache-2.0
#include "runtime/train/generate/Generator.h"

#include "runtime/base/Text.h"
#include "runtime/base/numbers/Philox.h"
#include "runtime/base/process/Boundary.h"
#include "runtime/data/Convert.h"
#include "runtime/plan/Ports.h"
#include "runtime/plan/Types.h"
#include "runtime/train/session/Inputs.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

namespace dlc {
namespace {

constexpr char kPredictKind[] = "predict";

std::string shapeText(const plan::TensorType &type) {
  return fmt::format("[{}]", fmt::join(type.shape(), ", "));
}

std::string
portsText(const plan::Program &program,
          const google::protobuf::RepeatedPtrField<plan::Port> &ports) {
  return joined(ports, ", ", [&](const plan::Port &port) {
    return fmt::format("'{}' {}", printable(port.name(), 60),
                       shapeText(portType(program, port)));
  });
}

// Fills each row of the input with the numbers, followed by zeros.
void fillRows(std::span<const int64_t> numbers, const plan::TensorType &type,
              std::vector<std::byte> &to) {
  const auto length = size_t(type.shape(1)), rows = size_t(type.shape(0));
  std::vector<int64_t> all(rows * length);
  for (size_t row = 0; row < rows; ++row)
    std::ranges::copy(numbers, all.begin() + ptrdiff_t(row * length));
  const DType element = *plan::dtypeOf(type.dtype());
  to.resize(all.size() * sizeOf(element));
  converter(DType::I64, element,
            false)(reinterpret_cast<const std::byte *>(all.data()), to.data(),
                   all.size(), 1);
}

bool isIntegers(const plan::TensorType &type) {
  return type.dtype() == plan::I64 || type.dtype() == plan::I32;
}

// Values of further inputs of Hugging Face models: all tokens are valid and in
// order.
std::optional<std::vector<int64_t>> numbersBeside(const std::string &name,
                                                  int64_t length) {
  std::vector<int64_t> numbers(size_t(length), 1);
  if (name == "position_ids")
    std::iota(numbers.begin(), numbers.end(), 0);
  else if (name != "attention_mask")
    return std::nullopt;
  return numbers;
}

// Stream of the seed's random numbers for generated tokens: "text".
constexpr uint64_t kTextStream = 0x74657874;

double uniformAt(uint64_t seed, uint64_t place) {
  const PhiloxBlock words = philox(seed, place, kTextStream);
  return double((uint64_t(words[0]) << 32 | words[1]) >> 11) * 0x1p-53;
}

struct Candidate {
  double weight;
  uint32_t token;
};

// Sorts the `count` largest candidates to the front.
void sortLargest(std::vector<Candidate> &all, size_t count) {
  std::partial_sort(all.begin(), all.begin() + ptrdiff_t(count), all.end(),
                    [](const Candidate &a, const Candidate &b) {
                      return a.weight != b.weight ? a.weight > b.weight
                                                  : a.token < b.token;
                    });
  all.resize(count);
}

double sumOfWeights(const std::vector<Candidate> &all) {
  return std::accumulate(
      all.begin(), all.end(), 0.0,
      [](double sum, const Candidate &c) { return sum + c.weight; });
}

void keepShare(std::vector<Candidate> &all, double share) {
  const double least = share * sumOfWeights(all);
  double sum = 0;
  size_t count = 0;
  while (count < all.size() && (count == 0 || sum < least))
    sum += all[count++].weight;
  all.resize(count);
}

} // namespace

Result<int> Generator::findLogits(const plan::Program &program, int64_t batch,
                                  int64_t length) const {
  std::vector<int> found;
  for (int i = 0; i < program.outputs_size(); ++i) {
    const plan::TensorType &type = portType(program, program.outputs(i));
    const auto &shape = type.shape();
    const auto element = plan::dtypeOf(type.dtype());
    const bool isOfEach =
        (shape.size() == 3 && shape[0] == batch && shape[1] == length) ||
        (shape.size() == 2 && shape[0] == batch * length);
    if (isOfEach && element && isFloat(*element))
      found.push_back(i);
  }
  if (found.size() > 1)
    if (const int named = findOutput(program, "logits"); named >= 0)
      found = {named};
  if (found.size() != 1)
    return failed(
        "generation needs a model with logits [{0}, {1}, V] or [{2}, V] for "
        "[{0}, {1}] tokens: predict returns {3}; export a model whose only "
        "output, or the output 'logits', has the logits of all tokens",
        batch, length, batch * length, portsText(program, program.outputs()));
  return found[0];
}

Result<Generator::Form> Generator::formOf(const plan::Program &program,
                                          int64_t batch) const {
  Form form{&program, batch, 0, -1, -1, {}};
  bool fits = true;
  for (int i = 0; i < program.inputs_size(); ++i) {
    const plan::Port &port = program.inputs(i);
    const plan::TensorType &type = portType(program, port);
    fits &= type.shape_size() == 2;
    std::vector<std::byte> &bytes = form.inputs.emplace_back();
    if (!fits)
      continue;
    if (const auto numbers = numbersBeside(port.name(), type.shape(1))) {
      fillRows(*numbers, type, bytes);
      continue;
    }
    fits &= form.tokens < 0 && isIntegers(type) && type.shape(0) == form.batch;
    form.tokens = i, form.length = type.shape(1);
  }
  if (!fits || form.tokens < 0)
    return failed("generation needs a model with integer tokens [B, T] and at "
                  "most the inputs 'attention_mask' and 'position_ids' "
                  "besides: predict takes {}; export the model without caches "
                  "or other inputs (--decode adds a cache)",
                  portsText(program, program.inputs()));
  DLC_ASSIGN(form.output, findLogits(program, form.batch, form.length));
  return form;
}

Result<Generator> Generator::create(Session &session) try {
  const plan::Plan &plan = session.plan();
  Generator generator(session);
  const plan::Program *text = plan::findProgram(plan, plan::kPrefill);
  if (text) {
    DLC_ASSIGN(generator.forms_.emplace_back(), generator.formOf(*text, 1));
  }
  for (int size = 0; !text && size < plan::countSizes(plan); ++size) {
    const plan::Program *program = plan::findProgram(plan, kPredictKind, size);
    if (!program)
      return failed("the model has no program to predict with");
    DLC_ASSIGN(generator.forms_.emplace_back(),
               generator.formOf(*program, plan::batchOf(plan, *program)));
  }
  std::ranges::stable_sort(generator.forms_, {}, [](const Form &f) {
    return std::pair(f.length, f.batch);
  });
  const Form &longest = generator.forms_.back();
  const auto &shape =
      portType(*longest.program, longest.program->outputs(longest.output))
          .shape();
  generator.vocabulary_ = shape[shape.size() - 1];
  DLC_TRY(generator.findCache());
  DLC_TRY(generator.checkCausal());
  return generator;
} catch (...) {
  return caughtException("generating text");
}

Status Generator::findCache() {
  const plan::Program *program =
      plan::findProgram(session_->plan(), plan::kDecode);
  if (!program)
    return {};
  const Form &all = forms_.back();
  Form form{program, 1, 1, -1, all.output, {}};
  for (int i = 0; i < program->inputs_size(); ++i) {
    const plan::Port &port = program->inputs(i);
    const plan::TensorType &type = portType(*program, port);
    std::vector<std::byte> &bytes = form.inputs.emplace_back();
    if (port.name() == plan::kPosition)
      position_ = i;
    else if (const auto numbers = numbersBeside(port.name(), all.length))
      fillRows(*numbers, type, bytes);
    else
      form.tokens = i;
  }
  if (position_ < 0 || form.tokens < 0)
    return corrupt("the program of one token takes {}",
                   portsText(*program, program->inputs()));
  one_ = std::move(form);
  return {};
}

Status Generator::runOne(int64_t token, int64_t position) {
  std::vector<std::byte> &bytes = one_->inputs[size_t(position_)];
  bytes.resize(sizeof position);
  std::memcpy(bytes.data(), &position, sizeof position);
  return run(*one_, {&token, 1}, 1, logits_);
}

Status Generator::run(Form &form, std::span<const int64_t> tokens,
                      int64_t count, std::vector<float> &logits) {
  const plan::Program &program = *form.program;
  fillRows(tokens, portType(program, program.inputs(form.tokens)),
           form.inputs[size_t(form.tokens)]);
  Executor &executor = session_->executor();
  DLC_TRY(setInputs(executor, program, form.inputs));
  DLC_TRY(executor.run(program.name()));
  DLC_TRY(executor.report(program.name()));
  DLC_ASSIGN(const auto outputs, executor.readReport(program.name()));
  const TensorView &output = outputs[size_t(form.output)];
  const DType type = *plan::dtypeOf(output.type->dtype());
  const auto width = size_t(vocabulary_);
  const size_t first = (tokens.size() - size_t(count)) * width;
  logits.resize(size_t(count) * width);
  const ConvertFunction convert = converter(type, DType::F32, false);
  convert(output.data + first * sizeOf(type),
          reinterpret_cast<std::byte *>(logits.data()), logits.size(), 1);
  return {};
}

// Changing tokens must not change logits before them. Tests the last token and
// the second half, as a model may be causal only between halves or blocks.
Status Generator::checkCausal() {
  Form &form = forms_.back();
  if (form.length < 2)
    return {};
  const plan::Port &port = form.program->inputs(form.tokens);
  const int64_t limit =
      port.limit() > 0 ? std::min(port.limit(), vocabulary_) : vocabulary_;
  std::vector<int64_t> tokens;
  for (int64_t i = 0; i < form.length; ++i)
    tokens.push_back((7 * i + 3) % limit);
  std::vector<float> one, other;
  DLC_TRY(run(form, tokens, form.length, one));
  for (const int64_t first : {form.length - 1, form.length / 2}) {
    for (int64_t i = first; i < form.length; ++i)
      tokens[size_t(i)] = (tokens[size_t(i)] + 1 + i % 5) % limit;
    DLC_TRY(run(form, tokens, form.length, other));
    DLC_TRY(checkSame(one, other, size_t(first * vocabulary_)));
    one.swap(other);
  }
  return one_ ? checkCache(tokens, one) : Status();
}

// Compares the first `count` logits.
Status Generator::checkSame(std::span<const float> one,
                            std::span<const float> other, size_t count) const {
  constexpr double kRounding = 1e-5;
  double largest = 0, difference = 0;
  for (size_t i = 0; i < count; ++i) {
    if (!std::isfinite(one[i]) && one[i] == other[i])
      continue; // such as minus infinity of tokens that never occur
    if (std::isfinite(one[i]))
      largest = std::max(largest, std::abs(double(one[i])));
    const double apart = std::abs(double(one[i]) - double(other[i]));
    difference = std::isnan(apart) ? apart : std::max(difference, apart);
    if (std::isnan(difference))
      return diverged("the model's logits have a NaN");
  }
  if (difference > kRounding * largest)
    return failed("a token changes the logits of earlier tokens, by {:.3g} of "
                  "{:.3g}: the model is not causal and cannot generate text",
                  difference, largest);
  return {};
}

// Logits from the cache must equal those without it, also if it has other
// tokens after the position; orders of sums may differ, also in 16 bits.
Status Generator::checkCache(std::span<const int64_t> tokens,
                             std::span<const float> logits) {
  constexpr double kRounding = 0.05;
  const size_t at = tokens.size() / 2, width = size_t(vocabulary_);
  DLC_TRY(runOne(tokens[at], int64_t(at)));
  double largest = 0, difference = 0;
  for (size_t i = 0; i < width; ++i) {
    const float expected = logits[at * width + i];
    if (expected == logits_[i])
      continue;
    if (std::isfinite(expected))
      largest = std::max(largest, std::abs(double(expected)));
    const double apart = std::abs(double(expected) - double(logits_[i]));
    difference = std::isnan(apart) ? apart : std::max(difference, apart);
  }
  if (difference <= kRounding * largest)
    return {};
  return failed("the key-value cache changes a token's logits, by {:.3g} of "
                "{:.3g}: compile the model without --decode",
                difference, largest);
}

Result<std::span<const float>>
Generator::next(std::span<const int64_t> tokens) try {
  if (tokens.empty())
    return usageError("generation needs at least one token");
  if (tokens.size() > size_t(context()))
    tokens = tokens.last(size_t(context()));
  const size_t known =
      std::min<size_t>(std::mismatch(cached_.begin(), cached_.end(),
                                     tokens.begin(), tokens.end())
                               .first -
                           cached_.begin(),
                       tokens.size() - 1);
  cached_.clear();
  // One row is bound by memory bandwidth, and costs about as much as eight rows
  // of a complete pass.
  constexpr int64_t kFaster = 8;
  if (one_ && tokens.size() - known <=
                  size_t(std::max<int64_t>(1, context() / kFaster))) {
    for (size_t i = known; i < tokens.size(); ++i)
      DLC_TRY(runOne(tokens[i], int64_t(i)));
    cached_.assign(tokens.begin(), tokens.end());
    return std::span<const float>(logits_);
  }
  const auto form = std::ranges::find_if(
      forms_, [&](const Form &f) { return size_t(f.length) >= tokens.size(); });
  DLC_TRY(run(*form, tokens, 1, logits_));
  if (one_)
    cached_.assign(tokens.begin(), tokens.end());
  return std::span<const float>(logits_);
} catch (...) {
  return caughtException("generating text");
}

void SamplerOptions::addTo(OptionTable &table, const std::string &section) {
  const std::string on = section + ".temperature";
  table.number(on, temperature, 0, 1e6,
               "temperature T: tokens are sampled from softmax(logits / T); "
               "default: the most probable token");
  table
      .count(section + ".top-k", topK, 0,
             "number of most probable tokens to sample from; 0: all")
      .only(on, {});
  table
      .number(section + ".top-p", topP, kAboveZero, 1,
              "probability mass of the most probable tokens to sample from")
      .only(on, {});
  table.count(section + ".seed", seed, 0, "seed of sampling").only(on, {});
}

Result<uint32_t> chooseToken(std::span<const float> logits, uint64_t place,
                             const SamplerOptions &options) {
  if (std::ranges::any_of(logits, [](float x) { return std::isnan(x); }))
    return diverged("the model's logits have a NaN");
  const auto largest = std::ranges::max_element(logits);
  if (largest == logits.end() || !std::isfinite(*largest))
    return diverged("the model's largest logit is not finite");
  const double temperature = options.temperature.value_or(0);
  if (temperature == 0)
    return uint32_t(largest - logits.begin());
  std::vector<Candidate> all;
  all.reserve(logits.size());
  for (uint32_t token = 0; token < logits.size(); ++token)
    all.push_back(
        {std::exp((double(logits[token]) - double(*largest)) / temperature),
         token});
  const bool cuts = options.topK > 0 && size_t(options.topK) < all.size();
  if (cuts || options.topP < 1)
    sortLargest(all, cuts ? size_t(options.topK) : all.size());
  if (options.topP < 1)
    keepShare(all, options.topP);
  const double at = uniformAt(options.seed, place) * sumOfWeights(all);
  double sum = 0;
  for (const Candidate &candidate : all)
    if ((sum += candidate.weight) > at)
      return candidate.token;
  return all.back().token; // if rounding made the sum smaller
}

} // namespace dlc
