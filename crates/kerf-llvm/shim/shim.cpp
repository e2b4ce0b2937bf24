// What Kerf needs of LLVM and the C API does not offer. Every function is a thin wrapper:
// no policy lives here.
#include "llvm-c/Core.h"
#include "llvm-c/TargetMachine.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/IR/DIBuilder.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include "llvm/IR/ReplaceConstant.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/Local.h"
#include "llvm/Transforms/Utils/LoopUtils.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"
#include "llvm/Transforms/Utils/PromoteMemToReg.h"
#include <cstdlib>
#include <cstring>
#include <set>

using namespace llvm;

static char *dup(const std::string &s) {
  char *p = static_cast<char *>(malloc(s.size() + 1));
  memcpy(p, s.c_str(), s.size() + 1);
  return p;
}

extern "C" {

void kerf_free(char *p) { free(p); }

char *kerf_demangle(const char *name) { return dup(demangle(name)); }

/// Loop depth of every block, in block order; `depth` has room for all.
void kerf_loop_depths(LLVMValueRef f, unsigned *depth) {
  Function &fn = *unwrap<Function>(f);
  DominatorTree dt(fn);
  LoopInfo li(dt);
  for (BasicBlock &bb : fn)
    *depth++ = li.getLoopDepth(&bb);
}

/// Drops flags, metadata and attributes by which instructions promise something of their operands or result.
void kerf_drop_poison_flags(LLVMValueRef f) {
  for (Instruction &i : instructions(*unwrap<Function>(f))) {
    i.dropPoisonGeneratingAnnotations();
    i.dropUBImplyingAttrsAndMetadata();
  }
}

/// Where the variable that lives in an alloca is declared, as file:line, or null.
char *kerf_variable_place(LLVMValueRef v) {
  for (DbgVariableRecord *r : findDVRDeclares(unwrap(v))) {
    DILocalVariable *l = r->getVariable();
    return dup((l->getFilename() + ":" + Twine(l->getLine())).str());
  }
  return nullptr;
}

/// Name of the source variable that holds `v`, or null.
char *kerf_variable_name(LLVMValueRef v) {
  // An array's own name comes before those of pointers that it was passed as.
  SmallVector<DbgVariableRecord *> recs, values;
  for (DbgVariableRecord *r : findDVRDeclares(unwrap(v)))
    recs.push_back(r);
  findDbgValues(unwrap(v), values);
  recs.append(values);
  // Names with two underscores are those of headers: a parameter of fmax is nobody's variable.
  for (DbgVariableRecord *r : recs) {
    StringRef name = r->getVariable()->getName();
    if (!name.empty() && !name.starts_with("__"))
      return dup(name.str());
  }
  return nullptr;
}

static std::string typeName(const DIType *t) {
  if (!t)
    return "void";
  if (auto *d = dyn_cast<DIDerivedType>(t)) {
    switch (d->getTag()) {
    case dwarf::DW_TAG_pointer_type:
      return typeName(d->getBaseType()) + "*";
    case dwarf::DW_TAG_reference_type:
      return typeName(d->getBaseType()) + "&";
    case dwarf::DW_TAG_const_type:
      return "const " + typeName(d->getBaseType());
    case dwarf::DW_TAG_restrict_type:
    case dwarf::DW_TAG_volatile_type:
      return typeName(d->getBaseType());
    default:
      if (!d->getName().empty())
        return d->getName().str();
      return typeName(d->getBaseType());
    }
  }
  if (auto *c = dyn_cast<DICompositeType>(t))
    if (c->getTag() == dwarf::DW_TAG_array_type)
      return typeName(c->getBaseType()) + "[]";
  return t->getName().str();
}

/// Strips qualifiers and typedefs.
static const DIType *strip(const DIType *t) {
  while (auto *d = dyn_cast_or_null<DIDerivedType>(t)) {
    unsigned tag = d->getTag();
    if (tag == dwarf::DW_TAG_pointer_type || tag == dwarf::DW_TAG_reference_type)
      break;
    t = d->getBaseType();
  }
  return t;
}

static void scalars(const DIType *t, uint64_t base, std::string &out, int depth);

/// Flat scalar layout "offset:kind" of a type, e.g. "0:f64,8:i32".
static void scalars(const DIType *t, uint64_t base, std::string &out, int depth) {
  t = strip(t);
  if (!t || depth > 8 || out.size() > (1u << 20))
    return;
  auto put = [&](const std::string &k) {
    if (!out.empty())
      out += ",";
    out += std::to_string(base) + ":" + k;
  };
  if (auto *b = dyn_cast<DIBasicType>(t)) {
    std::string n = std::to_string(b->getSizeInBits());
    switch (b->getEncoding()) {
    case dwarf::DW_ATE_float:
      put(b->getName() == "__bf16" ? "bf16" : "f" + n);
      break;
    case dwarf::DW_ATE_unsigned:
    case dwarf::DW_ATE_unsigned_char:
    case dwarf::DW_ATE_boolean:
    case dwarf::DW_ATE_UTF:
      put("u" + n);
      break;
    default:
      put("i" + n);
    }
    return;
  }
  if (isa<DIDerivedType>(t)) {
    put("ptr");
    return;
  }
  auto *c = dyn_cast<DICompositeType>(t);
  if (!c)
    return;
  if (c->getTag() == dwarf::DW_TAG_enumeration_type) {
    put("i" + std::to_string(c->getSizeInBits()));
    return;
  }
  StringRef name = c->getName();
  // The header types of cuda_fp16.h and cuda_bf16.h wrap an integer.
  if (name == "__half") { put("f16"); return; }
  if (name == "__nv_bfloat16") { put("bf16"); return; }
  if (name == "__half2") { put("f16"); base += 2; put("f16"); return; }
  if (name == "__nv_bfloat162") { put("bf16"); base += 2; put("bf16"); return; }
  if (c->getTag() == dwarf::DW_TAG_array_type) {
    const DIType *e = strip(c->getBaseType());
    uint64_t esz = e ? e->getSizeInBits() / 8 : 0;
    if (!esz)
      return;
    uint64_t n = c->getSizeInBits() / 8 / esz;
    for (uint64_t i = 0; i < n && i < 65536; i++)
      scalars(e, base + i * esz, out, depth + 1);
    return;
  }
  bool isUnion = c->getTag() == dwarf::DW_TAG_union_type;
  for (auto *m : c->getElements()) {
    auto *d = dyn_cast_or_null<DIDerivedType>(m);
    if (!d || d->isStaticMember())
      continue;
    if (d->getTag() != dwarf::DW_TAG_member && d->getTag() != dwarf::DW_TAG_inheritance)
      continue;
    scalars(d->getBaseType(), base + d->getOffsetInBits() / 8, out, depth + 1);
    if (isUnion)
      break;
  }
}

/// Removes from debug info what compile units list and no instruction refers to: enumerations, types, using-declarations.
void kerf_drop_unit_lists(LLVMModuleRef m) {
  for (DICompileUnit *unit : unwrap(m)->debug_compile_units()) {
    unit->replaceEnumTypes(DICompositeTypeArray());
    unit->replaceRetainedTypes(DITypeArray());
    unit->replaceImportedEntities(DIImportedEntityArray());
  }
}

/// Leaves of debug info what names parameters and arrays of kernels. The rest (lines, inlined functions, what headers
/// declare) is copied with a module and never freed before its context is.
void kerf_lighten_debug(LLVMModuleRef m) {
  Module &module = *unwrap(m);
  for (Function &f : module) {
    bool kernel = f.getCallingConv() == CallingConv::PTX_Kernel || f.getCallingConv() == CallingConv::SPIR_KERNEL;
    if (!kernel)
      f.setSubprogram(nullptr);
    for (Instruction &i : instructions(f)) {
      SmallVector<DbgRecord *, 8> gone;
      for (DbgRecord &r : i.getDbgRecordRange()) {
        auto *v = dyn_cast<DbgVariableRecord>(&r);
        bool array = kernel && v && v->getNumVariableLocationOps() == 1 && !v->isKillLocation() &&
                     isa<AllocaInst>(v->getVariableLocationOp(0));
        if (!array)
          gone.push_back(&r);
      }
      for (DbgRecord *r : gone)
        r->eraseFromParent();
      i.setDebugLoc(DebugLoc());
      updateLoopMetadataDebugLocations(i, [](Metadata *n) { return isa<DILocation>(n) ? nullptr : n; });
    }
  }
  kerf_drop_unit_lists(m);
  for (DICompileUnit *unit : module.debug_compile_units()) {
    unit->replaceGlobalVariables(DIGlobalVariableExpressionArray());
    unit->replaceMacros(DIMacroNodeArray());
  }
}

/// Gives every instruction a line of its own, from 1 on, in the module's order. What was known of lines before is gone.
/// The marks go through the optimiser and the assembler.
void kerf_number_lines(LLVMModuleRef m) {
  Module &module = *unwrap(m);
  // What is moved to another block would lose its line: of two locations that are merged, the earlier stays.
  static bool kept = [] {
    auto &all = cl::getRegisteredOptions();
    auto one = all.find("pick-merged-source-locations");
    if (one != all.end())
      static_cast<cl::opt<bool> *>(one->second)->setValue(true);
    return true;
  }();
  (void)kept;
  StripDebugInfo(module);
  module.setModuleFlag(Module::Warning, "Debug Info Version", DEBUG_METADATA_VERSION);
  DIBuilder b(module);
  DIFile *file = b.createFile("program", "");
  b.createCompileUnit(DISourceLanguageName(dwarf::DW_LANG_C), file, "kerf", true, "", 0, "",
                      DICompileUnit::DebugDirectivesOnly);
  DISubroutineType *type = b.createSubroutineType(b.getOrCreateTypeArray({}));
  unsigned line = 0;
  for (Function &f : module) {
    // Instructions of functions that stand for libdevice's get the line of the call, as libdevice's do.
    if (f.isDeclaration() || f.getName().starts_with("__nv_kerf_made."))
      continue;
    DISubprogram *sp = b.createFunction(file, f.getName(), f.getName(), file, line + 1, type, line + 1,
                                        DINode::FlagZero, DISubprogram::SPFlagDefinition);
    f.setSubprogram(sp);
    for (Instruction &i : instructions(f))
      i.setDebugLoc(DILocation::get(module.getContext(), ++line, 0, sp));
  }
  b.finalize();
}

/// The type that a pointer leads to: of rows of a matrix, that of their elements. A vector of OpenCL's is an element.
static const DIType *element(const DIType *pointer) {
  auto *d = dyn_cast_or_null<DIDerivedType>(strip(pointer));
  const DIType *t = d ? strip(d->getBaseType()) : nullptr;
  while (auto *a = dyn_cast_or_null<DICompositeType>(t)) {
    if (a->getTag() != dwarf::DW_TAG_array_type || a->isVector())
      break;
    t = strip(a->getBaseType());
  }
  return t;
}

/// Named members of a struct, those of structs in it under both names: "offset|name|type|pointee size|pointee scalars;".
static void members(const DIType *t, uint64_t base, const std::string &prefix, std::string &out, int depth) {
  auto *c = dyn_cast_or_null<DICompositeType>(strip(t));
  if (!c || depth > 8 || out.size() > (1u << 16) || c->getTag() == dwarf::DW_TAG_array_type)
    return;
  for (auto *m : c->getElements()) {
    auto *d = dyn_cast_or_null<DIDerivedType>(m);
    if (!d || d->isStaticMember())
      continue;
    bool inherited = d->getTag() == dwarf::DW_TAG_inheritance;
    if (d->getTag() != dwarf::DW_TAG_member && !inherited)
      continue;
    uint64_t at = base + d->getOffsetInBits() / 8;
    std::string name = inherited ? prefix : prefix.empty() ? d->getName().str() : prefix + "_" + d->getName().str();
    if (isa_and_nonnull<DICompositeType>(strip(d->getBaseType()))) {
      members(d->getBaseType(), at, name, out, depth + 1);
      continue;
    }
    const DIType *e = element(d->getBaseType());
    std::string s;
    scalars(e, 0, s, 0);
    out += std::to_string(at) + "|" + name + "|" + typeName(d->getBaseType()) + "|" +
           std::to_string(e ? e->getSizeInBits() / 8 : 0) + "|" + s + ";";
  }
}

/// Parameters from debug info, one a line:
/// "name\ttype\tsize\tscalars\tpointee type\tpointee size\tpointee scalars\tmembers\n".
/// Null where the function has no debug info.
char *kerf_debug_params(LLVMValueRef f) {
  DISubprogram *sp = unwrap<Function>(f)->getSubprogram();
  if (!sp || !sp->getType())
    return nullptr;
  auto types = sp->getType()->getTypeArray();
  std::string out;
  for (unsigned i = 1; i < types.size(); i++) {
    DIType *t = types[i];
    std::string name;
    for (auto *n : sp->getRetainedNodes())
      if (auto *v = dyn_cast<DILocalVariable>(n))
        if (v->getArg() == i)
          name = v->getName().str();
    std::string s, ps, pt, all;
    uint64_t psize = 0;
    scalars(t, 0, s, 0);
    members(t, 0, "", all, 0);
    const DIType *u = strip(t);
    if (auto *d = dyn_cast_or_null<DIDerivedType>(u)) {
      pt = typeName(d->getBaseType());
      const DIType *e = element(t);
      scalars(e, 0, ps, 0);
      psize = e ? e->getSizeInBits() / 8 : 0;
    }
    out += name + "\t" + typeName(t) + "\t" +
           std::to_string(u ? u->getSizeInBits() / 8 : 0) + "\t" + s + "\t" + pt + "\t" +
           std::to_string(psize) + "\t" + ps + "\t" + all + "\n";
  }
  return dup(out);
}

/// Type of a global variable from debug info: "type\tscalars", or null.
char *kerf_debug_global(LLVMValueRef g) {
  SmallVector<DIGlobalVariableExpression *, 1> gv;
  unwrap<GlobalVariable>(g)->getDebugInfo(gv);
  if (gv.empty())
    return nullptr;
  std::string s;
  DIType *t = gv[0]->getVariable()->getType();
  scalars(t, 0, s, 0);
  return dup(gv[0]->getVariable()->getName().str() + "\t" + typeName(t) + "\t" + s);
}

/// Source position of an instruction: outermost file's line for inlined code comes second.
/// Returns "file\tline\tcol\touter_line\touter_col\tfunction" or null.
char *kerf_location(LLVMValueRef v) {
  auto *inst = dyn_cast<Instruction>(unwrap(v));
  if (!inst || !inst->getDebugLoc())
    return nullptr;
  const DILocation *loc = inst->getDebugLoc().get();
  const DILocation *outer = loc;
  while (outer->getInlinedAt())
    outer = outer->getInlinedAt();
  std::string out = loc->getFilename().str() + "\t" + std::to_string(loc->getLine()) + "\t" +
                    std::to_string(loc->getColumn()) + "\t" + std::to_string(outer->getLine()) +
                    "\t" + std::to_string(outer->getColumn()) + "\t" +
                    outer->getFilename().str() + "\t" +
                    loc->getScope()->getSubprogram()->getName().str();
  return dup(out);
}

static std::string whole(StringRef directory, StringRef file);

/// The whole inlining chain of an instruction, the innermost first: "file\tline\tcolumn\tfunction\n" each.
char *kerf_location_chain(LLVMValueRef v) {
  auto *inst = dyn_cast<Instruction>(unwrap(v));
  if (!inst || !inst->getDebugLoc())
    return nullptr;
  std::string out;
  for (const DILocation *l = inst->getDebugLoc().get(); l; l = l->getInlinedAt())
    out += whole(l->getDirectory(), l->getFilename()) + "\t" + std::to_string(l->getLine()) + "\t" +
           std::to_string(l->getColumn()) + "\t" + l->getScope()->getSubprogram()->getName().str() + "\n";
  return dup(out);
}

/// A file's whole path. Clang names the files under the working folder relative to it, also where the
/// source was given by its whole path.
static std::string whole(StringRef directory, StringRef file) {
  SmallString<256> path;
  if (!sys::path::is_absolute(file))
    path = directory;
  sys::path::append(path, file);
  sys::path::remove_dots(path, true);
  return std::string(path);
}

/// The innermost position on the inlining chain that lies in the file `main`: "line\tcol" or null.
char *kerf_location_in(LLVMValueRef v, const char *main) {
  auto *inst = dyn_cast<Instruction>(unwrap(v));
  if (!inst || !inst->getDebugLoc())
    return nullptr;
  for (const DILocation *l = inst->getDebugLoc().get(); l; l = l->getInlinedAt())
    if (l->getFilename() == main ||
        whole(l->getDirectory(), l->getFilename()) == whole(l->getDirectory(), main))
      return dup(std::to_string(l->getLine()) + "\t" + std::to_string(l->getColumn()));
  return nullptr;
}

/// A function equal to `f` with `n` parameters of the given types put before its own; the body
/// moves over, `f` stays as an empty declaration whose uses the caller rewrites.
LLVMValueRef kerf_prepend_params(LLVMValueRef f, LLVMTypeRef *types, unsigned n) {
  Function *old = unwrap<Function>(f);
  std::vector<Type *> params;
  for (unsigned i = 0; i < n; i++)
    params.push_back(unwrap(types[i]));
  for (Type *t : old->getFunctionType()->params())
    params.push_back(t);
  auto *type = FunctionType::get(old->getReturnType(), params, false);
  Function *fn = Function::Create(type, GlobalValue::InternalLinkage, old->getAddressSpace(), "",
                                  old->getParent());
  fn->takeName(old);
  AttributeList a = old->getAttributes();
  fn->setAttributes(AttributeList::get(fn->getContext(), a.getFnAttrs(), AttributeSet(), {}));
  fn->splice(fn->begin(), old);
  for (unsigned i = 0; i < old->arg_size(); i++) {
    old->getArg(i)->replaceAllUsesWith(fn->getArg(n + i));
    fn->getArg(n + i)->takeName(old->getArg(i));
  }
  fn->setSubprogram(old->getSubprogram());
  old->setSubprogram(nullptr);
  return wrap(fn);
}

/// A function equal to `f` whose pointer parameter `index` is a 64-bit integer; the body moves over
/// and sees the integer as the old pointer type. `f` is erased: it must be a kernel without callers.
LLVMValueRef kerf_param_to_int(LLVMValueRef f, unsigned index) {
  Function *old = unwrap<Function>(f);
  std::vector<Type *> params(old->getFunctionType()->params());
  params[index] = Type::getInt64Ty(old->getContext());
  auto *type = FunctionType::get(old->getReturnType(), params, false);
  Function *fn = Function::Create(type, old->getLinkage(), old->getAddressSpace(), "", old->getParent());
  fn->takeName(old);
  fn->setCallingConv(old->getCallingConv());
  AttributeList a = old->getAttributes().removeParamAttributes(old->getContext(), index);
  fn->setAttributes(a);
  fn->splice(fn->begin(), old);
  IRBuilder<> b(&*fn->getEntryBlock().getFirstInsertionPt());
  for (unsigned i = 0; i < old->arg_size(); i++) {
    Value *v = fn->getArg(i);
    if (i == index)
      v = b.CreateIntToPtr(v, old->getArg(i)->getType());
    old->getArg(i)->replaceAllUsesWith(v);
    fn->getArg(i)->takeName(old->getArg(i));
  }
  fn->setSubprogram(old->getSubprogram());
  old->setSubprogram(nullptr);
  old->eraseFromParent();
  return wrap(fn);
}

/// Makes a function a declaration again.
void kerf_delete_body(LLVMValueRef f) { unwrap<Function>(f)->deleteBody(); }

/// Kernel `f` with one more parameter at its end; the body, the name and all references move over. `f` is
/// erased: it must be a kernel without callers.
LLVMValueRef kerf_append_param(LLVMValueRef f, LLVMTypeRef type, const char *name) {
  Function *old = unwrap<Function>(f);
  std::vector<Type *> params(old->getFunctionType()->params());
  params.push_back(unwrap(type));
  auto *ty = FunctionType::get(old->getReturnType(), params, false);
  Function *fn = Function::Create(ty, old->getLinkage(), old->getAddressSpace(), "", old->getParent());
  fn->takeName(old);
  fn->setCallingConv(old->getCallingConv());
  fn->setAttributes(old->getAttributes());
  fn->splice(fn->begin(), old);
  for (unsigned i = 0; i < old->arg_size(); i++) {
    old->getArg(i)->replaceAllUsesWith(fn->getArg(i));
    fn->getArg(i)->takeName(old->getArg(i));
  }
  fn->getArg(old->arg_size())->setName(name);
  fn->copyMetadata(old, 0);
  old->setSubprogram(nullptr);
  old->replaceAllUsesWith(fn);
  old->eraseFromParent();
  return wrap(fn);
}

/// Puts the body of the called function in place of a call, which gets a place in the source where the
/// callee has places. False where LLVM cannot.
bool kerf_inline(LLVMValueRef call) {
  auto *c = unwrap<CallBase>(call);
  Function *callee = c->getCalledFunction();
  DISubprogram *sp = c->getFunction()->getSubprogram();
  if (sp && !c->getDebugLoc())
    c->setDebugLoc(DILocation::get(c->getContext(), sp->getLine(), 0, sp));
  if (!sp)
    callee->setSubprogram(nullptr);
  InlineFunctionInfo info;
  return InlineFunction(*c, info).isSuccess();
}

/// Replaces a call by one with `n` more leading arguments and the given callee.
LLVMValueRef kerf_prepend_args(LLVMValueRef call, LLVMValueRef callee, LLVMTypeRef type,
                               LLVMValueRef *args, unsigned n) {
  auto *c = unwrap<CallBase>(call);
  std::vector<Value *> all;
  for (unsigned i = 0; i < n; i++)
    all.push_back(unwrap(args[i]));
  for (Value *v : c->args())
    all.push_back(v);
  IRBuilder<> b(c);
  CallInst *r = b.CreateCall(cast<FunctionType>(unwrap(type)), unwrap(callee), all);
  r->setDebugLoc(c->getDebugLoc());
  c->replaceAllUsesWith(r);
  if (!c->getType()->isVoidTy())
    r->takeName(c);
  c->eraseFromParent();
  return wrap(r);
}

/// Marks the loop whose latch branch is `latch` as parallel: every memory access of `body`
/// joins one access group. The body is the function that the loop's call will inline.
void kerf_mark_parallel(LLVMValueRef latch, LLVMValueRef body) {
  Instruction *br = unwrap<Instruction>(latch);
  LLVMContext &c = br->getContext();
  // Atomics order iterations among each other: such a loop is not parallel in LLVM's sense.
  for (Instruction &i : instructions(*unwrap<Function>(body)))
    if (i.isAtomic() || i.isVolatile())
      return;
  MDNode *group = MDNode::getDistinct(c, {});
  for (Instruction &i : instructions(*unwrap<Function>(body)))
    if (i.mayReadOrWriteMemory())
      i.setMetadata(LLVMContext::MD_access_group, group);
  MDNode *par = MDNode::get(c, {MDString::get(c, "llvm.loop.parallel_accesses"), group});
  MDNode *id = MDNode::getDistinct(c, {nullptr, par});
  id->replaceOperandWith(0, id);
  br->setMetadata(LLVMContext::MD_loop, id);
}

/// Optimises at level 2 without vectorising or unrolling. `default<O2>` by its name vectorises whatever the options
/// say (LLVM 22: setupOptionsForPipelineAlias).
void kerf_optimise_scalar(LLVMModuleRef m, LLVMTargetMachineRef t) {
  PipelineTuningOptions o;
  o.LoopVectorization = o.SLPVectorization = o.LoopInterleaving = o.LoopUnrolling = false;
  PassBuilder builder(reinterpret_cast<TargetMachine *>(t), o);
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager graphs;
  ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graphs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graphs, modules);
  builder.buildPerModuleDefaultPipeline(OptimizationLevel::O2).run(*unwrap(m), modules);
}

/// Says which loops are to be vectorised: those marked parallel, unless their addresses step in
/// integers of two widths that may wrap. There LLVM's vectoriser takes the check of the wider for
/// one of the narrower (SCEVWrapPredicate::implies does not compare widths, LLVM 22), and would read
/// `a[x & 3]` beside `b[s + x]` as consecutive; such loops, marked or not, stay scalar.
void kerf_choose_vector_loops(LLVMValueRef f) {
  Function &fn = *unwrap<Function>(f);
  if (fn.isDeclaration())
    return;
  DominatorTree dt(fn);
  LoopInfo li(dt);
  AssumptionCache ac(fn);
  TargetLibraryInfoImpl impl(fn.getParent()->getTargetTriple());
  TargetLibraryInfo tli(impl);
  ScalarEvolution se(fn, tli, ac, dt, li);
  for (Loop *loop : li.getLoopsInPreorder()) {
    if (!loop->isInnermost())
      continue;
    std::set<unsigned> widths;
    for (BasicBlock *bb : loop->blocks())
      for (Instruction &i : *bb) {
        Value *p = getLoadStorePointerOperand(&i);
        if (!p || !se.isSCEVable(p->getType()))
          continue;
        (void)SCEVExprContains(se.getSCEV(p), [&](const SCEV *s) {
          if (auto *cast = dyn_cast<SCEVCastExpr>(s))
            (void)SCEVExprContains(cast->getOperand(), [&](const SCEV *t) {
              auto *ar = dyn_cast<SCEVAddRecExpr>(t);
              if (ar && ar->getLoop() == loop && ar->getType()->isIntegerTy())
                widths.insert(ar->getType()->getIntegerBitWidth());
              return false;
            });
          return false;
        });
      }
    bool safe = widths.size() < 2;
    if (safe && !findOptionMDForLoop(loop, "llvm.loop.parallel_accesses"))
      continue;
    addStringMetadataToLoop(loop, "llvm.loop.vectorize.enable", safe);
  }
}

/// Splits the block before `inst`; returns the new block that begins with it.
LLVMBasicBlockRef kerf_split_before(LLVMValueRef inst) {
  Instruction *i = unwrap<Instruction>(inst);
  return wrap(SplitBlock(i->getParent(), i));
}

/// A new first block of `f` that jumps to the old one; returned.
LLVMBasicBlockRef kerf_add_prologue(LLVMValueRef f) {
  Function *fn = unwrap<Function>(f);
  BasicBlock *old = &fn->getEntryBlock();
  BasicBlock *pro = BasicBlock::Create(fn->getContext(), "prologue", fn, old);
  IRBuilder<>(pro).CreateBr(old);
  return wrap(pro);
}

/// Keeps an SSA value in memory instead: an alloca at the end of `where`, stores and loads.
LLVMValueRef kerf_demote(LLVMValueRef v, LLVMBasicBlockRef where) {
  Instruction *i = unwrap<Instruction>(v);
  auto at = unwrap(where)->getTerminator()->getIterator();
  if (auto *p = dyn_cast<PHINode>(i))
    return wrap(DemotePHIToStack(p, at));
  return wrap(DemoteRegToStack(*i, false, at));
}

/// Moves an instruction to the end of a block, before its terminator.
void kerf_move_to(LLVMValueRef v, LLVMBasicBlockRef where) {
  unwrap<Instruction>(v)->moveBefore(unwrap(where)->getTerminator()->getIterator());
}

/// Makes SSA values of allocas that are only loaded and stored.
void kerf_promote(LLVMValueRef f, LLVMValueRef *allocas, unsigned n) {
  SmallVector<AllocaInst *, 64> all;
  for (unsigned i = 0; i < n; i++)
    if (auto *a = cast<AllocaInst>(unwrap(allocas[i])); isAllocaPromotable(a))
      all.push_back(a);
  DominatorTree dt(*unwrap<Function>(f));
  PromoteMemToReg(all, dt);
}

/// The metadata of a loop that has one mark.
static void mark_loop(LLVMValueRef latch, MDNode *mark) {
  Instruction *i = unwrap<Instruction>(latch);
  MDNode *id = MDNode::getDistinct(i->getContext(), {nullptr, mark});
  id->replaceOperandWith(0, id);
  i->setMetadata(LLVMContext::MD_loop, id);
}

/// Marks the loop of a latch branch as one that stays rolled.
void kerf_keep_rolled(LLVMValueRef latch) {
  LLVMContext &c = unwrap<Instruction>(latch)->getContext();
  mark_loop(latch, MDNode::get(c, MDString::get(c, "llvm.loop.unroll.disable")));
}

/// The body of the loop of this latch branch is laid out so many times.
void kerf_unroll_by(LLVMValueRef latch, unsigned factor) {
  LLVMContext &c = unwrap<Instruction>(latch)->getContext();
  Metadata *count = ConstantAsMetadata::get(ConstantInt::get(Type::getInt32Ty(c), factor));
  mark_loop(latch, MDNode::get(c, {MDString::get(c, "llvm.loop.unroll.count"), count}));
}

void kerf_remove_unreachable(LLVMValueRef f) { removeUnreachableBlocks(*unwrap<Function>(f)); }

/// A copy of `f` in its module under another name.
LLVMValueRef kerf_clone_function(LLVMValueRef f, const char *name) {
  ValueToValueMapTy map;
  Function *c = CloneFunction(unwrap<Function>(f), map);
  c->setName(name);
  return wrap(c);
}

/// Constant expressions of global `g` become instructions, so that `g` can be replaced by a
/// value that is not a constant.
void kerf_expand_constant_users(LLVMValueRef g) {
  convertUsersOfConstantsToInstructions({cast<Constant>(unwrap(g))});
}

/// Gives a global variable what another one has beside type, content and name: linkage, alignment, visibility, and
/// whether the host fills it.
void kerf_copy_global(LLVMValueRef to, LLVMValueRef from) {
  auto *t = cast<GlobalVariable>(unwrap(to));
  auto *f = cast<GlobalVariable>(unwrap(from));
  t->setLinkage(f->getLinkage());
  t->copyAttributesFrom(f);
  t->setConstant(f->isConstant());
}

/// Removes every use in llvm.used and llvm.compiler.used.
void kerf_drop_used(LLVMModuleRef m) {
  Module *mod = unwrap(m);
  for (const char *n : {"llvm.used", "llvm.compiler.used"})
    if (GlobalVariable *g = mod->getGlobalVariable(n))
      g->eraseFromParent();
}

/// Sets the fast-math flags of every operation to none, and drops value-changing function
/// attributes, so that backends have nothing left to decide.
void kerf_strict_math(LLVMModuleRef m) {
  for (Function &f : *unwrap(m)) {
    for (const char *a : {"unsafe-fp-math", "no-nans-fp-math", "no-infs-fp-math",
                          "no-signed-zeros-fp-math", "approx-func-fp-math"})
      f.removeFnAttr(a);
    for (Instruction &i : instructions(f))
      if (isa<FPMathOperator>(&i))
        // set... would only add flags.
        i.copyFastMathFlags(FastMathFlags());
  }
}

/// 1 if the call may be moved or merged as a pure function: no memory, no unwinding.
void kerf_mark_pure(LLVMValueRef f) {
  Function *fn = unwrap<Function>(f);
  fn->setMemoryEffects(MemoryEffects::none());
  fn->setDoesNotThrow();
  fn->setWillReturn();
  fn->addFnAttr(Attribute::NoFree);
  fn->addFnAttr(Attribute::NoSync);
  fn->addFnAttr(Attribute::Speculatable);
  fn->removeFnAttr(Attribute::Convergent);
  for (User *u : fn->users())
    if (auto *c = dyn_cast<CallBase>(u)) {
      c->removeFnAttr(Attribute::Convergent);
      c->setMemoryEffects(MemoryEffects::none());
      c->setDoesNotThrow();
    }
}

/// The object that pointer `p` is derived from, through GEPs and casts.
LLVMValueRef kerf_underlying(LLVMValueRef p);

unsigned kerf_is_convergent(LLVMValueRef call) {
  return unwrap<CallBase>(call)->isConvergent();
}

void kerf_set_no_wrap(LLVMValueRef v) {
  if (auto *b = dyn_cast<BinaryOperator>(unwrap(v))) {
    b->setHasNoSignedWrap(true);
    b->setHasNoUnsignedWrap(true);
  }
}
}

#include "llvm/Analysis/ValueTracking.h"
LLVMValueRef kerf_underlying(LLVMValueRef p) {
  return wrap(const_cast<Value *>(getUnderlyingObject(unwrap(p), 32)));
}
