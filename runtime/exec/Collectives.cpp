#include "runtime/exec/Collectives.h"
#include "runtime/plan/Attributes.h"
#include "runtime/plan/Types.h"

namespace dlc {
namespace {

class AllReduce final : public Command {
public:
  AllReduce(CollectiveQueue *queue, int ticket)
      : queue_(queue), ticket_(ticket) {}
  Status enqueue() override {
    if (queue_)
      queue_->start(ticket_);
    return {};
  }

private:
  CollectiveQueue *queue_;
  int ticket_;
};

class Wait final : public Command {
public:
  Wait(CollectiveQueue *queue, int ticket) : queue_(queue), ticket_(ticket) {}
  Status enqueue() override {
    return queue_ ? queue_->wait(ticket_) : Status();
  }

private:
  CollectiveQueue *queue_;
  int ticket_;
};

} // namespace

Result<std::unique_ptr<Command>>
CollectiveBinder::bind(const CommandSpec &spec) {
  const int64_t bucket = plan::intAttribute(spec.command, "bucket", 0);
  if (spec.command.kind() == "all_reduce")
    return bindAllReduce(spec, bucket);
  const auto ticket = tickets_.find(bucket);
  if (ticket == tickets_.end())
    return corrupt("wait '{}': bucket {} was not started before",
                   spec.command.label(), bucket);
  return std::make_unique<Wait>(queue_, ticket->second);
}

Result<std::unique_ptr<Command>>
CollectiveBinder::bindAllReduce(const CommandSpec &spec, int64_t bucket) {
  const std::string &label = spec.command.label();
  const std::string op = plan::stringAttribute(spec.command, "op", "mean");
  if (op != "mean" && op != "sum")
    return incompatible("all_reduce '{}': op is '{}', expected mean or sum",
                        label, op);
  if (spec.inputs.size() != 1)
    return corrupt("all_reduce '{}': {} inputs, expected 1", label,
                   spec.inputs.size());
  const Operand &range = spec.inputs[0];
  const std::optional<DType> type = plan::dtypeOf(range.type->dtype());
  const std::optional<uint64_t> count = checkedElements(range.type->shape());
  if (!type || !count)
    return corrupt("all_reduce '{}': its range has no valid type", label);
  const int ticket =
      queue_ ? queue_->add(range.data, *count, *type,
                           op == "mean" ? ReduceOp::Mean : ReduceOp::Sum)
             : 0;
  tickets_[bucket] = ticket;
  return std::make_unique<AllReduce>(queue_, ticket);
}

} // namespace dlc
