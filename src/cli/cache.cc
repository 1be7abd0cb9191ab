// `tutti cache`: the compiled code that this user's servers keep.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/cached_code.h"
#include "cli/format.h"
#include "cli/subcommands.h"
#include "os/user_cache.h"

namespace tutti::cli {
namespace {

std::string When(time_t time) { return fmt::format("{:%Y-%m-%d %H:%M}", fmt::localtime(time)); }

std::string Text(const CachedCode& code, bool removed) {
  if (code.entries == 0) {
    return fmt::format("the code cache {} is empty (servers of other users or settings keep their own: --folder)",
                       code.folder);
  }
  const std::string what =
      fmt::format("{} of modules and kernels, {}",
                  code.entries == 1 ? "1 entry" : fmt::format("{} entries", code.entries), Bytes(code.bytes));
  if (removed) return fmt::format("removed from the code cache {}: {}", code.folder, what);
  return fmt::format("{}: {}; last used between {} and {}", code.folder, what, When(code.first_used),
                     When(code.last_used));
}

int Cache(const std::string& named, bool clear, bool as_json) {
  const std::string folder = named.empty() ? os::UserCacheFolder() : named;
  if (folder.empty())
    return Complain("there is no code cache: this user has no home directory (set TUTTI_CACHE_DIR, or give --folder)");
  const auto code = clear ? RemoveCachedCode(folder) : LookAtCachedCode(folder);
  if (!code) return Complain(code.error().text);
  if (as_json) {
    const nlohmann::json report = {{"folder", code->folder},       {"entries", code->entries},
                                   {"bytes", code->bytes},         {"first_used", code->first_used},
                                   {"last_used", code->last_used}, {"removed", clear}};
    std::puts(report.dump(2).c_str());
  } else {
    std::puts(Text(*code, clear).c_str());
  }
  return 0;
}

}  // namespace

void AddCache(Command& tutti) {
  Command& cache = tutti.AddCommand("cache", "Show or clear the compiled code that this user's servers keep");
  const auto folder = std::make_shared<std::string>();
  const auto clear = std::make_shared<bool>(false), json = std::make_shared<bool>(false);
  cache.AddFlag("--clear", clear.get(), "Remove all of it; the next launches compile again");
  cache.AddFlag("--json", json.get(), "As JSON");
  cache.AddOption(
      "--folder", folder.get(),
      "Of servers of another user or with another TUTTI_CACHE_DIR; default: what yours would use from here");
  cache.Do([folder, clear, json] { return Cache(*folder, *clear, *json); });
}

}  // namespace tutti::cli
