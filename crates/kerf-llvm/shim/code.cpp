// The shape of the code that runs, where LLVM's pipeline for NVPTX stops short of nvcc's: structs that are chosen between
// become values, loops are marked for the unroller, copies are wide. Nothing here touches rounding.
#include "llvm-c/Core.h"
#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/CodeGen/Passes.h"
#include "llvm/CodeGen/TargetPassConfig.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/RegisterTargetPassConfigCallback.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/LoopUtils.h"
#include <optional>

using namespace llvm;

// ---- Structs that are chosen between

/// A load or a copy that reads from `(which->condition ? p : q) + offset`, one of which is a variable of the function.
struct Choice {
  Instruction *read;
  SelectInst *which;
  APInt offset;
};

/// The pointer that an instruction reads through, where it is a plain load or a copy of known size.
static Value *source(Instruction &i) {
  if (auto *l = dyn_cast<LoadInst>(&i))
    return l->isSimple() ? l->getPointerOperand() : nullptr;
  if (auto *c = dyn_cast<MemCpyInst>(&i))
    return !c->isVolatile() && isa<ConstantInt>(c->getLength()) ? c->getRawSource() : nullptr;
  return nullptr;
}

static std::optional<Choice> choice(Instruction &i) {
  Value *p = source(i);
  if (!p)
    return std::nullopt;
  const DataLayout &layout = i.getDataLayout();
  APInt offset(layout.getIndexTypeSizeInBits(p->getType()), 0);
  auto *s = dyn_cast<SelectInst>(p->stripAndAccumulateConstantOffsets(layout, offset, true));
  if (!s)
    return std::nullopt;
  SmallVector<const Value *, 4> objects;
  getUnderlyingObjects(s, objects);
  if (none_of(objects, [](const Value *o) { return isa<AllocaInst>(o); }))
    return std::nullopt;
  return Choice{&i, s, offset};
}

/// Choices on the same condition that follow `first` at once, so that one branch does for all.
static SmallVector<Choice, 8> together(const Choice &first) {
  SmallVector<Choice, 8> all{first};
  Instruction *at = first.read;
  auto known = [&](Value *v) {
    auto *i = dyn_cast<Instruction>(v);
    return !i || i->getParent() != at->getParent() || i->comesBefore(at);
  };
  for (Instruction *i = at->getNextNode(); isa<LoadInst>(at) && i && !i->mayHaveSideEffects(); i = i->getNextNode())
    if (isa<LoadInst>(i))
      if (auto c = choice(*i); c && c->which->getCondition() == first.which->getCondition() &&
                               known(c->which->getTrueValue()) && known(c->which->getFalseValue()))
        all.push_back(*c);
  return all;
}

/// `*(c ? p : q)` becomes `c ? *p : *q`. The variable among them needs no memory then, and the other is loaded from
/// where it is, not through a generic address.
static void chooseValues(Function &f) {
  for (bool more = true; more;) {
    more = false;
    for (Instruction &i : instructions(f)) {
      std::optional<Choice> first = choice(i);
      if (!first)
        continue;
      SmallVector<Choice, 8> all = together(*first);
      Instruction *ends[2];
      SplitBlockAndInsertIfThenElse(first->which->getCondition(), i.getIterator(), &ends[0], &ends[1]);
      BasicBlock *after = i.getParent();
      for (Choice &c : all) {
        Instruction *copies[2];
        for (int side : {0, 1}) {
          Value *base = side ? c.which->getFalseValue() : c.which->getTrueValue();
          IRBuilder<> b(ends[side]);
          Value *p = c.offset.isZero() ? base : b.CreatePtrAdd(base, b.getInt(c.offset));
          copies[side] = c.read->clone();
          copies[side]->replaceUsesOfWith(source(*c.read), p);
          b.Insert(copies[side]);
        }
        if (isa<LoadInst>(c.read)) {
          PHINode *value = PHINode::Create(c.read->getType(), 2, "", after->begin());
          value->addIncoming(copies[0], ends[0]->getParent());
          value->addIncoming(copies[1], ends[1]->getParent());
          c.read->replaceAllUsesWith(value);
        }
      }
      for (Choice &c : all)
        c.read->eraseFromParent();
      more = true;
      break;
    }
  }
}

// ---- Loops

/// nvcc repeats the body of an innermost loop so often; the assembler repeats small ones as often again.
constexpr unsigned ROUNDS = 4;
/// Larger bodies are not repeated.
constexpr unsigned MOST = 300;
/// Loops of known length disappear up to this size, all rounds together,
constexpr unsigned WHOLE = 600;
/// and so do those of unknown length that go round at most so often.
constexpr unsigned SHORT = 8;
/// Those that step through an array of the function disappear up to this size: its elements become registers.
constexpr unsigned TABLE = 2000;
/// Rounds above which a division pays that tells how many there are.
constexpr unsigned MANY = 1024;

/// Is the loop marked as the source wants it?
static bool told(const Loop &l) {
  MDNode *id = l.getLoopID();
  return id && any_of(drop_begin(id->operands()), [](const MDOperand &o) {
           auto *n = dyn_cast<MDNode>(o);
           auto *s = n && n->getNumOperands() ? dyn_cast<MDString>(n->getOperand(0)) : nullptr;
           return s && s->getString().starts_with("llvm.loop.unroll");
         });
}

/// Rounds at most; 0 where that is unknown. Of a triangle's inner loop LLVM does not say: by its formula the last row has -1.
static unsigned mostRounds(const Loop &l, ScalarEvolution &se) {
  if (unsigned most = se.getSmallConstantMaxTripCount(&l))
    return most;
  auto *row = dyn_cast<SCEVAddRecExpr>(se.getBackedgeTakenCount(&l));
  unsigned rows = row && row->isAffine() ? se.getSmallConstantTripCount(row->getLoop()) : 0;
  auto *first = rows ? dyn_cast<SCEVConstant>(row->getStart()) : nullptr;
  auto *step = first ? dyn_cast<SCEVConstant>(row->getStepRecurrence(se)) : nullptr;
  if (!step || !first->getAPInt().isSignedIntN(16) || !step->getAPInt().isSignedIntN(16) || rows > 64)
    return 0;
  int64_t start = first->getAPInt().getSExtValue(), end = start + step->getAPInt().getSExtValue() * (rows - 1);
  return std::max<int64_t>({start, end, -1}) + 1;
}

/// Instructions of one round once functions are inlined and inner loops of known length are straight; none where
/// another loop stays inside, or something that must not be repeated.
static std::optional<unsigned> size(const Loop &l, const LoopInfo &li, ScalarEvolution &se) {
  unsigned n = 0;
  for (BasicBlock *bb : l.blocks())
    if (li.getLoopFor(bb) == &l)
      for (Instruction &i : *bb) {
        if (isa<PHINode>(i) || isa<GetElementPtrInst>(i) || i.isTerminator() || i.isDebugOrPseudoInst())
          continue;
        n++;
        auto *call = dyn_cast<CallBase>(&i);
        if (!call)
          continue;
        Function *f = call->getCalledFunction();
        if (call->isConvergent() || !f || (f->isDeclaration() && !f->isIntrinsic()))
          return std::nullopt;
        n += f->getInstructionCount();
      }
  for (Loop *inner : l) {
    unsigned rounds = mostRounds(*inner, se);
    bool known = se.getSmallConstantTripCount(inner);
    std::optional<unsigned> each = size(*inner, li, se);
    if (!each || !rounds || rounds > (known ? 64 : SHORT) || told(*inner))
      return std::nullopt;
    // Those whose length the loop around decides are triangles, mostly.
    n += (known ? rounds : (rounds + 1) / 2) * *each;
  }
  return n;
}

/// Does the loop step through an array that is a variable of the function?
static bool indexesVariable(const Loop &l, ScalarEvolution &se) {
  for (BasicBlock *bb : l.blocks())
    for (Instruction &i : *bb)
      if (Value *p = getLoadStorePointerOperand(&i))
        if (isa<AllocaInst>(getUnderlyingObject(p)) && SCEVExprContains(se.getSCEV(p), [&](const SCEV *s) {
              auto *steps = dyn_cast<SCEVAddRecExpr>(s);
              return steps && steps->getLoop() == &l;
            }))
          return true;
  return false;
}

/// Does one round write memory? Loads of the next cannot begin before it then, and repeating only costs registers (a 3D stencil
/// took 1.07 times as long on an H200).
static bool writes(const Loop &l) {
  return any_of(l.blocks(), [](BasicBlock *bb) { return any_of(*bb, [](Instruction &i) { return i.mayWriteToMemory(); }); });
}

/// Would LLVM itself repeat the loop as often, or more? It does so to small bodies whose rounds are a plain difference, and
/// eight loads at once were 3 to 5 % faster than four (sums, sparse products).
static bool repeatedAnyway(const Loop &l, unsigned n, ScalarEvolution &se) {
  return n <= 18 && !SCEVExprContains(se.getBackedgeTakenCount(&l), [](const SCEV *s) {
    return isa<SCEVUDivExpr>(s) || isa<SCEVMinMaxExpr>(s);
  });
}

/// Can the number of rounds be had before the loop, for little?
static bool countable(const Loop &l, unsigned most, ScalarEvolution &se) {
  BasicBlock *exit = l.getExitingBlock();
  if (!exit || exit != l.getLoopLatch())
    return false;
  const SCEV *rounds = se.getBackedgeTakenCount(&l);
  if (isa<SCEVCouldNotCompute>(rounds))
    return false;
  bool divides = SCEVExprContains(rounds, [](const SCEV *s) {
    auto *d = dyn_cast<SCEVUDivExpr>(s);
    return d && !isa<SCEVConstant>(d->getRHS());
  });
  return !divides || (l.getLoopDepth() == 1 && (most == 0 || most > MANY));
}

/// A mark for what becomes of a loop that was unrolled.
static MDNode *followUp(LLVMContext &c, const char *which, const char *mark) {
  return MDNode::get(c, {MDString::get(c, which), MDNode::get(c, MDString::get(c, mark))});
}

/// The mark of rounds that are left over, until it is known how many they may be.
constexpr const char *REST = "kerf.rest";

static void nameRest(Loop &l) {
  LLVMContext &c = l.getHeader()->getContext();
  MDNode *rest = followUp(c, "llvm.loop.unroll.followup_remainder", REST);
  l.setLoopID(makePostTransformationMetadata(c, l.getLoopID(), {}, {rest}));
}

/// Unrolled by the optimiser, the loop is the assembler's to unroll further. Without a follow-up mark the optimiser would
/// forbid that.
static void repeat(Loop &l) {
  LLVMContext &c = l.getHeader()->getContext();
  addStringMetadataToLoop(&l, "llvm.loop.unroll.count", ROUNDS);
  MDNode *after = followUp(c, "llvm.loop.unroll.followup_unrolled", "llvm.loop.mustprogress");
  l.setLoopID(makePostTransformationMetadata(c, l.getLoopID(), {}, {after}));
}

/// Marks loops that nvcc would unroll and LLVM would not, or otherwise.
static void markLoops(Function &f) {
  DominatorTree dt(f);
  LoopInfo li(dt);
  if (li.empty())
    return;
  AssumptionCache ac(f);
  TargetLibraryInfoImpl impl(f.getParent()->getTargetTriple());
  TargetLibraryInfo tli(impl);
  ScalarEvolution se(f, tli, ac, dt, li);
  for (Loop *l : li.getLoopsInPreorder()) {
    std::optional<unsigned> n = told(*l) ? std::nullopt : size(*l, li, se);
    if (!n)
      continue;
    nameRest(*l);
    unsigned rounds = se.getSmallConstantTripCount(l), most = se.getSmallConstantMaxTripCount(l);
    if (rounds && (rounds * *n <= WHOLE || (rounds * *n <= TABLE && indexesVariable(*l, se))))
      addStringMetadataToLoop(l, "llvm.loop.unroll.full");
    else if (!rounds && most && most <= SHORT && most * *n <= WHOLE)
      addStringMetadataToLoop(l, "llvm.loop.unroll.enable");
    else if (*n <= MOST && countable(*l, most, se) && (rounds || (!writes(*l) && !repeatedAnyway(*l, *n, se))))
      repeat(*l);
  }
}

/// Rounds that are left over become straight code, as nvcc has them, where they are few: an inner loop may have no others, and
/// beside a second loop the assembler may order the first one badly (bodies in float took 1.43 times as long on an H200).
static void markRest(Function &f) {
  DominatorTree dt(f);
  LoopInfo li(dt);
  if (none_of(li.getLoopsInPreorder(), [](Loop *l) { return findOptionMDForLoop(l, REST); }))
    return;
  AssumptionCache ac(f);
  TargetLibraryInfoImpl impl(f.getParent()->getTargetTriple());
  TargetLibraryInfo tli(impl);
  ScalarEvolution se(f, tli, ac, dt, li);
  for (Loop *l : li.getLoopsInPreorder())
    if (findOptionMDForLoop(l, REST)) {
      unsigned most = se.getSmallConstantMaxTripCount(l);
      addStringMetadataToLoop(l, most && most < ROUNDS ? "llvm.loop.unroll.enable" : "llvm.loop.unroll.disable");
    }
}

// ---- Copies

/// Copies of structs load everything, in the widest pieces that the alignment allows, before they store: LLVM would take
/// turns, which keeps loads from being joined and from being under way together.
static void widenCopies(Function &f) {
  for (Instruction &i : make_early_inc_range(instructions(f))) {
    auto *c = dyn_cast<MemCpyInst>(&i);
    auto *n = c ? dyn_cast<ConstantInt>(c->getLength()) : nullptr;
    if (!n || c->isVolatile() || n->getZExtValue() > 128)
      continue;
    uint64_t bytes = n->getZExtValue();
    Align from = c->getSourceAlign().valueOrOne(), to = c->getDestAlign().valueOrOne();
    uint64_t piece = std::min<uint64_t>({from.value(), to.value(), 8});
    if (piece < 4 || bytes % piece)
      continue;
    IRBuilder<> b(c);
    Type *word = b.getIntNTy(piece * 8);
    SmallVector<Value *, 32> words;
    for (uint64_t at = 0; at < bytes; at += piece)
      words.push_back(b.CreateAlignedLoad(word, b.CreatePtrAdd(c->getRawSource(), b.getInt64(at)), commonAlignment(from, at)));
    for (uint64_t at = 0; at < bytes; at += piece)
      b.CreateAlignedStore(words[at / piece], b.CreatePtrAdd(c->getRawDest(), b.getInt64(at)), commonAlignment(to, at));
    c->eraseFromParent();
  }
}

// ---- Arrays

/// As nvcc aligns the arrays of a thread: two doubles move at once.
static const Align WIDE(16);

/// Alignment of a place inside a variable of the function. LLVM's own answer ends where a generic address begins.
static Align place(const Value *p, const DataLayout &layout) {
  for (uint64_t step = 0;;) {
    if (auto *a = dyn_cast<AllocaInst>(p))
      return commonAlignment(a->getAlign(), step);
    if (auto *cast = dyn_cast<AddrSpaceCastOperator>(p)) {
      p = cast->getPointerOperand();
      continue;
    }
    auto *gep = dyn_cast<GEPOperator>(p);
    SmallMapVector<Value *, APInt, 4> variable;
    unsigned bits = layout.getIndexTypeSizeInBits(p->getType());
    APInt constant(bits, 0);
    if (!gep || !gep->collectOffset(layout, bits, variable, constant))
      return Align(1);
    step |= constant.getZExtValue();
    for (auto &[index, scale] : variable)
      step |= scale.getZExtValue();
    p = gep->getPointerOperand();
  }
}

/// Arrays of a thread begin where wide moves may; loads and stores say what that tells of their places, so that the
/// backend joins neighbours.
static void alignArrays(Function &f) {
  const DataLayout &layout = f.getParent()->getDataLayout();
  for (Instruction &i : f.getEntryBlock())
    if (auto *a = dyn_cast<AllocaInst>(&i); a && a->isStaticAlloca() && a->getAlign() < WIDE)
      if (auto size = a->getAllocationSize(layout); size && size->getFixedValue() >= WIDE.value())
        a->setAlignment(WIDE);
  for (Instruction &i : instructions(f))
    if (Value *p = getLoadStorePointerOperand(&i)) {
      Align known = std::max(place(p, layout), getLoadStoreAlignment(&i));
      if (auto *l = dyn_cast<LoadInst>(&i))
        l->setAlignment(known);
      else
        cast<StoreInst>(&i)->setAlignment(known);
    }
}

/// Loads through pointers that nothing is written through (`const`, `__restrict__`) may go by the read-only cache. The
/// backend looks for the pointer too, but not through long chains of offsets, which unrolled loops leave.
static void markReadOnly(Function &f) {
  if (f.getCallingConv() != CallingConv::PTX_Kernel)
    return;
  for (Instruction &i : instructions(f))
    if (auto *l = dyn_cast<LoadInst>(&i); l && l->isSimple())
      if (auto *a = dyn_cast<Argument>(getUnderlyingObject(l->getPointerOperand(), 0)))
        if (a->hasNoAliasAttr() && a->onlyReadsMemory() && !a->hasByValAttr())
          l->setMetadata(LLVMContext::MD_invariant_load, MDNode::get(f.getContext(), {}));
}

extern "C" {

/// Once, before any code is made. LLVM moves comparisons out of loops after it has chosen instructions, and their predicates are then
/// kept through inner loops, of which the assembler makes less (bodies in double took 1.11 times as long on an H200). It moves
/// them by itself where that pays.
void kerf_shape_backend() {
  static RegisterTargetPassConfigCallback leave([](TargetMachine &machine, PassManagerBase &, TargetPassConfig *passes) {
    if (machine.getTargetTriple().isNVPTX())
      passes->disablePass(&EarlyMachineLICMID);
  });
}

/// Before the optimiser.
void kerf_shape(LLVMModuleRef m) {
  for (Function &f : *unwrap(m))
    if (!f.isDeclaration()) {
      chooseValues(f);
      markLoops(f);
    }
}

/// After it, where loops are to be unrolled once more.
void kerf_shape_rest(LLVMModuleRef m) {
  for (Function &f : *unwrap(m))
    if (!f.isDeclaration())
      markRest(f);
}

/// Where PTX is next.
void kerf_shape_memory(LLVMModuleRef m) {
  for (Function &f : *unwrap(m))
    if (!f.isDeclaration()) {
      widenCopies(f);
      alignArrays(f);
      markReadOnly(f);
    }
}
}
