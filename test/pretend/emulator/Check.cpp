// SPDX-License-Identifier: Apache-2.0
#include "Check.h"
#include "GpuCode.h"
#include "Guarded.h"

#include "compiler/dialect/Dlc.h"
#include "compiler/dialect/Exec.h"
#include "compiler/kernel/AttentionKernel.h"
#include "compiler/kernel/KernelSchedule.h"
#include "compiler/lower/emit/EmitPlan.h"
#include "compiler/target/cpu/codegen/CpuCodegen.h"
#include "compiler/target/cuda/codegen/CudaCodegen.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Parser/Parser.h"
#include "runtime/plan/Types.h"
#include "test/support/Elements.h"
#include <cstring>
#include <dlfcn.h>
#include <random>
#include <unistd.h>

namespace dlc::test {
namespace {

Elements elementsOf(mlir::Value v) {
  auto type = ir::tensorType(v);
  return {*plan::dtypeOf(planTypeOf(type.getElementType())),
          type.getNumElements(),
          {}};
}

/// An output that sums columns beside reductions of rows: the CPU stores what
/// is added up, [parts, rows, columns].
struct ColumnSum {
  size_t output;
  int64_t parts, rows, columns;
  Elements addends;
  std::optional<DType> through; // they were rounded to
};

/// One of the CPU's kernels, and its arguments among those of the whole; none:
/// the first ones.
struct Part {
  std::string name;
  int64_t extent = 0;
  std::vector<size_t> arguments = {};
};

struct Kernel {
  std::string name;
  std::vector<Elements> inputs, outputs;
  std::vector<Part> parts;
  std::optional<Elements> product; // behind the CPU's arguments
  exec::Threads threads;
  bool hasParts; // of which each may run alone
  bool sums;     // of which each may be summed
  std::vector<ColumnSum> columnSums;
};

/// Makes sums of columns beside reductions of rows outputs of what they add up.
std::vector<ColumnSum> takeColumnSums(exec::KernelOp kernel) {
  std::vector<ColumnSum> sums;
  std::string why;
  auto graph = KernelGraph::build(kernel.getBody(), why);
  mlir::Operation *yield = kernel.getBody().front().getTerminator();
  for (auto [i, o] : llvm::enumerate(graph->outputs)) {
    if (!o.sum)
      continue;
    mlir::Value v = o.sum->getOperand(0);
    const auto shape = ir::tensorType(v).getShape();
    auto cast = v.getDefiningOp<ir::CastOp>();
    sums.push_back(
        {i, shape[0], shape[1], shape[2], elementsOf(v),
         cast ? std::optional(elementsOf(cast.getX()).type) : std::nullopt});
    yield->setOperand(i, v);
    o.sum->erase();
  }
  if (!sums.empty())
    kernel.removeScheduleAttr();
  return sums;
}

/// Half of the elements of a product become their neighbours: sums in another
/// order may do that.
void nudgeHalves(const Elements &product, void *array, std::mt19937 &random) {
  for (int64_t i = 0; i < product.count; ++i)
    if (random() % 2 == 0)
      static_cast<uint16_t *>(array)[i] ^= 1;
}

/// What the sums come to, one after another.
void addColumns(const ColumnSum &sum, const float *from, float *to) {
  std::fill(to, to + sum.parts * sum.columns, 0.0f);
  for (int64_t row = 0; row < sum.parts * sum.rows; ++row)
    for (int64_t c = 0; c < sum.columns; ++c)
      to[row / sum.rows * sum.columns + c] += *from++;
}

/// Makes a kernel that reduces a product over its rows several: of the product,
/// which is stored, and of each output.
std::vector<Part> splitProduct(exec::KernelOp kernel) {
  std::vector<Part> parts;
  mlir::Block &body = kernel.getBody().front();
  ir::MatmulOp product = *body.getOps<ir::MatmulOp>().begin();
  const size_t inputs = body.getNumArguments(),
               outputs = body.getTerminator()->getNumOperands();
  mlir::OpBuilder b(kernel);
  auto add = [&](mlir::Value result, size_t output) {
    const std::string name =
        (kernel.getSymName() + "." + std::to_string(output)).str();
    mlir::OpBuilder::InsertionGuard guard(b);
    auto made = exec::KernelOp::create(b, kernel.getLoc(), name);
    mlir::Block *code = b.createBlock(&made.getBody());
    mlir::IRMapping map;
    parts.push_back({name});
    auto take = [&](mlir::Value v, size_t argument) {
      parts.back().arguments.push_back(argument);
      map.map(v, code->addArgument(v.getType(), v.getLoc()));
    };
    for (auto [i, v] : llvm::enumerate(body.getArguments()))
      take(v, i);
    if (result != product.getY())
      take(product.getY(), inputs + outputs);
    parts.back().arguments.push_back(inputs + output);
    for (mlir::Operation &op : body.without_terminator())
      if (!map.contains(op.getResult(0)))
        b.clone(op, map);
    ir::YieldOp::create(b, kernel.getLoc(), map.lookup(result));
    for (mlir::Operation &op : llvm::make_early_inc_range(llvm::reverse(*code)))
      if (mlir::isOpTriviallyDead(&op))
        op.erase();
  };
  add(product.getY(), outputs);
  for (auto [i, v] : llvm::enumerate(body.getTerminator()->getOperands()))
    add(v, i);
  kernel.erase();
  return parts;
}

/// Makes a kernel that is cut several, in order: the first has its name. Inputs
/// of each are those of the whole and outputs of the ones before, so that its
/// arguments are the first ones of the whole.
std::vector<Part> splitParts(exec::KernelOp kernel) {
  std::vector<Part> names;
  mlir::Block &body = kernel.getBody().front();
  llvm::SmallVector<mlir::Value> known(body.getArguments());
  llvm::SmallVector<mlir::Operation *> ops;
  mlir::OpBuilder b(kernel);
  auto finish = [&] {
    names.push_back({kernel.getSymName().str()});
    if (names.size() > 1)
      names.back().name += "." + std::to_string(names.size() - 1);
    mlir::OpBuilder::InsertionGuard guard(b);
    auto part = exec::KernelOp::create(b, kernel.getLoc(), names.back().name);
    mlir::IRMapping map;
    mlir::Block *code = b.createBlock(&part.getBody());
    for (mlir::Value v : known)
      map.map(v, code->addArgument(v.getType(), v.getLoc()));
    for (mlir::Operation *op : ops)
      b.clone(*op, map);
    llvm::SmallVector<mlir::Value> outputs;
    for (mlir::Value v : body.getTerminator()->getOperands())
      if (llvm::is_contained(ops, v.getDefiningOp())) {
        outputs.push_back(map.lookup(v));
        known.push_back(v);
      }
    ir::YieldOp::create(b, kernel.getLoc(), outputs);
    ops.clear();
  };
  for (mlir::Operation &op : body)
    if (isa<exec::LastOp, exec::BesideOp, ir::YieldOp>(op))
      finish();
    else
      ops.push_back(&op);
  kernel.erase();
  return names;
}

class Checker {
public:
  Checker(mlir::ModuleOp module, int64_t mostElements) : module(module) {
    for (auto op : llvm::make_early_inc_range(module.getOps<exec::KernelOp>()))
      if (attentionOf(op.getBody()))
        op.erase(); // the CPU has no such kernel; see attention_test
    if (failed(scheduleKernels(module)) || failed(cuda::mapThreads(module))) {
      report.errors.push_back("the kernels cannot be mapped");
      return;
    }
    cpu = module.clone();
    module.walk([&](exec::KernelOp op) {
      std::string why;
      auto graph = KernelGraph::build(op.getBody(), why);
      if (!graph)
        return report.errors.push_back(op.getSymName().str() + ": " + why);
      Kernel k{op.getSymName().str(),
               {},
               {},
               {{op.getSymName().str()}},
               {},
               op.getThreadsAttr().getValue(),
               op.getParted(),
               op.getParted() &&
                   op.getScheduleAttr().getValue().kind == exec::Schedule::Rows,
               takeColumnSums(cpu->lookupSymbol<exec::KernelOp>(op.getName()))};
      for (mlir::Value v : op.getBody().getArguments())
        k.inputs.push_back(elementsOf(v));
      for (mlir::Value v :
           op.getBody().front().getTerminator()->getOperands()) {
        k.outputs.push_back(elementsOf(v));
        if (graph->contraction.op)
          k.outputs.back().through =
              elementsOf(graph->contraction.op.getY()).type;
      }
      if (graph->reducesProductRows())
        k.product = elementsOf(graph->contraction.op.getY());
      for (const ColumnSum &s : k.columnSums)
        k.outputs[s.output].through = s.through;
      for (auto put : op.getBody().front().getOps<ir::PutRowsOp>())
        k.inputs[cast<mlir::BlockArgument>(put.getRows()).getArgNumber()].rows =
            ir::tensorType(put.getX()).getDimSize(0);
      int64_t most = 0;
      for (const auto *list : {&k.inputs, &k.outputs})
        for (const Elements &a : *list)
          most = std::max(most, a.count);
      if (most <= mostElements)
        kernels.push_back(std::move(k));
      else
        cpu->lookupSymbol(op.getName())->erase();
    });
    for (Kernel &k : kernels)
      if (auto kernel = cpu->lookupSymbol<exec::KernelOp>(k.name); k.product)
        k.parts = splitProduct(kernel);
      else if (partsOf(kernel.getBody()) > 1)
        k.parts = splitParts(kernel);
    if (failed(scheduleKernels(*cpu)))
      report.errors.push_back("the CPU's kernels cannot be scheduled");
    for (Kernel &k : kernels)
      for (Part &part : k.parts)
        part.extent = cpu->lookupSymbol<exec::KernelOp>(part.name)
                          .getScheduleAttr()
                          .getValue()
                          .extent();
  }
  ~Checker() {
    if (library)
      dlclose(library);
  }

  CheckReport run(const std::string &sm) {
    if (compileForCpu() && compileForGpu(sm))
      for (const Kernel &k : kernels)
        for (bool positive : {true, false})
          check(k, positive);
    report.kernels = kernels.size();
    if (gpu)
      report.summary = gpu->summary();
    return std::move(report);
  }

private:
  bool fail(const std::string &what) {
    report.errors.push_back(what);
    return false;
  }

  bool compileForCpu() {
    auto target = resolveCpuTarget("native");
    llvm::SmallVector<char> so;
    CpuCodegenOptions options;
    options.optLevel = 1;
    if (failed(target) || failed(compileKernels(*cpu, *target, options, so)))
      return fail("the kernels do not compile for the CPU");
    char path[] = "/tmp/dlc-emulate-XXXXXX";
    int file = mkstemp(path);
    bool written = ::write(file, so.data(), so.size()) == (ssize_t)so.size();
    close(file);
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    unlink(path);
    return written && library ? true : fail("the CPU's kernels do not load");
  }

  bool compileForGpu(const std::string &sm) {
    std::string why;
    gpu = loadGpuCode(module, sm, why);
    return gpu ? true : fail(why);
  }

  void check(const Kernel &k, bool positive) {
    std::mt19937 random(positive ? 1 : 2);
    std::vector<Guarded> inputs;
    for (const Elements &a : k.inputs)
      fillRandom(a, inputs.emplace_back(nullptr, a.bytes()).data(), positive,
                 random);
    auto outputs = [&] {
      std::vector<Guarded> made;
      for (const Elements &a : k.outputs)
        made.emplace_back(nullptr, a.bytes());
      return made;
    };
    // From an element on, and of a kernel with parts so many.
    auto arguments = [&](std::vector<Guarded> &to, int64_t from = 0,
                         std::optional<int64_t> count = {}) {
      const int64_t whole = (k.sums ? k.inputs : k.outputs).front().count;
      std::vector<void *> all;
      auto add = [&](const Elements &a, const Guarded &array) {
        all.push_back(array.data() +
                      (a.count == whole ? from * sizeOf(a.type) : 0));
      };
      for (size_t i = 0; i < inputs.size(); ++i)
        add(k.inputs[i], inputs[i]);
      for (size_t i = 0; i < to.size(); ++i)
        add(k.outputs[i], to[i]);
      if (k.hasParts)
        all.push_back(reinterpret_cast<void *>(count.value_or(whole) - from));
      return all;
    };
    std::vector<Guarded> want = outputs(), got = outputs();
    bool nudges = false;
    auto f = [&](void *const *all) {
      for (const Part &part : k.parts) {
        std::vector<void *> own;
        for (size_t i : part.arguments)
          own.push_back(all[i]);
        if (nudges && k.product && &part != &k.parts.front())
          nudgeHalves(*k.product, all[inputs.size() + k.outputs.size()],
                      random);
        reinterpret_cast<void (*)(void *const *, int64_t, int64_t)>(
            dlsym(library, part.name.c_str()))(own.empty() ? all : own.data(),
                                               0, part.extent);
      }
    };
    auto onCpu = [&](std::vector<Guarded> &to) {
      auto all = arguments(to);
      std::vector<Guarded> product, addends;
      if (k.product)
        all.push_back(product.emplace_back(nullptr, k.product->bytes()).data());
      for (const ColumnSum &s : k.columnSums)
        all[inputs.size() + s.output] =
            addends.emplace_back(nullptr, s.addends.bytes()).data();
      f(all.data());
      for (size_t i = 0; i < addends.size(); ++i)
        addColumns(
            k.columnSums[i], reinterpret_cast<float *>(addends[i].data()),
            reinterpret_cast<float *>(to[k.columnSums[i].output].data()));
    };
    onCpu(want);
    std::string error;
    for (Order order : {Order::Forward, Order::Reverse, Order::Random}) {
      std::vector<Guarded> now = outputs();
      error = gpu->run(k.name, k.threads.grid, k.threads.block, arguments(now),
                       order);
      ++report.runs;
      if (!error.empty()) {
        fail(error);
        return;
      }
      if (order == Order::Forward)
        got = std::move(now);
      else
        for (size_t i = 0; i < got.size(); ++i)
          if (std::memcmp(got[i].data(), now[i].data(), got[i].size())) {
            fail(k.name + ": output " + std::to_string(i) +
                 " depends on the order of threads");
            return;
          }
    }
    if (k.hasParts && !k.sums) {
      std::vector<Guarded> parts = outputs();
      const int64_t half = k.outputs.front().count / 128 * 64;
      for (const auto &all :
           {arguments(parts, half), arguments(parts, 0, half)})
        if (error = gpu->run(k.name, k.threads.grid, k.threads.block, all,
                             Order::Forward);
            !error.empty())
          fail(error);
      for (size_t i = 0; i < got.size(); ++i)
        if (std::memcmp(got[i].data(), parts[i].data(), got[i].size()))
          fail(k.name + ": output " + std::to_string(i) +
               " is another in parts");
    }
    if (k.sums)
      checkSum(k, f, inputs.front(), arguments);
    std::vector<Guarded> nudged = outputs();
    for (size_t i = 0; i < inputs.size(); ++i)
      nudge(k.inputs[i], inputs[i].data(), random);
    nudges = true;
    onCpu(nudged);
    for (size_t i = 0; i < got.size(); ++i)
      if (error = compare(k.outputs[i], want[i].data(), nudged[i].data(),
                          got[i].data());
          !error.empty())
        fail(k.name + ": output " + std::to_string(i) + " " + error);
  }

  /// Of a part, behind which nothing may be read, as of zeros behind it.
  template <class F, class Arguments>
  void checkSum(const Kernel &k, F f, Guarded &input, Arguments arguments) {
    const Elements &a = k.inputs.front();
    const int64_t half = a.count / 2, size = sizeOf(a.type);
    std::vector<unsigned char> kept(input.data(), input.data() + a.bytes());
    std::vector<Guarded> want, got;
    for (auto *to : {&want, &got})
      to->emplace_back(nullptr, k.outputs.front().bytes());
    std::memset(input.data() + half * size, 0, (a.count - half) * size);
    f(arguments(want).data());
    std::memset(input.data() + half * size, 0xff, (a.count - half) * size);
    std::string error = gpu->run(k.name, k.threads.grid, k.threads.block,
                                 arguments(got, 0, half), Order::Forward);
    if (error.empty())
      error = compare(k.outputs.front(), want.front().data(),
                      want.front().data(), got.front().data());
    if (!error.empty())
      fail(k.name + " of a part: " + error);
    std::memcpy(input.data(), kept.data(), kept.size());
  }

  mlir::ModuleOp module;
  mlir::OwningOpRef<mlir::ModuleOp> cpu; // the same as the CPU computes it
  std::vector<Kernel> kernels;
  void *library = nullptr;
  std::unique_ptr<GpuCode> gpu;
  CheckReport report;
};

} // namespace

CheckReport checkKernels(const std::string &text, const std::string &sm,
                         int64_t mostElements) {
  mlir::MLIRContext context;
  context.loadDialect<ir::DlcDialect, exec::ExecDialect,
                      mlir::func::FuncDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module)
    return {0, 0, {"the module cannot be parsed"}, ""};
  return Checker(*module, mostElements).run(sm);
}

} // namespace dlc::test
