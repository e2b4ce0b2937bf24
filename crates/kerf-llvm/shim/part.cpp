// Some functions of a module's bitcode, without reading the bodies of the others.
#include "llvm-c/Core.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"
#include <cstring>

using namespace llvm;

/// What a worklist of globals comes to hold: constants are followed to the globals in them.
static void add(SetVector<Constant *> &found, const User &u) {
  for (const Use &o : u.operands())
    if (auto *c = dyn_cast<Constant>(o.get()))
      found.insert(c);
}

/// Reads the bodies of the functions that are found from those in `found`; deletes those of the others.
static Error read_bodies(Module &m, SetVector<Constant *> &found) {
  for (size_t i = 0; i < found.size(); ++i) {
    Constant *c = found[i];
    auto *f = dyn_cast<Function>(c);
    if (f) {
      if (Error e = f->materialize())
        return e;
      for (const Instruction &inst : instructions(*f))
        add(found, inst);
    }
    add(found, *c); // a personality, an initialiser, an aliasee, a constant's parts
  }
  for (Function &f : m)
    if (f.isMaterializable() && !found.contains(&f))
      f.deleteBody();
  return m.materializeAll();
}

static char *message(const std::string &s) { return strdup(s.c_str()); }

extern "C" {

/// A module of the functions named in `roots` and of what they refer to; null, and a message, where it cannot be read. Those
/// that it does not have are passed over.
LLVMModuleRef kerf_parse_part(LLVMContextRef ctx, const char *bytes, size_t size, const char *name, const char *const *roots,
                              size_t n, char **error) {
  SMDiagnostic bad;
  auto buffer = MemoryBuffer::getMemBufferCopy(StringRef(bytes, size), name);
  std::unique_ptr<Module> m = getLazyIRModule(std::move(buffer), bad, *unwrap(ctx));
  if (!m) {
    std::string text;
    raw_string_ostream out(text);
    bad.print("", out, false);
    *error = message(text);
    return nullptr;
  }
  SetVector<Constant *> found;
  for (size_t i = 0; i < n; ++i)
    if (Function *f = m->getFunction(roots[i]))
      found.insert(f);
  if (Error e = read_bodies(*m, found)) {
    *error = message(toString(std::move(e)));
    return nullptr;
  }
  for (Function &f : make_early_inc_range(*m))
    if (f.isDeclaration() && f.use_empty())
      f.eraseFromParent();
  return wrap(m.release());
}
}
