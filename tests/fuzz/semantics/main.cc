// Random PTX, run by the interpreter (src/interpreter) and by the compiler for several processors, as it is and fenced;
// every result must be the same to the bit, or within what the ISA allows of .approx. `./dev fuzz semantics SECONDS`.
//
// What this judges: results of single instructions, of warps, of control flow, of shared memory and of order-free
// atomics, for all inputs the ISA defines them for. What it does not: orders of memory, textures and surfaces,
// clusters, faults. For .approx it allows what the ISA does (approximations.def).
//
//   fuzz_semantics [--seconds N | --programs N] [--seed N] [--statements N] [--cases DIR]
//   fuzz_semantics --faults ...                          one loop in each program, which may lead out of the memory:
//                                                         faults are compared, too
//   fuzz_semantics --print [--faults] --seed N [--statements N]     the PTX of one program
//   fuzz_semantics --rows                                 whether every row of opcode.def is made, or named with a
//                                                         reason
#include <fmt/format.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>

#include "case_file.h"
#include "forms.h"
#include "makers.h"
#include "reduce.h"
#include "runner.h"

namespace {

using namespace semantics;
using tutti::ptx::Opcode;

struct Arguments {
  double seconds = 0;
  uint64_t programs = 0, seed = 1;
  uint32_t statements = 12;
  bool print = false, rows = false, faults = false;
  std::string cases = ".";
};

// Each judge runs one in `every` programs. Nearly all time goes into LLVM's code generator, which takes about twice as
// long for AVX2, five times for SSE and over ten times for fenced PTX as for AVX-512. What is lowered and widened is
// the same for AVX2 and SSE.
struct Turn {
  Judge judge;
  uint64_t every;
};
constexpr Turn kTurns[] = {
    {Judge::kFencedInterpreter, 1}, {Judge::kAvx512, 1},         {Judge::kQuick, 1}, {Judge::kAvx2, 2},
    {Judge::kBaseline, 6},          {Judge::kFencedCompiler, 48}};

class Fuzzer {
 public:
  explicit Fuzzer(const Arguments& arguments) : arguments_(arguments) {}

  void RunOne(uint64_t seed) {
    Program program = MakeProgram(seed, arguments_.statements);
    runner_.SetInputs(seed);
    LeaveOut(program);
    // Whoever cannot run a statement has it left out for all.
    Run expected;
    std::vector<std::pair<Judge, Run>> runs;
    for (bool again = true; again;) {
      again = false;
      runs.clear();
      expected = runner_.Execute(program, Judge::kInterpreter);
      if (!expected.error.empty()) {
        if (!Refuse(program, Judge::kInterpreter, expected.error)) return;
        again = true;
        continue;
      }
      for (const auto& [judge, every] : kTurns) {
        if (!CanRun(judge) || programs_ % every != 0) continue;
        Run got = runner_.Execute(program, judge);
        if (got.error.find("cannot be fenced") != std::string::npos) continue;
        if (got.error.find(kNotForThreads) != std::string::npos) {
          ++not_for_threads_;
          continue;
        }
        if (got.error.starts_with(kTooLarge)) {
          ++too_large_;
          continue;
        }
        if (!got.error.empty()) {
          if (!Refuse(program, judge, got.error)) return;
          again = true;
          break;
        }
        runs.emplace_back(judge, std::move(got));
      }
    }
    // One judge that differs is enough; what it is shows which.
    for (const auto& [judge, got] : runs) {
      if (Compare(program, expected, got).empty()) continue;
      Report(program, judge);
      break;
    }
    ++programs_;
    for (const Opcode opcode : program.Opcodes()) reached_.insert(opcode);
    for (const Statement* statement : program.All()) statements_ += statement->dropped ? 0 : 1;
  }

  // A program that may end with a fault: the same thread's, at the same line.
  void RunFaults(uint64_t number) {
    const Program program = MakeWildRows(number);
    runner_.SetInputs(program.seed);
    const Run expected = runner_.Execute(program, Judge::kInterpreter);
    const auto differs = [&](Judge judge, const std::string& got) {
      Differs(fmt::format("{}: {}", NameOf(judge), program.statements[0].form), number,
              fmt::format("  interpreter: {}\n  {}\n{}", expected.error, got, program.Text()));
    };
    if (!expected.error.empty() && !expected.fault) return differs(Judge::kInterpreter, expected.error);
    for (const Judge judge : {Judge::kAvx512, Judge::kAvx2, Judge::kBaseline, Judge::kQuick}) {
      if (!CanRun(judge) || (judge == Judge::kBaseline && number % 4 != 0)) continue;
      const Run got = runner_.Execute(program, judge);
      if (got.error.find(kNotForThreads) != std::string::npos) continue;
      // Unrolled loops that are rolled up again have one loop's lines.
      const bool has_line = program.statements[0].form != "wild row, unrolled";
      const bool is_same = expected.fault ? got.fault && got.fault->kind == expected.fault->kind &&
                                                got.fault->thread == expected.fault->thread &&
                                                (!has_line || got.fault->line == expected.fault->line)
                                          : got.error.empty() && Compare(program, expected, got).empty();
      if (!is_same) differs(judge, got.error.empty() ? "other results" : got.error);
    }
    // Fenced, it is ended by the checks in its text, which say where; in shared memory, as GPUs do it themselves.
    const Run fenced = runner_.Execute(program, Judge::kFencedInterpreter);
    const std::string at = expected.fault ? fmt::format("line {}", expected.fault->line) : "";
    const bool is_same = expected.fault ? fenced.error.find(at + ",") != std::string::npos || fenced.fault
                                        : fenced.error.empty() && Compare(program, expected, fenced).empty();
    const bool is_short = fenced.error.find("too many steps") == std::string::npos;
    if (!is_same && is_short) differs(Judge::kFencedInterpreter, fenced.error.empty() ? "other results" : fenced.error);
    ++programs_;
    ++statements_;
    faults_ += expected.fault ? 1 : 0;
  }

  // Nonzero: there were differences, or rows or refusals that nobody accounts for.
  int Finish(bool long_enough) const {
    fmt::print("{} programs of {} statements, {} differences\n", programs_, statements_, differences_.size());
    if (arguments_.faults) {
      fmt::print("{} programs ended with a fault\n", faults_);
      for (const auto& [what, seed] : differences_) fmt::print("differs: {} (seed {})\n", what, seed);
      return differences_.empty() ? 0 : 1;
    }
    for (size_t judge = 0; judge < kJudges; ++judge)
      fmt::print("{}: {:.1f} s\n", NameOf(static_cast<Judge>(judge)), runner_.seconds(static_cast<Judge>(judge)));
    fmt::print("{}: {} programs\n", kNotForThreads, not_for_threads_);
    if (too_large_ != 0) fmt::print("{}, fenced: {} programs\n", kTooLarge, too_large_);
    bool all_known = true;
    for (const auto& [form, why] : refused_) {
      const bool known = WhyNotMade(form) != nullptr;
      all_known &= known;
      fmt::print("left out{}: {}: {}\n", known ? "" : " without a reason", form, why);
    }
    std::string never;
    uint32_t reached = 0;
    for (const Opcode opcode : tutti::ptx::kOpcodes) {
      const std::string name(NameOf(opcode));
      const char* why = WhyNotMade(name);
      if (why == nullptr && reached_.contains(opcode))
        ++reached;
      else if (why == nullptr)
        never += " " + name;
      else
        fmt::print("not made: {}: {}\n", name, why);
    }
    fmt::print("rows of opcode.def reached: {} of {}{}{}\n", reached, std::size(tutti::ptx::kOpcodes),
               never.empty() ? "" : "; never and without a reason:", never);
    for (const auto& [what, seed] : differences_) fmt::print("differs: {} (seed {})\n", what, seed);
    return !differences_.empty() || !all_known || (long_enough && !never.empty()) ? 1 : 0;
  }

  void Reach(uint64_t seed) {
    for (const Opcode opcode : MakeProgram(seed, arguments_.statements).Opcodes()) reached_.insert(opcode);
  }

 private:
  static const char* WhyNotMade(const std::string& opcode) {
    for (const Unreached& row : UnreachedOpcodes()) {
      if (row.opcode == opcode) return row.why;
    }
    return nullptr;
  }

  // Whether a statement of the form cannot be run by somebody.
  bool LeavesOut(const std::string& form) const {
    return refused_.contains(form) || refused_.contains(form.substr(0, form.find('.')));
  }
  void LeaveOut(Program& program) const {
    for (Statement* statement : program.All()) statement->dropped |= LeavesOut(statement->form);
  }

  // A statement that cannot be run is left out from then on, here and in later programs, and named at the end; one that
  // ends in a fault or never is a difference. False: nothing can be left out.
  bool Refuse(Program& program, Judge judge, const std::string& error) {
    const std::string kind = error.substr(0, 5);
    const bool wrong = kind == "fault" || kind == "deadl" || kind == "fence";
    std::string form, why = error;
    uint32_t line = 0;
    const size_t at = error.find("line ");
    if (!wrong && judge != Judge::kFencedInterpreter && judge != Judge::kFencedCompiler && at != std::string::npos)
      line = static_cast<uint32_t>(std::atoi(error.c_str() + at + 5));
    if (const Statement* statement = line != 0 ? program.At(line) : nullptr) {
      form = statement->form;
      if (error.substr(0, error.find('\n')).find("this instruction is not supported") != std::string::npos)
        form = form.substr(0, form.find('.'));
    } else {
      // Which may take minutes.
      fmt::print(stderr, "seed {}: {}: {}\n", program.seed, NameOf(judge), error.substr(0, error.find('\n')));
      Program smallest = program;
      Shrink(smallest, [&] { return runner_.Execute(smallest, judge).error.substr(0, 5) == kind; });
      why = runner_.Execute(smallest, judge).error;
      const std::string left = FormsLeft(smallest);
      form = left.substr(left.rfind(" + ") == std::string::npos ? 0 : left.rfind(" + ") + 3);
      if (wrong || left.empty()) {
        Differs(std::string(NameOf(judge)) + ": " + left + ": " + why, program.seed, smallest.Text());
        for (Statement* statement : program.All()) statement->dropped |= statement->form == form;
        return !left.empty();
      }
    }
    if (refused_.contains(form)) return false;
    refused_.emplace(form, std::string(NameOf(judge)) + ": " + why.substr(0, why.find('\n')));
    LeaveOut(program);
    return true;
  }

  void Report(const Program& program, Judge judge) {
    const Reduced reduced = Reduce(runner_, program, judge);
    if (reduced.differences.empty()) {
      Differs(fmt::format("{}: not every time", NameOf(judge)), program.seed, program.Text());
      return;
    }
    const std::string path = fmt::format("{}/semantics_{}_{}.ptx", arguments_.cases, program.seed, differences_.size());
    std::string text;
    for (size_t i = 0; i < std::min<size_t>(reduced.differences.size(), 4); ++i) {
      const Difference& difference = reduced.differences[i];
      text += fmt::format("  block {}, thread {} at {}: interpreter {}, {} {}\n", difference.block, difference.thread,
                          difference.result.offset, difference.expected, NameOf(judge), difference.got);
    }
    if (!Differs(std::string(NameOf(judge)) + ": " + FormsLeft(reduced.program), program.seed, text + "  " + path))
      return;
    WriteCase(path, reduced.program, reduced.inputs, reduced.expected, reduced.extent.threads);
  }

  // Whether that is new.
  bool Differs(const std::string& what, uint64_t seed, const std::string& details) {
    if (!differences_.emplace(what, seed).second) return false;
    fmt::print("seed {}: {}\n{}\n", seed, what, details);
    std::fflush(stdout);
    return true;
  }

  const Arguments& arguments_;
  Runner runner_;
  uint64_t programs_ = 0, statements_ = 0;  // that all judges have run
  uint64_t faults_ = 0;
  uint64_t not_for_threads_ = 0;
  uint64_t too_large_ = 0;  // programs with a copy, when fenced
  std::map<std::string, std::string> refused_;
  std::map<std::string, uint64_t> differences_;
  std::set<Opcode> reached_;
};

uint64_t g_seed;
void OnTimeUp(int) {
  char text[80];
  const int length =
      std::snprintf(text, sizeof text, "seed %llu: computes for minutes\n", static_cast<unsigned long long>(g_seed));
  if (write(2, text, static_cast<size_t>(length)) < 0) _exit(3);
  _exit(2);
}

Arguments Parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value = [&] { return i + 1 < argc ? argv[++i] : "0"; };
    if (word == "--seconds")
      arguments.seconds = std::atof(value());
    else if (word == "--programs")
      arguments.programs = std::strtoull(value(), nullptr, 10);
    else if (word == "--seed")
      arguments.seed = std::strtoull(value(), nullptr, 10);
    else if (word == "--statements")
      arguments.statements = static_cast<uint32_t>(std::atoi(value()));
    else if (word == "--cases")
      arguments.cases = value();
    else if (word == "--print")
      arguments.print = true;
    else if (word == "--rows")
      arguments.rows = true;
    else if (word == "--faults")
      arguments.faults = true;
    else {
      fmt::print(stderr, "fuzz_semantics: what is \"{}\"?\n", word);
      std::exit(3);
    }
  }
  return arguments;
}

}  // namespace

int main(int argc, char** argv) {
  setvbuf(stdout, nullptr, _IOLBF, 0);
  const Arguments arguments = Parse(argc, argv);
  if (arguments.print) {
    const Program program =
        arguments.faults ? MakeWildRows(arguments.seed) : MakeProgram(arguments.seed, arguments.statements);
    fmt::print("{}", program.Text());
    return 0;
  }
  Fuzzer fuzzer(arguments);
  if (arguments.rows) {
    for (uint64_t seed = 1; seed <= 1000; ++seed) fuzzer.Reach(seed);
    return fuzzer.Finish(true);
  }
  signal(SIGPROF, OnTimeUp);
  const itimerval never{};
  const auto begin = std::chrono::steady_clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
  for (uint64_t i = 0;
       arguments.seconds > 0 ? seconds() < arguments.seconds : i < std::max<uint64_t>(arguments.programs, 1); ++i) {
    g_seed = arguments.seed + i;
    const itimerval minutes{.it_interval = {}, .it_value = {.tv_sec = 300, .tv_usec = 0}};  // of the processor
    setitimer(ITIMER_PROF, &minutes, nullptr);
    if (arguments.faults)
      fuzzer.RunFaults(g_seed);
    else
      fuzzer.RunOne(g_seed);
  }
  setitimer(ITIMER_PROF, &never, nullptr);
  return fuzzer.Finish(arguments.seconds >= 60);
}
