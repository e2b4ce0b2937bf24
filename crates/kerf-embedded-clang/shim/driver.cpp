// clang's driver and its compiler (-cc1) as one function, over clang's static libraries.
#include <clang/Basic/Diagnostic.h>
#include <clang/Basic/DiagnosticIDs.h>
#include <clang/Basic/DiagnosticOptions.h>
#include <clang/Driver/Compilation.h>
#include <clang/Driver/Driver.h>
#include <clang/CodeGen/CodeGenAction.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Frontend/FrontendActions.h>
#include <clang/Frontend/TextDiagnosticBuffer.h>
#include <clang/Frontend/TextDiagnosticPrinter.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/Support/Allocator.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/StringSaver.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/VirtualFileSystem.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/Host.h>
#include <cstring>
#include <memory>

using Arguments = llvm::SmallVectorImpl<const char *>;

// The backends that Kerf links: the host's and that of GPUs.
static void initialize_targets() {
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();
  LLVMInitializeX86AsmParser();
  LLVMInitializeNVPTXTargetInfo();
  LLVMInitializeNVPTXTarget();
  LLVMInitializeNVPTXTargetMC();
  LLVMInitializeNVPTXAsmPrinter();
}

// What a compilation makes. Not clang's own table of actions: with it comes the static analyzer, and Z3 with that.
static std::unique_ptr<clang::FrontendAction> action_for(clang::frontend::ActionKind kind) {
  switch (kind) {
  case clang::frontend::EmitBC:
    return std::make_unique<clang::EmitBCAction>();
  case clang::frontend::EmitLLVM:
    return std::make_unique<clang::EmitLLVMAction>();
  case clang::frontend::EmitAssembly:
    return std::make_unique<clang::EmitAssemblyAction>();
  case clang::frontend::EmitObj:
    return std::make_unique<clang::EmitObjAction>();
  case clang::frontend::ParseSyntaxOnly:
    return std::make_unique<clang::SyntaxOnlyAction>();
  case clang::frontend::ASTDump:
    return std::make_unique<clang::ASTDumpAction>();
  case clang::frontend::GeneratePCH:
    return std::make_unique<clang::GeneratePCHAction>();
  case clang::frontend::PrintPreprocessedInput:
    return std::make_unique<clang::PrintPreprocessedAction>();
  case clang::frontend::RunPreprocessorOnly:
    return std::make_unique<clang::PreprocessOnlyAction>();
  default:
    return nullptr;
  }
}

// Options of LLVM behind -mllvm.
static void parse_llvm_options(const std::vector<std::string> &options) {
  if (options.empty())
    return;
  std::vector<const char *> words{"clang (LLVM option parsing)"};
  for (const std::string &option : options)
    words.push_back(option.c_str());
  llvm::cl::ParseCommandLineOptions(static_cast<int>(words.size()), words.data());
}

// One compilation. `args` begins with the program; everything behind -cc1 is for the compiler.
static int compile(Arguments &args) {
  llvm::ArrayRef<const char *> rest(args);
  while (!rest.empty() && (rest.back() == nullptr))
    rest = rest.drop_back();
  const char *program = rest.front();
  while (!rest.empty() && std::strcmp(rest.front(), "-cc1") != 0)
    rest = rest.drop_front();
  if (rest.empty()) {
    llvm::errs() << "error: only clang's compiler is built in, not its assembler\n";
    return 1;
  }
  initialize_targets();
  clang::CompilerInstance instance;
  clang::DiagnosticOptions early_options;
  auto early = std::make_unique<clang::TextDiagnosticBuffer>();
  clang::DiagnosticsEngine early_diagnostics(clang::DiagnosticIDs::create(), early_options,
                                             early.get(), false);
  bool understood = clang::CompilerInvocation::CreateFromArgs(
      instance.getInvocation(), rest.drop_front(), early_diagnostics, program);
  instance.createVirtualFileSystem();
  instance.createDiagnostics();
  if (!instance.hasDiagnostics())
    return 1;
  early->FlushDiagnostics(instance.getDiagnostics());
  if (!understood)
    return 1;
  parse_llvm_options(instance.getFrontendOpts().LLVMArgs);
  auto action = action_for(instance.getFrontendOpts().ProgramAction);
  if (!action) {
    llvm::errs() << "error: this action of clang is not built into Kerf; set KERF_CLANG to a clang 22\n";
    return 1;
  }
  bool done = instance.ExecuteAction(*action);
  llvm::outs().flush();
  return done ? 0 : 1;
}

// The driver: finds headers and tools, and runs the compiler, the machine's assembler and its linker.
static int drive(const char *program, const char *prefix, Arguments &args) {
  llvm::ArrayRef<const char *> given(args);
  std::unique_ptr<clang::DiagnosticOptions> options = clang::CreateAndPopulateDiagOpts(given);
  auto printer = std::make_unique<clang::TextDiagnosticPrinter>(llvm::errs(), *options);
  printer->setPrefix("clang");
  clang::DiagnosticsEngine diagnostics(clang::DiagnosticIDs::create(), *options, printer.release());
  // Otherwise -w and -Wno-... would not hold for the driver's own warnings.
  clang::ProcessWarningOptions(diagnostics, *options, *llvm::vfs::getRealFileSystem(), false);
  clang::driver::Driver driver(program, llvm::sys::getDefaultTargetTriple(), diagnostics);
  driver.setPrependArg(prefix);
  auto in_process = [](Arguments &words) { return compile(words); };
  driver.CC1Main = in_process;
  std::unique_ptr<clang::driver::Compilation> compilation(driver.BuildCompilation(given));
  if (!compilation || compilation->containsError())
    return 1;
  llvm::SmallVector<std::pair<int, const clang::driver::Command *>, 4> failing;
  int status = driver.ExecuteCompilation(*compilation, failing);
  for (auto &command : failing)
    if (command.first != 0 && status == 0)
      status = command.first;
  return status;
}

// clang called with argv, where argv[0] is the path of the program that calls; `prefix` is the argument with
// which that program calls this function again, in another process.
extern "C" int kerf_clang_main(int argc, const char *const *argv, const char *prefix) {
  llvm::BumpPtrAllocator memory;
  llvm::StringSaver saver(memory);
  llvm::SmallVector<const char *, 128> args(argv, argv + argc);
  llvm::cl::ExpandResponseFiles(saver, llvm::cl::TokenizeGNUCommandLine, args);
  bool compiler = args.size() > 1 && std::strncmp(args[1], "-cc1", 4) == 0;
  return compiler ? compile(args) : drive(argv[0], prefix, args);
}
