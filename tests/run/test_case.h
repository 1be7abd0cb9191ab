// A run test: one .ptx file that carries its inputs and expected outputs in its leading comments. Directives, one per
// line:
//
//   // kernel: NAME                      the entry to launch
//   // grid: X Y Z                       default 1 1 1
//   // block: X Y Z                      default 32 1 1
//   // cluster: X Y Z                   blocks of a cluster, default none
//   // shared: BYTES                     dynamic shared memory, default 0
//   // buffer NAME: TYPE = V V V ...     device memory with these values
//   // buffer NAME: TYPE x COUNT         device memory of zeros
//   // argument: NAME | TYPE V           kernel parameters, in order: a buffer's address, or a value
//   // expect NAME: TYPE = V V V ...     what the buffer holds afterwards, to the bit ("..." repeats the last value)
//   // expect output: TEXT               what the kernel prints (\n as written)
//   // expect error: NAME                the CUresult of loading, launching or synchronising
//
// TYPE: u8 u16 u32 u64 s8 s16 s32 s64 f32 f64 b16 b32 b64 (b: hexadecimal). V: a number; 0x..., inf, nan as well.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace run_test {

struct Buffer {
  std::string name, type;
  std::vector<uint8_t> bytes;
};

struct Argument {
  int buffer = -1;             // index in TestCase::buffers, or
  std::vector<uint8_t> bytes;  // a value
};

struct Expectation {
  int buffer;
  std::string type;
  std::vector<std::string> values;  // as written
  size_t line;                      // of the directive, for --bless
};

struct TestCase {
  std::string ptx, kernel;
  uint32_t grid[3] = {1, 1, 1}, block[3] = {32, 1, 1};
  uint32_t cluster[3] = {0, 0, 0};  // 0: none is asked for
  uint32_t shared_bytes = 0;
  std::vector<Buffer> buffers;
  std::vector<Argument> arguments;
  std::vector<Expectation> expectations;
  std::string output, error = "CUDA_SUCCESS";
};

// Exits with a message that names file and line if a directive is wrong.
TestCase ReadTestCase(const std::string& path);
// The same of its text.
TestCase ParseTestCase(const std::string& whole_text, const std::string& path);

// The case files in a folder, by name.
std::vector<std::string> CasesIn(const std::string& folder);

// The kernel's parameter buffer, each argument at its own alignment: values, and the addresses of `buffers`.
std::vector<uint8_t> PackArguments(const TestCase& test, const std::vector<std::vector<uint8_t>>& buffers);
// What `buffers` hold and the case does not expect: a sentence each, ten at most. NaNs are equal.
std::vector<std::string> Mismatches(const TestCase& test, const std::vector<std::vector<uint8_t>>& buffers);

size_t BytesOf(const std::string& type);
// One value of `type` at `bytes`, as a directive would write it.
std::string Format(const std::string& type, const uint8_t* bytes);
std::vector<uint8_t> ParseValue(const std::string& type, const std::string& text);

}  // namespace run_test
