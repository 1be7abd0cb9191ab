#include "interpreter/one_instruction.h"

#include <gtest/gtest.h>

#include <cstring>

#include "interpreter/machine.h"
#include "ptx/parser.h"

namespace tutti::interpreter {
namespace {

std::string TypeOf(char letter) {
  return letter == 'p' ? "pred" : letter == 'h' ? "b16" : letter == 'd' ? "b64" : "b32";
}

std::string WithResult(char letter, const std::string& name, uint32_t offset) {
  if (letter != 'p') return "st.global." + TypeOf(letter) + " [out+" + std::to_string(offset) + "], " + name + ";\n";
  return "selp.b32 word, 1, 0, " + name + ";\nst.global.b32 [out+" + std::to_string(offset) + "], word;\n";
}

void Run(const std::string& declarations, const std::string& body, std::vector<uint8_t>& output, uint32_t threads) {
  const std::string text =
      ".version 9.0\n.target sm_100a\n.address_size 64\n.visible .entry k(.param .u64 to)\n{\n.reg .b64 out; .reg .b32 "
      "word;\n" +
      declarations + "ld.param.u64 out, [to];\n" + body + "ret;\n}\n";
  const auto module = ptx::Parse(text);
  ASSERT_TRUE(module) << module.error().text;
  ASSERT_EQ(ptx::FunctionErrors(*module), "") << text;
  Machine machine(*module);
  machine.global().Map(output);
  const uint8_t* address = output.data();
  Launch launch{.block = {threads, 1, 1}};
  launch.params.resize(sizeof address);
  std::memcpy(launch.params.data(), &address, sizeof address);
  const Outcome outcome = machine.Run("k", launch);
  EXPECT_EQ(outcome.refused, "") << text;
  EXPECT_FALSE(outcome.fault) << outcome.fault->text;
  EXPECT_FALSE(outcome.deadlock);
}

}  // namespace

uint64_t Of(const std::string& instruction, const std::string& registers, std::initializer_list<uint64_t> sources) {
  const bool two = registers[1] == '|';
  std::string declarations = ".reg ." + TypeOf(registers[0]) + " d0;\n", operands = "d0", body;
  if (two) declarations += ".reg ." + TypeOf(registers[2]) + " d1;\n", operands += "|d1";
  size_t letter = two ? 4 : 2, number = 0;
  for (const uint64_t source : sources) {
    const char kind = registers.at(letter++);
    const std::string name = "s" + std::to_string(number++), value = std::to_string(source);
    operands += ", " + (kind == 'i' ? value : name);
    if (kind == 'i') continue;
    declarations += ".reg ." + TypeOf(kind) + " " + name + ";\n";
    body += kind == 'p' ? "setp.ne.u32 " + name + ", " + value + ", 0;\n"
                        : "mov." + TypeOf(kind) + " " + name + ", " + value + ";\n";
  }
  body += instruction + " " + operands + ";\n" + WithResult(registers[0], "d0", 0);
  if (two) body += WithResult(registers[2], "d1", 4);
  std::vector<uint8_t> output(8);
  Run(declarations, body, output, 1);
  uint64_t result;
  std::memcpy(&result, output.data(), sizeof result);
  return result;
}

std::vector<uint32_t> OfLanes(const std::string& body, uint32_t lanes) {
  std::vector<uint8_t> output(4 * lanes);
  Run(".reg .b32 %r<8>, %lane; .reg .b64 %d<2>; .reg .pred %p<4>; .shared .align 16 .b8 cells[256];\n",
      "mov.u32 %lane, %tid.x;\nmad.wide.u32 out, %lane, 4, out;\n" + body + "\nst.global.b32 [out], %r0;\n", output,
      lanes);
  std::vector<uint32_t> results(lanes);
  std::memcpy(results.data(), output.data(), output.size());
  return results;
}

}  // namespace tutti::interpreter
