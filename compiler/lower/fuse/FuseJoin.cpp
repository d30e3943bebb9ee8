// SPDX-License-Identifier: Apache-2.0
// Joins clusters after all ops have been assigned: those that write the states
// of one parameter, so its moments, averages and new value are computed from
// one read, and small reductions, whose launches cost more than their work.
#include "compiler/lower/fuse/Clusters.h"

using namespace mlir;
using dlc::ir::tensorType;

namespace dlc {
namespace {

class WriterJoiner {
public:
  explicit WriterJoiner(Clusters &clusters) : clusters(clusters) {}

  /// From last to first: each joins a later one, so its inputs precede both.
  void run() {
    for (Cluster *c : clusters.fromLast()) {
      if (!isWriter(*c))
        continue;
      while (Cluster *home = findHome(*c)) {
        clusters.join(*c, *home);
        c = home;
      }
      writers.insert(c);
      for (Value v : fullOperands(*c)) {
        readers[v.getAsOpaquePointer()] = c;
        if (Cluster *source = clusters.of(v))
          readers[source] = c;
      }
    }
  }

private:
  /// Whether c is elementwise or by rows, and its results are only used by
  /// states and other writers.
  bool isWriter(Cluster &c) const {
    return (!c.domain.reduces || c.domain.isRows()) &&
           elementCount(c.domain.full) > 1 &&
           llvm::all_of(c.ops, [&](Operation *op) {
             return classify(op) != Class::Move &&
                    llvm::all_of(op->getUsers(), [&](Operation *u) {
                      return Clusters::atEnd(u) || c.members.contains(u) ||
                             writers.contains(clusters.clusterOf.lookup(u));
                    });
           });
  }
  /// A later writer that reads a value that c reads, or another result of a
  /// cluster that c reads.
  Cluster *findHome(Cluster &c) {
    Cluster *first = nullptr;
    auto consider = [&](Cluster *home) {
      if (home && home != &c && home->last > c.last &&
          clusters.mayJoin(c, *home, /*byRows=*/true) &&
          (!first || home->last < first->last))
        first = home;
    };
    for (Value v : fullOperands(c)) {
      consider(readers.lookup(v.getAsOpaquePointer()));
      if (Cluster *source = clusters.of(v))
        consider(readers.lookup(source));
    }
    return first;
  }
  SmallVector<Value> fullOperands(Cluster &c) const {
    SmallVector<Value> values;
    for (Operation *op : c.ops) {
      llvm::append_range(values, op->getOperands());
      llvm::append_range(values, op->getResults());
    }
    llvm::erase_if(values, [&](Value v) {
      return !c.domain.isFull(tensorType(v).getShape());
    });
    return values;
  }

  Clusters &clusters;
  llvm::SmallPtrSet<Cluster *, 16> writers;
  llvm::DenseMap<const void *, Cluster *> readers; // by value or cluster
};

} // namespace

void joinWriters(Clusters &clusters) { WriterJoiner(clusters).run(); }

/// Whether c is the second stage of reductions.
static bool isSecondStage(const Cluster &c) {
  return llvm::all_of(c.ops, [](Operation *op) {
    Operation *first = op->getOperand(0).getDefiningOp();
    return !isReduce(op) || (first && isReduce(first));
  });
}

void joinSmallReductions(Clusters &clusters, bool apart) {
  SmallVector<Cluster *> homes; // the next reduction of each domain
  for (Cluster *c : clusters.fromLast()) {
    const Domain &d = c->domain;
    const int64_t most = apart && isSecondStage(*c) ? kSmallParts : kTiny;
    if (!d.reduces || elementCount(d.full) > most ||
        elementCount(d.kept()) == 1)
      continue;
    Cluster **home = llvm::find_if(
        homes, [&](Cluster *h) { return h->domain == c->domain; });
    if (home != homes.end() && clusters.mayJoin(*c, **home)) {
      clusters.join(*c, **home);
      continue;
    }
    if (!apart)
      homes.clear();
    else if (home != homes.end())
      homes.erase(home);
    homes.push_back(c);
  }
}

} // namespace dlc
