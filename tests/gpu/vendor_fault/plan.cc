#include "vendor_fault/plan.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <sstream>

namespace tutti::gpu {
namespace {

struct Row {
  Lie lie;
  long nth = 0;  // 0: each
  long calls = 0;
};

std::map<std::string, Row> ReadPlan() {
  std::map<std::string, Row> plan;
  const char* const text = std::getenv("TUTTI_GPU_LIE");
  std::istringstream rows(text == nullptr ? "" : text);
  for (std::string row; std::getline(rows, row, ',');) {
    const size_t equal = row.find('='), at = row.find('@');
    if (equal == std::string::npos) continue;
    const std::string what = row.substr(equal + 1, at == std::string::npos ? at : at - equal - 1);
    const size_t colon = what.find(':');
    plan[row.substr(0, equal)] = {
        .lie = {what.substr(0, colon), colon == std::string::npos ? 0 : std::atol(what.c_str() + colon + 1)},
        .nth = at == std::string::npos ? 0 : std::atol(row.c_str() + at + 1)};
  }
  return plan;
}

}  // namespace

std::optional<Lie> LieFor(const char* symbol) {
  static std::mutex mutex;
  static std::map<std::string, Row> plan = ReadPlan();
  const std::lock_guard lock(mutex);
  const auto row = plan.find(symbol);
  if (row == plan.end() || (++row->second.calls != row->second.nth && row->second.nth != 0)) return std::nullopt;
  return row->second.lie;
}

void* TrueFunction(const char* symbol) {
  static void* const driver = [] {
    const char* const path = std::getenv("TUTTI_GPU_LIE_DRIVER");
    void* const library = path == nullptr ? nullptr : dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr)
      std::fprintf(stderr, "the lying driver has no true one: %s\n",
                   path == nullptr ? "TUTTI_GPU_LIE_DRIVER is not set" : dlerror());
    return library;
  }();
  return driver == nullptr ? nullptr : dlsym(driver, symbol);
}

}  // namespace tutti::gpu
