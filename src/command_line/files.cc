#include "command_line/files.h"

#include <cstdio>
#include <memory>

namespace tutti::command_line {
namespace {

constexpr size_t kBlockBytes = 64 << 10;

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

Result<std::vector<uint8_t>> ReadAll(std::FILE* file, const std::string& name) {
  std::vector<uint8_t> bytes;
  size_t filled = 0;
  do {
    bytes.resize(filled + kBlockBytes);
    const size_t count = std::fread(bytes.data() + filled, 1, kBlockBytes, file);
    filled += count;
  } while (std::feof(file) == 0 && std::ferror(file) == 0);
  if (std::ferror(file) != 0) return FailErrno(name);
  bytes.resize(filled);
  return bytes;
}

}  // namespace

Result<std::vector<uint8_t>> ReadInput(const std::string& path) {
  if (path == "-") return ReadAll(stdin, "standard input");
  const File file(std::fopen(path.c_str(), "rbe"), std::fclose);
  if (file == nullptr) return FailErrno(path);
  return ReadAll(file.get(), path);
}

Status WriteOutput(const std::string& path, std::span<const uint8_t> bytes) {
  if (path.empty() || path == "-") {
    const bool is_written = std::fwrite(bytes.data(), 1, bytes.size(), stdout) == bytes.size();
    if (!is_written || std::fflush(stdout) != 0) return FailErrno("standard output");
    return {};
  }
  File file(std::fopen(path.c_str(), "wbe"), std::fclose);
  if (file == nullptr) return FailErrno(path);
  if (std::fwrite(bytes.data(), 1, bytes.size(), file.get()) != bytes.size()) return FailErrno(path);
  if (std::fclose(file.release()) != 0) return FailErrno(path);
  return {};
}

}  // namespace tutti::command_line
