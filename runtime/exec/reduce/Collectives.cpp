// SPDX-License-Identifier: Apache-2.0
#include "runtime/exec/reduce/Collectives.h"
#include "runtime/plan/Attributes.h"
#include "runtime/plan/Types.h"
#include "runtime/plan/parts/RankItems.h"

namespace dlc {
namespace {

class Collective final : public Command {
public:
  Collective(Reducer *reducer, int ticket)
      : reducer_(reducer), ticket_(ticket) {}
  Status enqueue() override {
    return reducer_ ? reducer_->start(ticket_) : Status();
  }

private:
  Reducer *reducer_;
  int ticket_;
};

class Wait final : public Command {
public:
  Wait(Reducer *reducer, int ticket) : reducer_(reducer), ticket_(ticket) {}
  Status enqueue() override {
    return reducer_ ? reducer_->wait(ticket_) : Status();
  }

private:
  Reducer *reducer_;
  int ticket_;
};

Result<ReduceOp> opOf(const plan::Command &command) {
  const std::string op = plan::stringAttribute(command, "op", "mean");
  if (op != "mean" && op != "sum")
    return incompatible("{} '{}': op is '{}', expected mean or sum",
                        command.kind(), command.label(), op);
  return op == "mean" ? ReduceOp::Mean : ReduceOp::Sum;
}

} // namespace

Result<std::unique_ptr<Command>>
CollectiveBinder::bind(const CommandSpec &spec) {
  const int64_t bucket = plan::intAttribute(spec.command, "bucket", 0);
  if (spec.command.kind() == "all_reduce")
    return bindAllReduce(spec, bucket);
  if (spec.command.kind() == "reduce_scatter")
    return bindReduceScatter(spec, bucket);
  if (spec.command.kind() == "all_gather")
    return bindAllGather(spec, bucket);
  const auto ticket = tickets_.find(bucket);
  if (ticket == tickets_.end())
    return corrupt("wait '{}': bucket {} was not started before",
                   spec.command.label(), bucket);
  return std::make_unique<Wait>(reducer_, ticket->second);
}

std::unique_ptr<Command> CollectiveBinder::collective(int64_t bucket,
                                                      int ticket) {
  tickets_[bucket] = ticket;
  if (reducer_)
    started_.push_back(ticket);
  return std::make_unique<Collective>(reducer_, ticket);
}

Result<std::unique_ptr<Command>>
CollectiveBinder::bindAllReduce(const CommandSpec &spec, int64_t bucket) {
  const std::string &label = spec.command.label();
  DLC_ASSIGN(const ReduceOp op, opOf(spec.command));
  if (spec.inputs.size() != 1)
    return corrupt("all_reduce '{}': {} inputs, expected 1", label,
                   spec.inputs.size());
  const Operand &range = spec.inputs[0];
  const std::optional<DType> type = plan::dtypeOf(range.type->dtype());
  const std::optional<uint64_t> count = checkedElements(range.type->shape());
  if (!type || !count)
    return corrupt("all_reduce '{}': its range has no valid type", label);
  int ticket = 0;
  if (reducer_) {
    DLC_ASSIGN(ticket, reducer_->add(range.data, *count, *type, op));
    if (plan::intAttribute(spec.command, "ahead", 0))
      reducer_->overtake(ticket);
    reducer_->describe(ticket, bucket, label);
  }
  return collective(bucket, ticket);
}

// The second operand is this rank's part.
Result<std::unique_ptr<Command>>
CollectiveBinder::bindReduceScatter(const CommandSpec &spec, int64_t bucket) {
  const std::string &label = spec.command.label();
  const int64_t extent = plan::intAttribute(spec.command, "extent", 0),
                item = plan::itemOf(spec.command);
  DLC_ASSIGN(const ReduceOp op, opOf(spec.command));
  if (!reducer_ || spec.inputs.size() != 1 || spec.outputs.size() != 1 ||
      extent < 1 || item < 1)
    return corrupt("reduce_scatter '{}': {} inputs, {} items of {} elements",
                   label, spec.inputs.size(), extent, item);
  const plan::TensorType &range = *spec.inputs[0].type;
  const std::optional<DType> type = plan::dtypeOf(range.dtype());
  const std::optional<uint64_t> count = checkedElements(range.shape());
  if (!type || !count ||
      *count > static_cast<uint64_t>(extent) * static_cast<uint64_t>(item))
    return corrupt("reduce_scatter '{}': its range is not its items", label);
  DLC_ASSIGN(
      const int ticket,
      reducer_->addScatter(
          spec.inputs[0].data,
          plan::piecesOf(*count, extent, static_cast<uint64_t>(item), ranks_),
          spec.outputs[0].data, *type, op));
  reducer_->describe(ticket, bucket, label);
  return collective(bucket, ticket);
}

// Gathers the range of which each rank has updated a part; or gathers to
// another range from this rank's part.
Result<std::unique_ptr<Command>>
CollectiveBinder::bindAllGather(const CommandSpec &spec, int64_t bucket) {
  const std::string &label = spec.command.label();
  const int64_t extent = plan::intAttribute(spec.command, "extent", 0),
                item = plan::itemOf(spec.command);
  if (spec.inputs.size() != 1 || spec.outputs.size() != 1 || extent < 1 ||
      item < 1)
    return corrupt("all_gather '{}': {} inputs, {} items of {} elements", label,
                   spec.inputs.size(), extent, item);
  const Operand &range = spec.outputs[0];
  const std::optional<DType> type = plan::dtypeOf(range.type->dtype());
  const std::optional<uint64_t> bytes = plan::bytesOf(*range.type);
  if (!type || !bytes ||
      *bytes / sizeOf(*type) >
          static_cast<uint64_t>(extent) * static_cast<uint64_t>(item))
    return corrupt("all_gather '{}': its range is not its items", label);
  int ticket = 0;
  if (reducer_) {
    auto pieces = plan::piecesOf(
        *bytes, extent, static_cast<uint64_t>(item) * sizeOf(*type), ranks_);
    const bool isElsewhere = plan::gathersElsewhere(spec.command);
    const Operand &own = spec.inputs[0];
    if (isElsewhere &&
        plan::bytesOf(*own.type) != pieces[static_cast<size_t>(rank_)])
      return corrupt("all_gather '{}': a rank's part is not its items", label);
    DLC_ASSIGN(ticket, reducer_->addGather(range.data, std::move(pieces),
                                           isElsewhere ? own.data : nullptr));
    reducer_->describe(ticket, bucket, label);
  }
  return collective(bucket, ticket);
}

} // namespace dlc
