// Files of a run: small ones as a whole, and the archive of logs, which must not need a program that the machine may
// lack.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tutti::gpu {

std::string ReadFile(const std::string& path, size_t limit = 1 << 20);
bool WriteFile(const std::string& path, const std::string& text);
// The file has these bytes somewhere.
bool FileContains(const std::string& path, const std::string& bytes);
std::vector<std::string> FilesIn(const std::string& folder);  // names, sorted

// A tar archive of the files of `folder` (not of folders in it): of each the last `limit` bytes.
bool WriteArchive(const std::string& path, const std::string& folder, size_t limit);

void RemoveTree(const std::string& path);

}  // namespace tutti::gpu
