#include "test_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
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
  const uint64_t value = text[0] == '-' ? static_cast<uint64_t>(std::strtoll(text.c_str(), nullptr, base))
                                        : std::strtoull(text.c_str(), nullptr, base);
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
    if (key == "kernel")
      test.kernel = value;
    else if (key == "grid")
      in >> test.grid[0] >> test.grid[1] >> test.grid[2];
    else if (key == "block")
      in >> test.block[0] >> test.block[1] >> test.block[2];
    else if (key == "cluster")
      in >> test.cluster[0] >> test.cluster[1] >> test.cluster[2];
    else if (key == "shared")
      in >> test.shared_bytes;
    else if (key == "buffer")
      ReadBuffer(test, name, value);
    else if (key == "argument")
      ReadArgument(test, value);
    else if (key == "expect" && name == "output")
      test.output += Unescape(value);
    else if (key == "expect" && name == "error")
      test.error = value;
    else if (key == "expect") {
      Expectation expectation{.buffer = FindBuffer(test, name), .line = line};
      if (expectation.buffer < 0)
        Wrong(path, line, "expects something of buffer \"" + name + "\", which is not declared");
      std::string word;
      in >> expectation.type >> word;
      while (in >> word) expectation.values.push_back(word);
      test.expectations.push_back(std::move(expectation));
    }
  }
  if (test.kernel.empty()) Wrong(path, 1, "has no \"// kernel:\" line");
  return test;
}

std::vector<std::string> CasesIn(const std::string& folder) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::vector<uint8_t> PackArguments(const TestCase& test, const std::vector<std::vector<uint8_t>>& buffers) {
  std::vector<uint8_t> params;
  for (const Argument& argument : test.arguments) {
    std::vector<uint8_t> bytes = argument.bytes;
    if (argument.buffer >= 0) {
      const uint8_t* address = buffers[static_cast<size_t>(argument.buffer)].data();
      bytes.resize(sizeof address);
      std::memcpy(bytes.data(), &address, sizeof address);
    }
    params.resize((params.size() + bytes.size() - 1) / bytes.size() * bytes.size());
    params.insert(params.end(), bytes.begin(), bytes.end());
  }
  return params;
}

std::vector<std::string> Mismatches(const TestCase& test, const std::vector<std::vector<uint8_t>>& buffers) {
  std::vector<std::string> wrong;
  for (const Expectation& expectation : test.expectations) {
    const std::string where = "line " + std::to_string(expectation.line) + ": ";
    const std::vector<uint8_t>& bytes = buffers[static_cast<size_t>(expectation.buffer)];
    const size_t size = BytesOf(expectation.type), count = bytes.size() / size;
    const bool repeats = !expectation.values.empty() && expectation.values.back() == "...";
    const size_t given = expectation.values.size() - (repeats ? 1 : 0);
    if (given == 0 || (given != count && !repeats)) {
      wrong.push_back(where + "expects " + std::to_string(given) + " values, the buffer has " + std::to_string(count));
      continue;
    }
    for (size_t i = 0; i < count && wrong.size() < 10; ++i) {
      const std::string &value = expectation.values[std::min(i, given - 1)],
                        got = Format(expectation.type, &bytes[i * size]);
      const bool both_nan =
          expectation.type[0] == 'f' && value.find("nan") != value.npos && got.find("nan") != got.npos;
      if (both_nan || std::memcmp(ParseValue(expectation.type, value).data(), &bytes[i * size], size) == 0) continue;
      wrong.push_back(where + "value " + std::to_string(i) + " is " + got + ", expected " + value);
    }
  }
  return wrong;
}

}  // namespace run_test
