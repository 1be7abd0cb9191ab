#include "test_case.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

namespace run_test {
namespace {

[[noreturn]] void Wrong(const std::string& path, size_t line, const std::string& what) {
  fmt::print(stderr, "{}:{}: {}\n", path, line, what);
  std::exit(3);
}

std::string Trim(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t"), end = text.find_last_not_of(" \t\r");
  return begin == std::string::npos ? "" : text.substr(begin, end - begin + 1);
}

int FindBuffer(const TestCase& test, const std::string& name) {
  for (size_t i = 0; i < test.buffers.size(); ++i) {
    if (test.buffers[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

std::string Unescape(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size() && text[i + 1] == 'n') {
      out += '\n';
      ++i;
    } else {
      out += text[i];
    }
  }
  return out;
}

template <typename T>
std::vector<uint8_t> Bytes(T value) {
  std::vector<uint8_t> bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

template <typename T>
T Load(const uint8_t* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

void ReadBuffer(TestCase& test, const std::string& name, const std::string& text) {
  std::istringstream in(text);
  Buffer buffer{.name = name};
  std::string mark, value;
  in >> buffer.type >> mark;
  if (mark == "x") {
    size_t count = 0;
    in >> count;
    buffer.bytes.resize(count * BytesOf(buffer.type));
  } else {
    while (in >> value) {
      const std::vector<uint8_t> bytes = ParseValue(buffer.type, value);
      buffer.bytes.insert(buffer.bytes.end(), bytes.begin(), bytes.end());
    }
  }
  test.buffers.push_back(std::move(buffer));
}

void ReadArgument(TestCase& test, const std::string& text) {
  std::istringstream in(text);
  std::string first, second;
  in >> first >> second;
  Argument argument{.buffer = FindBuffer(test, first)};
  if (argument.buffer < 0) argument.bytes = ParseValue(first, second);
  test.arguments.push_back(std::move(argument));
}

}  // namespace

size_t BytesOf(const std::string& type) { return static_cast<size_t>(std::atoi(type.c_str() + 1)) / 8; }

std::vector<uint8_t> ParseValue(const std::string& type, const std::string& text) {
  if (type == "f32") return Bytes(std::strtof(text.c_str(), nullptr));
  if (type == "f64") return Bytes(std::strtod(text.c_str(), nullptr));
  const int base = type[0] == 'b' ? 16 : 0;
  const uint64_t value = text[0] == '-' ? static_cast<uint64_t>(std::strtoll(text.c_str(), nullptr, base)) : std::strtoull(text.c_str(), nullptr, base);
  std::vector<uint8_t> bytes = Bytes(value);
  bytes.resize(BytesOf(type));
  return bytes;
}

std::string Format(const std::string& type, const uint8_t* bytes) {
  if (type == "f32") return fmt::format("{}", Load<float>(bytes));
  if (type == "f64") return fmt::format("{}", Load<double>(bytes));
  uint64_t value = 0;
  const size_t size = BytesOf(type);
  std::memcpy(&value, bytes, size);
  if (type[0] == 'b') return fmt::format("{:0{}x}", value, 2 * size);
  if (type[0] == 's') return fmt::format("{}", static_cast<int64_t>(value << (64 - 8 * size)) >> (64 - 8 * size));
  return fmt::format("{}", value);
}

TestCase ReadTestCase(const std::string& path) {
  std::ifstream file(path);
  if (!file) Wrong(path, 0, "cannot be read");
  std::stringstream text;
  text << file.rdbuf();
  return ParseTestCase(text.str(), path);
}

TestCase ParseTestCase(const std::string& whole_text, const std::string& path) {
  std::istringstream file(whole_text);
  TestCase test;
  std::string text;
  for (size_t line = 1; std::getline(file, text); ++line) {
    test.ptx += text + "\n";
    const size_t colon = text.find(':');
    if (text.rfind("// ", 0) != 0 || colon == std::string::npos) continue;
    std::istringstream words(text.substr(3, colon - 3));
    std::string key, name;
    words >> key >> name;
    const std::string value = Trim(text.substr(colon + 1));
    std::istringstream in(value);
    if (key == "kernel") test.kernel = value;
    else if (key == "grid") in >> test.grid[0] >> test.grid[1] >> test.grid[2];
    else if (key == "block") in >> test.block[0] >> test.block[1] >> test.block[2];
    else if (key == "shared") in >> test.shared_bytes;
    else if (key == "buffer") ReadBuffer(test, name, value);
    else if (key == "argument") ReadArgument(test, value);
    else if (key == "expect" && name == "output") test.output += Unescape(value);
    else if (key == "expect" && name == "error") test.error = value;
    else if (key == "expect") {
      Expectation expectation{.buffer = FindBuffer(test, name), .line = line};
      if (expectation.buffer < 0) Wrong(path, line, "expects something of buffer \"" + name + "\", which is not declared");
      std::string word;
      in >> expectation.type >> word;
      while (in >> word) expectation.values.push_back(word);
      test.expectations.push_back(std::move(expectation));
    }
  }
  if (test.kernel.empty()) Wrong(path, 1, "has no \"// kernel:\" line");
  return test;
}

}  // namespace run_test
