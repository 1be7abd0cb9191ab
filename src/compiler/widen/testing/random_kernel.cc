#include "compiler/widen/testing/random_kernel.h"

#include <fmt/format.h>

#include <random>

namespace tutti::compiler {
namespace {

constexpr uint32_t kInts = 5, kLongs = 2, kFloats = 2;

class Generator {
 public:
  Generator(uint64_t seed, const RandomKernelLimits& limits) : random_(seed), limits_(limits) {}

  std::string Make() {
    Prologue();
    const uint32_t blocks = 2 + Below(limits_.blocks);
    Line("br label %b0");
    for (uint32_t block = 0; block < blocks; ++block) {
      text_ += fmt::format("b{}:\n", block);
      const uint32_t statements = Below(limits_.statements + 1);
      for (uint32_t i = 0; i < statements; ++i) Statement();
      Terminator(block, blocks);
    }
    text_ += "leave:\n";
    Epilogue();
    return Wrap();
  }

 private:
  uint32_t Below(uint32_t n) { return std::uniform_int_distribution<uint32_t>(0, n - 1)(random_); }
  bool Chance(uint32_t percent) { return Below(100) < percent; }
  void Line(const std::string& line) { text_ += "  " + line + "\n"; }
  std::string Value(const std::string& expression) {
    const std::string name = fmt::format("%t{}", next_++);
    Line(name + " = " + expression);
    return name;
  }

  std::string Int() {
    switch (Below(12)) {
      case 0: return "%tx";
      case 1: return "%ty";
      case 2: return "%tid";
      case 3: return "%number";
      case 4: return std::to_string(static_cast<int32_t>(random_() >> (32 + Below(32))));
      case 5: return "%cx";
      case 6: return "%lane";
      default: return Value(fmt::format("load i32, ptr %i{}", Below(kInts)));
    }
  }
  std::string Long() {
    return Chance(40)   ? Value("zext i32 " + Int() + " to i64")
           : Chance(30) ? Value("sext i32 " + Int() + " to i64")
                        : Value(fmt::format("load i64, ptr %l{}", Below(kLongs)));
  }
  std::string Float() {
    return Chance(30) ? Value("sitofp i32 " + Int() + " to float")
                      : Value(fmt::format("load float, ptr %f{}", Below(kFloats)));
  }

  std::string Condition() {
    static const char* const kPredicates[] = {"eq", "ne", "slt", "sgt", "ult", "ugt", "sle", "uge"};
    const std::string a = Int();
    const std::string b = Chance(60) ? std::to_string(Below(40)) : Int();
    std::string condition = Value(
        fmt::format("icmp {} i32 {}, {}", kPredicates[Below(8)], Chance(40) ? Value("and i32 " + a + ", 15") : a, b));
    if (Chance(20)) condition = Value(fmt::format("fcmp ogt float {}, {}", Float(), Float()));
    return condition;
  }

  std::string IntOperation() {
    static const char* const kOps[] = {"add", "sub", "mul", "and", "or", "xor"};
    switch (Below(10)) {
      case 0: return Value(fmt::format("udiv i32 {}, {}", Int(), Value("or i32 " + Int() + ", 1")));
      case 1: return Value(fmt::format("urem i32 {}, {}", Int(), Value("or i32 " + Int() + ", 1")));
      case 2: return Value(fmt::format("{} i32 {}, {}", Below(2) ? "shl" : "lshr", Int(), Below(32)));
      case 3: return Value(fmt::format("select i1 {}, i32 {}, i32 {}", Condition(), Int(), Int()));
      case 4: return Value("trunc i64 " + Long() + " to i32");
      case 5: return Value(fmt::format("srem i32 {}, {}", Int(), 1 + Below(20)));
      case 6: return Value(fmt::format("call i32 @llvm.smax.i32(i32 {}, i32 {})", Int(), Int()));
      default: return Value(fmt::format("{} i32 {}, {}", kOps[Below(6)], Int(), Int()));
    }
  }

  // A word of the table: consecutive, by rows, strided, or anywhere.
  std::string TableAddress() {
    std::string index;
    switch (Below(4)) {
      case 0: index = "%tid"; break;
      case 1:
        index = Value(fmt::format("add i32 {}, {}", Chance(50) ? "%tx" : "%tid",
                                  Chance(50) ? "%number" : std::to_string(Below(9))));
        break;
      case 2:
        index = Value("add i32 %tx, " + Value("mul i32 %ty, " + (Chance(50) ? std::string("%number") : "32")));
        break;
      default: index = Int();
    }
    std::string wide;
    if (Chance(50)) {
      wide = Value("zext i32 " + Value(fmt::format("and i32 {}, {}", index, kRandomTableWords - 1)) + " to i64");
    } else {
      // Only the extension can wrap; the mask afterwards keeps the address legal.
      wide = Value("and i64 " + Value(fmt::format("{} i32 {} to i64", Chance(50) ? "zext" : "sext", index)) +
                   fmt::format(", {}", kRandomTableWords - 1));
    }
    return Value("inttoptr i64 " + Value("add i64 %table, " + Value("shl i64 " + wide + ", 2")) +
                 " to ptr addrspace(1)");
  }

  // A word of this thread's row in the output.
  std::string RowAddress() {
    const std::string column =
        Chance(70) ? std::to_string(Below(kRandomRowWords))
                   : Value("zext i32 " + Value(fmt::format("and i32 {}, {}", Int(), kRandomRowWords - 1)) + " to i64");
    return Value("inttoptr i64 " + Value("add i64 %row, " + Value("shl i64 " + column + ", 2")) +
                 " to ptr addrspace(1)");
  }

  void Statement() {
    if (limits_.yields != 0 && Chance(limits_.yields)) return Line("call void @tutti.yield()");
    switch (Below(12)) {
      case 0:
        return Line(fmt::format("store i64 {}, ptr %l{}",
                                Value(fmt::format("{} i64 {}, {}", Chance(50) ? "add" : "mul", Long(), Long())),
                                Below(kLongs)));
      case 1:
        return Line(fmt::format("store float {}, ptr %f{}",
                                Value(fmt::format("{} float {}, {}", Chance(50) ? "fadd" : "fmul", Float(), Float())),
                                Below(kFloats)));
      case 2:
      case 3:
        return Line(
            fmt::format("store i32 {}, ptr %i{}", Value("load i32, ptr addrspace(1) " + TableAddress()), Below(kInts)));
      case 4: return Line("store i32 " + Int() + ", ptr addrspace(1) " + RowAddress());
      case 5:
        return Line(
            fmt::format("store i32 {}, ptr %i{}", Value("load i32, ptr addrspace(1) " + RowAddress()), Below(kInts)));
      case 6:
        return Line(fmt::format("store float {}, ptr %f{}", Value("load float, ptr addrspace(1) " + TableAddress()),
                                Below(kFloats)));
      case 7: {
        const std::string old =
            Value("atomicrmw add ptr addrspace(1) " + RowAddress() + ", i32 " + Int() + " monotonic");
        return Line(fmt::format("store i32 {}, ptr %i{}", old, Below(kInts)));
      }
      default: return Line(fmt::format("store i32 {}, ptr %i{}", IntOperation(), Below(kInts)));
    }
  }

  std::string Target(uint32_t block) { return block >= 1000 ? "leave" : fmt::format("b{}", block); }

  void Terminator(uint32_t block, uint32_t blocks) {
    if (block + 1 == blocks) return Line("br label %leave");
    const uint32_t forward = block + 1 + Below(std::min(4u, blocks - block - 1));
    if (Chance(3)) return Line("call void @tutti.exit()\n  unreachable");
    if (Chance(20)) return Line(fmt::format("br label %b{}", forward));
    const std::string condition = Condition();
    uint32_t other = block + 1 + Below(blocks - block);
    if (other >= blocks) other = 1000;
    if (Chance(35)) {
      // Backwards, as long as there is fuel.
      const std::string fuel = Value("load i32, ptr %fuel");
      Line("store i32 " + Value("sub i32 " + fuel + ", 1") + ", ptr %fuel");
      const std::string more = Value("icmp sgt i32 " + fuel + ", 0");
      const std::string both = Value("and i1 " + condition + ", " + more);
      return Line(fmt::format("br i1 {}, label %b{}, label %b{}", both, Below(block + 1), forward));
    }
    Line(fmt::format("br i1 {}, label %b{}, label %{}", condition, forward, Target(other)));
  }

  void Prologue() {
    Line("%tx = call i32 @tutti.tid.x()");
    Line("%ty = call i32 @tutti.tid.y()");
    Line("%tz = call i32 @tutti.tid.z()");
    Line("%nx = call i32 @tutti.ntid.x()");
    Line("%ny = call i32 @tutti.ntid.y()");
    Line("%nz = call i32 @tutti.ntid.z()");
    Line("%cx = call i32 @tutti.ctaid.x()");
    Line("%lane = call i32 @tutti.laneid()");
    Line("%zy = mul i32 %tz, %ny");
    Line("%yz = add i32 %zy, %ty");
    Line("%yx = mul i32 %yz, %nx");
    Line("%tid = add i32 %yx, %tx");
    Line("%nxy = mul i32 %nx, %ny");
    Line("%nxyz = mul i32 %nxy, %nz");
    Line("%first = mul i32 %cx, %nxyz");
    Line("%gid = add i32 %first, %tid");
    Line("%table = load i64, ptr addrspace(101) null");
    Line("%out = load i64, ptr addrspace(101) inttoptr (i64 8 to ptr addrspace(101))");
    Line("%number = load i32, ptr addrspace(101) inttoptr (i64 16 to ptr addrspace(101))");
    Line("%gid64 = zext i32 %gid to i64");
    Line(fmt::format("%row_bytes = mul i64 %gid64, {}", 4 * kRandomRowWords));
    Line("%row = add i64 %out, %row_bytes");
    Line("%fuel = alloca i32");
    Line(fmt::format("store i32 {}, ptr %fuel", limits_.fuel));
    for (uint32_t i = 0; i < kInts; ++i)
      Line(fmt::format("%i{0} = alloca i32\n  store i32 {1}, ptr %i{0}", i, i == 0 ? "%gid" : std::to_string(i)));
    for (uint32_t i = 0; i < kLongs; ++i) Line(fmt::format("%l{0} = alloca i64\n  store i64 {0}, ptr %l{0}", i));
    for (uint32_t i = 0; i < kFloats; ++i) Line(fmt::format("%f{0} = alloca float\n  store float {0}.0, ptr %f{0}", i));
  }

  void Epilogue() {
    const auto store = [&](const char* type, const std::string& value, uint32_t word) {
      const std::string address = Value(fmt::format("add i64 %row, {}", 4 * word));
      Line(fmt::format("store {} {}, ptr addrspace(1) {}, align 4", type, value,
                       Value("inttoptr i64 " + address + " to ptr addrspace(1)")));
    };
    uint32_t word = 0;
    for (uint32_t i = 0; i < kInts; ++i) store("i32", Value(fmt::format("load i32, ptr %i{}", i)), word++);
    for (uint32_t i = 0; i < kFloats; ++i) store("float", Value(fmt::format("load float, ptr %f{}", i)), word++);
    ++word;
    for (uint32_t i = 0; i < kLongs; ++i, word += 2) store("i64", Value(fmt::format("load i64, ptr %l{}", i)), word);
    Line("ret void");
  }

  std::string Wrap() const {
    std::string all;
    for (const char* name : {"tid.x", "tid.y", "tid.z", "ntid.x", "ntid.y", "ntid.z", "ctaid.x", "laneid"}) {
      all += fmt::format("declare i32 @tutti.{}() memory(none)\n", name);
    }
    all += "declare void @tutti.exit() noreturn\ndeclare void @tutti.yield()\ndeclare i32 @llvm.smax.i32(i32, i32)\n";
    all += "!tutti.kernel = !{!0}\n!0 = !{i32 0, i32 0, i32 20}\n";
    return all + "define void @tutti.kernel() nounwind {\n" + text_ + "}\n";
  }

  std::mt19937_64 random_;
  RandomKernelLimits limits_;
  std::string text_;
  uint32_t next_ = 0;
};

}  // namespace

std::string RandomKernel(uint64_t seed, const RandomKernelLimits& limits) { return Generator(seed, limits).Make(); }

}  // namespace tutti::compiler
