// Functions that multiply, with their sums as values and in place: they must compute the same.
#include "compiler/link/sums_in_place.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "compiler/link/host_target.h"
#include "compiler/link/object_emitter.h"
#include "compiler/link/shared_object.h"
#include "os/fd.h"

namespace tutti::compiler {
namespace {

// Two sums, that cannot be taken for each other. Integers: what is computed in another order is another number.
constexpr const char* kProduct = R"(
  define internal { <4 x i32>, <4 x i32> } @tutti_mma_test(<4 x i32> %a, <4 x i32> %b, <4 x i32> %c, <4 x i32> %d) {
    %x = mul <4 x i32> %c, <i32 3, i32 5, i32 7, i32 9>
    %even = add <4 x i32> %x, %a
    %y = mul <4 x i32> %d, <i32 11, i32 13, i32 15, i32 17>
    %odd = add <4 x i32> %y, %b
    %r = insertvalue { <4 x i32>, <4 x i32> } poison, <4 x i32> %even, 0
    %s = insertvalue { <4 x i32>, <4 x i32> } %r, <4 x i32> %odd, 1
    ret { <4 x i32>, <4 x i32> } %s
  })";
constexpr int kOutputs = 10;  // vectors

// The body of f(out: vectors, a: two vectors, n: a number of rounds).
std::string Function(const std::string& body) {
  return std::string(kProduct) +
         "\ndefine void @f(ptr %out, ptr %in, i32 %n) {\nentry:\n"
         "  %a = load <4 x i32>, ptr %in\n  %p = getelementptr i8, ptr %in, i64 16\n  %b = load <4 x i32>, ptr %p\n" +
         body + "}\n";
}
std::string Store(int output, const std::string& value) {
  return fmt::format("  %out.{0} = getelementptr i8, ptr %out, i64 {1}\n  store <4 x i32> {2}, ptr %out.{0}\n", output,
                     16 * output, value);
}
// %r<name> and %s<name>: the next sums of c and d.
std::string Multiply(const std::string& name, const std::string& c, const std::string& d, const std::string& a = "%a") {
  return fmt::format(
      "  %m{0} = call {{ <4 x i32>, <4 x i32> }} @tutti_mma_test(<4 x i32> {3}, <4 x i32> %b, <4 x i32> {1}, <4 x i32> "
      "{2})\n  %r{0} = extractvalue {{ <4 x i32>, <4 x i32> }} %m{0}, 0\n"
      "  %s{0} = extractvalue {{ <4 x i32>, <4 x i32> }} %m{0}, 1\n",
      name, c, d, a);
}
// for (%i = 0; %i < n; ++%i), with phis of the loop and behind it. The round begins in %loop and ends in %latch.
struct Phi {
  std::string name, from_round, from_entry = "zeroinitializer";
};
using Phis = std::vector<Phi>;
std::string Text(const Phis& phis, const std::string& round_end) {
  std::string text;
  for (const Phi& phi : phis)
    text += fmt::format("  {} = phi <4 x i32> [ {}, %entry ], [ {}, {} ]\n", phi.name, phi.from_entry, phi.from_round,
                        round_end);
  return text;
}
std::string Loop(const Phis& phis, const std::string& round, const Phis& exits, const std::string& behind) {
  return "  %none = icmp eq i32 %n, 0\n  br i1 %none, label %end, label %loop\nloop:\n"
         "  %i = phi i32 [ 0, %entry ], [ %i.next, %latch ]\n" +
         Text(phis, "%latch") + round +
         "  br label %latch\nlatch:\n  %i.next = add i32 %i, 1\n  %more = icmp ult i32 %i.next, %n\n"
         "  br i1 %more, label %loop, label %end\nend:\n" +
         Text(exits, "%latch") + behind + "  ret void\n";
}

using Results = std::array<int32_t, size_t{4} * kOutputs>;

class Compiled {
 public:
  Compiled(const std::string& ir, bool in_place) {
    llvm::LLVMContext context;
    llvm::SMDiagnostic diagnostic;
    const auto module = llvm::parseAssemblyString(ir, diagnostic, context);
    EXPECT_TRUE(module) << diagnostic.getMessage().str() << diagnostic.getLineContents().str();
    const HostTarget target = HostTarget::Detect();
    auto machine = CreateTargetMachine(target, 0);
    if (!module || !machine) return;
    ApplyTarget(*module, target, **machine);
    module->getFunction("tutti_mma_test")->addFnAttr(llvm::Attribute::NoInline);
    if (in_place) KeepSumsInPlace(*module);
    llvm::raw_string_ostream out(text_);
    module->getFunction("f")->print(out);
    EXPECT_FALSE(llvm::verifyModule(*module, &llvm::errs())) << text_;
    const auto object = EmitObject(*module, **machine);
    if (!object) return;
    const auto library = LinkSharedObject(*object, {}, "test.so");
    if (!library) return;
    file_ = os::Fd(memfd_create("test", MFD_CLOEXEC));
    if (write(file_.get(), library->data(), library->size()) != static_cast<ssize_t>(library->size())) return;
    library_ = dlopen(fmt::format("/proc/self/fd/{}", file_.get()).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library_ != nullptr) f_ = reinterpret_cast<decltype(f_)>(dlsym(library_, "f"));
  }
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;
  ~Compiled() {
    if (library_ != nullptr) dlclose(library_);
  }

  Results Run(int rounds) const {
    EXPECT_NE(f_, nullptr);
    alignas(64) Results results{};
    alignas(64) const int32_t in[] = {1, 2, 3, 4, 5, 6, 7, 8};
    if (f_ != nullptr) f_(results.data(), in, rounds);
    return results;
  }
  const std::string& text() const { return text_; }
  size_t Count(const std::string& what) const {
    size_t count = 0;
    for (size_t at = 0; (at = text_.find(what, at)) != std::string::npos; ++at) ++count;
    return count;
  }

 private:
  std::string text_;
  os::Fd file_;
  void* library_ = nullptr;
  void (*f_)(int32_t*, const int32_t*, int) = nullptr;
};

// The function with sums in place, which computes what it computed.
std::optional<Compiled> g_compiled;
const Compiled& InPlace(const std::string& body) {
  const std::string ir = Function(body);
  const Compiled before(ir, false);
  g_compiled.emplace(ir, true);
  for (const int rounds : {0, 1, 2, 3, 7}) EXPECT_EQ(g_compiled->Run(rounds), before.Run(rounds)) << g_compiled->text();
  return *g_compiled;
}

TEST(SumsInPlace, AChainAroundALoopHasOnePlaceForEachSum) {
  const Compiled& compiled =
      InPlace(Loop({{"%c", "%r1"}, {"%d", "%s1"}}, Multiply("0", "%c", "%d") + Multiply("1", "%r0", "%s0"),
                   {{"%x", "%r1"}, {"%y", "%s1"}}, Store(0, "%x") + Store(1, "%y")));
  EXPECT_EQ(compiled.Count("alloca"), 2U);
  EXPECT_EQ(compiled.Count("call void @tutti_mma_test.in_place("), 2U);
  EXPECT_EQ(compiled.Count("call"), 2U);
  EXPECT_EQ(compiled.Count("phi <4 x i32>"), 0U);
  EXPECT_EQ(compiled.Count("store <4 x i32> zeroinitializer"), 2U);
}

TEST(SumsInPlace, WhatIsComputedInBetweenIsStoredForTheNextCall) {
  const Compiled& compiled = InPlace(Loop({{"%c", "%r0"}, {"%d", "%s0"}},
                                          "  %scaled = mul <4 x i32> %c, %a\n" + Multiply("0", "%scaled", "%d"),
                                          {{"%x", "%r0"}, {"%y", "%s0"}}, Store(0, "%x") + Store(1, "%y")));
  EXPECT_EQ(compiled.Count("alloca"), 2U);
  EXPECT_EQ(compiled.Count("store <4 x i32> %scaled"), 1U);
}

TEST(SumsInPlace, SumsThatALoopExchangesAreTwoAtATime) {
  const Compiled& compiled = InPlace(Loop({{"%c", "%s0"}, {"%d", "%r0"}}, Multiply("0", "%c", "%d"),
                                          {{"%x", "%r0"}, {"%y", "%s0"}}, Store(0, "%x") + Store(1, "%y")));
  EXPECT_EQ(compiled.Count("in_place"), 0U) << compiled.text();
}

// The one is used again behind what would overwrite it; the other may stay.
TEST(SumsInPlace, AnEarlierSumThatIsUsedLaterKeepsItsValue) {
  const Compiled& compiled = InPlace(Multiply("0", "zeroinitializer", "zeroinitializer") + Multiply("1", "%r0", "%s0") +
                                     Store(0, "%r0") + Store(1, "%r1") + Store(2, "%s1") + "  ret void\n");
  EXPECT_EQ(compiled.Count("call void @tutti_mma_test.in_place("), 2U);
  EXPECT_EQ(compiled.Count("alloca"), 2U) << "the place of a chain, and one for what is handed over\n"
                                          << compiled.text();
}

TEST(SumsInPlace, ASumOfTwoChainsIsHandedOver) {
  InPlace(Multiply("0", "%a", "%b") + Multiply("1", "%r0", "%r0") + Store(0, "%r1") + Store(1, "%s1") +
          Store(2, "%s0") + "  ret void\n");
}

TEST(SumsInPlace, ASumMayBeAFactorToo) {
  InPlace(Loop({{"%c", "%r0"}, {"%d", "%s0"}}, Multiply("0", "%c", "%d", "%c"), {{"%x", "%r0"}, {"%y", "%s0"}},
               Store(0, "%x") + Store(1, "%y")));
}

TEST(SumsInPlace, OfWhatNobodyWantsThereIsNoChain) {
  const Compiled& compiled = InPlace(Loop({{"%c", "%r0"}}, Multiply("0", "%c", "%b"), {{"%x", "%r0"}}, Store(0, "%x")));
  EXPECT_EQ(compiled.Count("call void @tutti_mma_test.in_place("), 1U);
}

// Where others may run, a warp's sums are its own: such a place is in its frame (link/frame_cut.h).
TEST(SumsInPlace, WhatIsThereWhileAServiceIsCalledIsVolatile) {
  const auto with_service = [](const std::string& round, const std::string& behind) {
    return "  %service = load ptr, ptr %in\n" +
           Loop({{"%c", "%r0"}, {"%d", "%s0"}}, round, {{"%x", "%r0"}, {"%y", "%s0"}}, behind);
  };
  const std::string call = "  call void asm sideeffect \"\", \"\"(), !tutti.service !0\n";
  const std::string stores = Store(0, "%x") + Store(1, "%y"), product = Multiply("0", "%c", "%d");
  EXPECT_EQ(InPlace(with_service(call + product, stores) + "}\n!0 = !{i64 8}\ndefine void @g() {\n ret void\n")
                .Count("store volatile <4 x i32>"),
            2U);
  EXPECT_EQ(InPlace(with_service(product, stores + call) + "}\n!0 = !{i64 8}\ndefine void @g() {\n ret void\n")
                .Count("volatile"),
            0U);
}

// At the end of a round the one is taken around, and the other way another value goes.
TEST(SumsInPlace, WhatGoesOneWayIsNotOverwrittenForTheOther) {
  const Compiled& compiled = InPlace(
      Multiply("9", "%a", "%b") + Store(3, "%s9") +
      Loop({{"%c", "%r0", "%r9"}}, Multiply("0", "%c", "%b") + Store(1, "%s0"), {{"%x", "%a", "%r9"}}, Store(0, "%x")));
  EXPECT_EQ(compiled.Count("store <4 x i32> %a"), 1U) << "handed over to the first product\n" << compiled.text();
  InPlace(Multiply("9", "%a", "%b") + Store(3, "%s9") +
          Loop({{"%c", "%b", "%r9"}}, Multiply("0", "%c", "%b") + Store(1, "%s0") + Store(2, "%r0"),
               {{"%x", "%a", "%r9"}}, Store(0, "%x")));
}

// What a place holds behind two ways of which one multiplies depends.
TEST(SumsInPlace, AWayAroundAProductKeepsWhatWasThere) {
  for (const char* way : {"label %product, label %latch", "label %latch, label %product"}) {
    InPlace(Loop({{"%c", "%r0"}},
                 Multiply("0", "%c", "%b") + Store(1, "%s0") + "  %odd = trunc i32 %i to i1\n  br i1 %odd, " + way +
                     "\nproduct:\n" + Multiply("1", "%r0", "%b") + Store(2, "%r1") + Store(3, "%s1"),
                 {}, ""));
  }
}

// Random products of random values, around a loop and on one of two ways. Each sum is in place if that is right.
class RandomFunction {
 public:
  explicit RandomFunction(unsigned seed) : random_(seed) {}

  std::string Make() {
    values_ = {"%a", "zeroinitializer"};
    const std::string entry = Multiply("first", Any(), Any()) + Store(3, "%rfirst");
    values_.insert(values_.end(), {"%rfirst", "%sfirst"});
    const std::vector<std::string> of_entry = values_;
    Phis phis(1 + Below(3)), exits(3);
    for (Phi& phi : phis) {
      phi.from_entry = Any();
      phi.name = fmt::format("%c{}", &phi - phis.data());
    }
    for (const Phi& phi : phis) values_.push_back(phi.name);
    std::string round = Products(0, 1 + Below(3)), behind;
    if (Below(2) == 0) {
      const std::vector<std::string> before = values_;
      const std::string other = Any(), on_way = Products(3, 1), from_way = Any();
      values_ = before;
      values_.emplace_back("%joined");
      round += "  %odd = trunc i32 %i to i1\n  br label %fork\nfork:\n  br i1 %odd, label %way, label %join\nway:\n" +
               on_way + "  br label %join\njoin:\n" +
               fmt::format("  %joined = phi <4 x i32> [ {}, %way ], [ {}, %fork ]\n", from_way, other);
    }
    for (Phi& phi : phis) phi.from_round = Any();
    for (Phi& phi : exits) {
      phi = {fmt::format("%x{}", &phi - exits.data()), Any(), of_entry[Below(of_entry.size())]};
      behind += Store(static_cast<int>(&phi - exits.data()), phi.name);
    }
    if (Below(2) == 0) behind += Multiply("last", "%x0", "%x1") + Store(8, "%rlast") + Store(9, "%slast");
    return entry + Loop(phis, round, exits, behind);
  }

 private:
  size_t Below(size_t count) { return std::uniform_int_distribution<size_t>(0, count - 1)(random_); }
  std::string Any() { return values_[Below(2) == 0 ? Below(values_.size()) : values_.size() - 1 - Below(2)]; }
  std::string Products(size_t first, size_t count) {
    std::string text;
    for (size_t i = first; i < first + count; ++i) {
      text += Multiply(std::to_string(i), Any(), Any(), Any());
      if (Below(4) == 0) text += Store(static_cast<int>(4 + i), Any());
      values_.push_back(fmt::format("%r{}", i));
      values_.push_back(fmt::format("%s{}", i));
    }
    return text;
  }

  std::mt19937 random_;
  std::vector<std::string> values_;
};

TEST(SumsInPlace, RandomFunctionsComputeTheSame) {
  size_t in_place = 0, as_values = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    const Compiled& compiled = InPlace(RandomFunction(seed).Make());
    in_place += compiled.Count("call void @tutti_mma_test.in_place(");
    as_values += compiled.Count("@tutti_mma_test(");
    ASSERT_FALSE(HasFailure()) << seed;
  }
  EXPECT_GT(in_place, 100U);
  EXPECT_GT(as_values, 20U);
}

}  // namespace
}  // namespace tutti::compiler
