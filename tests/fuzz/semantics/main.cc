// Random PTX, run by the interpreter (src/interpreter) and by the compiler for several processors, as it is and fenced; every
// result must be the same to the bit, or within what the ISA allows of .approx. `./dev fuzz semantics SECONDS`.
//
// What this judges: results of single instructions, of warps, of control flow, of shared memory and of order-free atomics, for
// all inputs the ISA defines them for. What it does not: orders of memory, textures and surfaces, clusters, faults.
// For .approx it allows what the ISA does, taken as one bound for a whole function (forms.cc); it is no proof of accuracy.
//
//   fuzz_semantics [--seconds N | --programs N] [--seed N] [--statements N] [--cases DIR]
//   fuzz_semantics --print --seed N [--statements N]     the PTX of one program
//   fuzz_semantics --rows                                 whether every row of opcode.def is made, or named with a reason
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <set>

#include "case_file.h"
#include "forms.h"
#include "makers.h"
#include "runner.h"

namespace {

using namespace semantics;
using tutti::ptx::Opcode;

constexpr Opcode kOpcodes[] = {
#define TUTTI_PTX_OPCODE(enumerator, text) Opcode::enumerator,
#include "ptx/opcode.def"
#undef TUTTI_PTX_OPCODE
};

struct Arguments {
  double seconds = 0;
  uint64_t programs = 0, seed = 1;
  uint32_t statements = 30;
  bool print = false, rows = false;
  std::string cases = ".";
};

// Drops statements, many at a time, then few, as long as `still` holds.
void Shrink(Program& program, const std::function<bool()>& still) {
  std::vector<Statement*> all = program.All();
  for (size_t chunk = std::max<size_t>(all.size() / 2, 1);; chunk /= 2) {
    for (size_t at = 0; at < all.size(); at += chunk) {
      std::vector<Statement*> dropped;
      for (size_t i = at; i < std::min(at + chunk, all.size()); ++i) {
        if (all[i]->dropped) continue;
        all[i]->dropped = true;
        dropped.push_back(all[i]);
      }
      if (dropped.empty() || still()) continue;
      for (Statement* statement : dropped) statement->dropped = false;
    }
    if (chunk == 1) break;
  }
}

std::string FormsLeft(Program& program) {
  std::string text;
  const std::function<void(const std::vector<Statement>&)> visit = [&](const std::vector<Statement>& list) {
    for (const Statement& statement : list) {
      if (statement.dropped) continue;
      text += (text.empty() ? "" : " + ") + statement.form;
      visit(statement.children);
      visit(statement.others);
    }
  };
  visit(program.statements);
  return text;
}

class Fuzzer {
 public:
  explicit Fuzzer(const Arguments& arguments) : arguments_(arguments) {}

  void RunOne(uint64_t seed) {
    Program program = MakeProgram(seed, arguments_.statements);
    runner_.SetInputs(seed);
    LeaveOut(program);
    for (const Opcode opcode : program.Opcodes()) reached_.insert(opcode);
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
      // The most expensive of them takes part in every fourth program.
      for (const Judge judge : {Judge::kFencedInterpreter, Judge::kAvx512, Judge::kAvx2, Judge::kBaseline, Judge::kFencedCompiler}) {
        if (!CanRun(judge) || (judge == Judge::kFencedCompiler && programs_ % 4 != 0)) continue;
        Run got = runner_.Execute(program, judge);
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
  }

  // Nonzero: there were differences, or rows that nobody accounts for.
  int Finish(bool long_enough) const {
    fmt::print("{} programs, {} differences\n", programs_, differences_.size());
    for (const auto& [form, why] : refused_) fmt::print("left out: {}: {}\n", form, why);
    std::string never;
    uint32_t reached = 0;
    for (const Opcode opcode : kOpcodes) {
      const std::string name(NameOf(opcode));
      if (reached_.contains(opcode)) {
        ++reached;
        continue;
      }
      const char* why = nullptr;
      for (const Unreached& row : UnreachedOpcodes()) {
        if (row.opcode == name) why = row.why;
      }
      if (why == nullptr) never += " " + name;
      else fmt::print("not made: {}: {}\n", name, why);
    }
    fmt::print("rows of opcode.def reached: {} of {}{}{}\n", reached, std::size(kOpcodes), never.empty() ? "" : "; never and without a reason:", never);
    for (const auto& [what, seed] : differences_) fmt::print("differs: {} (seed {})\n", what, seed);
    return !differences_.empty() || (long_enough && !never.empty()) ? 1 : 0;
  }

  void Reach(uint64_t seed) {
    for (const Opcode opcode : MakeProgram(seed, arguments_.statements).Opcodes()) reached_.insert(opcode);
  }

 private:
  // Whether a statement of the form cannot be run by somebody.
  bool LeavesOut(const std::string& form) const { return refused_.contains(form) || refused_.contains(form.substr(0, form.find('.'))); }
  void LeaveOut(Program& program) const {
    for (Statement* statement : program.All()) statement->dropped |= LeavesOut(statement->form);
  }

  // A statement that cannot be run is left out from then on, here and in later programs, and named at the end; one that ends
  // in a fault or never is a difference. False: nothing can be left out.
  bool Refuse(Program& program, Judge judge, const std::string& error) {
    const std::string kind = error.substr(0, 5);
    const bool wrong = kind == "fault" || kind == "deadl" || kind == "fence";
    std::string form, why = error;
    uint32_t line = 0;
    const size_t at = error.find("line ");
    if (!wrong && judge != Judge::kFencedInterpreter && judge != Judge::kFencedCompiler && at != std::string::npos) line = static_cast<uint32_t>(std::atoi(error.c_str() + at + 5));
    if (const Statement* statement = line != 0 ? program.At(line) : nullptr) {
      form = statement->form;
      if (error.substr(0, error.find('\n')).find("this instruction is not supported") != std::string::npos) form = form.substr(0, form.find('.'));
    } else {
      Program smallest = program;
      Shrink(smallest, [&] { return runner_.Execute(smallest, judge).error.substr(0, 5) == kind; });
      why = runner_.Execute(smallest, judge).error;
      const std::string left = FormsLeft(smallest);
      form = left.substr(left.rfind(" + ") == std::string::npos ? 0 : left.rfind(" + ") + 3);
      if (wrong || left.empty()) {
        if (differences_.emplace(std::string(NameOf(judge)) + ": " + left + ": " + why, program.seed).second) fmt::print("seed {}: {}: {}\n{}\n", program.seed, NameOf(judge), why, smallest.Text());
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
    Program smallest = program;
    const auto differs = [&](uint32_t threads) {
      const Run expected = runner_.Execute(smallest, Judge::kInterpreter, threads);
      if (!expected.error.empty()) return false;  // what waits for other threads would wait for ever
      const Run got = runner_.Execute(smallest, judge, threads);
      return got.error.empty() && !Compare(smallest, expected, got, threads).empty();
    };
    Shrink(smallest, [&] { return differs(kThreads); });
    uint32_t threads = kThreads;
    Run expected = runner_.Execute(smallest, Judge::kInterpreter), got = runner_.Execute(smallest, judge);
    const auto differences = Compare(smallest, expected, got);
    if (differences.empty()) return;
    const std::string form = FormsLeft(smallest), what = std::string(NameOf(judge)) + ": " + form;
    if (!differences_.emplace(what, program.seed).second) return;
    fmt::print("seed {}: {}\n", program.seed, what);
    for (size_t i = 0; i < std::min<size_t>(differences.size(), 4); ++i) {
      fmt::print("  thread {} at {}: interpreter {}, {} {}\n", differences[i].thread, differences[i].result.offset, differences[i].expected, NameOf(judge), differences[i].got);
    }
    // With the inputs of the thread at fault a single thread may show it.
    const std::vector<uint8_t> all = runner_.inputs();
    std::memcpy(runner_.inputs().data(), &all[size_t{differences[0].thread} * kInputBytes], kInputBytes);
    if (differs(1)) threads = 1;
    else runner_.inputs() = all;
    expected = runner_.Execute(smallest, Judge::kInterpreter, threads);
    const std::string path = fmt::format("{}/semantics_{}_{}.ptx", arguments_.cases, program.seed, differences_.size());
    WriteCase(path, smallest, runner_.inputs(), expected.output, threads);
    runner_.inputs() = all;
    fmt::print("  {}\n", path);
    std::fflush(stdout);
  }

  const Arguments& arguments_;
  Runner runner_;
  uint64_t programs_ = 0;
  std::map<std::string, std::string> refused_;
  std::map<std::string, uint64_t> differences_;
  std::set<Opcode> reached_;
};

uint64_t g_seed;
void OnAlarm(int) {
  char text[80];
  const int length = std::snprintf(text, sizeof text, "seed %llu: runs for minutes\n", static_cast<unsigned long long>(g_seed));
  if (write(2, text, static_cast<size_t>(length)) < 0) _exit(3);
  _exit(2);
}

Arguments Parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value = [&] { return i + 1 < argc ? argv[++i] : "0"; };
    if (word == "--seconds") arguments.seconds = std::atof(value());
    else if (word == "--programs") arguments.programs = std::strtoull(value(), nullptr, 10);
    else if (word == "--seed") arguments.seed = std::strtoull(value(), nullptr, 10);
    else if (word == "--statements") arguments.statements = static_cast<uint32_t>(std::atoi(value()));
    else if (word == "--cases") arguments.cases = value();
    else if (word == "--print") arguments.print = true;
    else if (word == "--rows") arguments.rows = true;
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
    fmt::print("{}", MakeProgram(arguments.seed, arguments.statements).Text());
    return 0;
  }
  Fuzzer fuzzer(arguments);
  if (arguments.rows) {
    for (uint64_t seed = 1; seed <= 300; ++seed) fuzzer.Reach(seed);
    return fuzzer.Finish(true);
  }
  signal(SIGALRM, OnAlarm);
  const auto begin = std::chrono::steady_clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
  for (uint64_t i = 0; arguments.seconds > 0 ? seconds() < arguments.seconds : i < std::max<uint64_t>(arguments.programs, 1); ++i) {
    g_seed = arguments.seed + i;
    alarm(300);
    fuzzer.RunOne(g_seed);
  }
  alarm(0);
  return fuzzer.Finish(arguments.seconds >= 60);
}
