#include "frame/files.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>

namespace tutti::gpu {

std::string ReadFile(const std::string& path, size_t limit) {
  // Not by its size: the files of /proc have none.
  std::ifstream file(path, std::ios::binary);
  std::string text(limit, '\0');
  file.read(text.data(), static_cast<std::streamsize>(limit));
  text.resize(static_cast<size_t>(file.gcount()));
  return text;
}

bool WriteFile(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  return !file.fail();
}

bool FileContains(const std::string& path, const std::string& bytes) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat about{};
  bool found = false;
  if (fd >= 0 && fstat(fd, &about) == 0 && about.st_size > 0) {
    void* const map = mmap(nullptr, static_cast<size_t>(about.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
    if (map != MAP_FAILED) {
      found = memmem(map, static_cast<size_t>(about.st_size), bytes.data(), bytes.size()) != nullptr;
      munmap(map, static_cast<size_t>(about.st_size));
    }
  }
  if (fd >= 0) close(fd);
  return found;
}

std::vector<std::string> FilesIn(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator i(folder, error), end; i != end; i.increment(error))
    names.push_back(i->path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

bool WriteArchive(const std::string& path, const std::string& folder, size_t limit) {
  std::string archive;
  for (const std::string& name : FilesIn(folder)) {
    std::string text = ReadFile(folder + "/" + name, 64 << 20);
    if (text.size() > limit) text.erase(0, text.size() - limit);
    char head[512] = {};  // the "ustar" layout: fields of octal digits
    std::snprintf(head, 100, "log/%.90s", name.c_str());
    std::snprintf(head + 100, 24, "0000644%c0000000%c0000000", '\0', '\0');
    std::snprintf(head + 124, 12, "%011zo", text.size());
    std::snprintf(head + 136, 12, "%011lo", static_cast<unsigned long>(std::time(nullptr)));
    std::memset(head + 148, ' ', 8);
    head[156] = '0';
    std::memcpy(head + 257,
                "ustar\0"
                "00",
                8);
    unsigned sum = 0;
    for (const char c : head) sum += static_cast<unsigned char>(c);
    std::snprintf(head + 148, 8, "%06o", sum);
    archive.append(head, sizeof head);
    archive += text;
    archive.append((512 - text.size() % 512) % 512, '\0');
  }
  archive.append(1024, '\0');
  return WriteFile(path, archive);
}

void RemoveTree(const std::string& path) {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

}  // namespace tutti::gpu
