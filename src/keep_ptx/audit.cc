// libtutti-keep-ptx.so. Many programs compile kernels as they run: NVRTC or nvJitLink makes machine code, and the
// program loads that a moment later. The CPU device runs PTX, and both libraries keep it in the machine code if they
// are asked for line information (image/cubin_ptx.h); so they are asked.
//
// A library in front of theirs would have to beat a dlopen by absolute path, which is how packages of Python load them,
// and would have to have all their functions, of all their versions. The loader's auditing interface (rtld-audit(7))
// needs neither: with LD_AUDIT the loader asks this library about each binding of a symbol of theirs, by relocation or
// by dlsym, from wherever they were loaded, and it answers with a function of its own for those that take the options.
// Bindings to other libraries are not audited, and calls cost nothing.
//
// It also puts the libraries of the CPU device in place of the vendor's cuBLAS and cuFFT (src/libraries), which hold
// machine code: `tutti run` asks for that by TUTTI_LIBRARIES=ours. The loader tells this library each name that it is
// about to look for, before it has looked anywhere, and takes the path that it gets back: so programs that load by
// absolute path and those with a RUNPATH get ours, too.
//
// ptxas is a program of its own, which XLA and others start. The loader puts this library into it as well, since it
// inherits LD_AUDIT; there it starts the program again, with the option.
//
// And Python gets an answer about a file: JAX looks for the vendor's driver in /dev before it loads anything.
//
// The loader keeps auditing libraries in a namespace of their own, with a libc of their own. So this one shares nothing
// with the program and is written without allocation, locks and the standard library.
#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "keep_ptx/program.h"
#include "keep_ptx/stand_in.h"
#include "keep_ptx/with_option.h"

namespace tutti::keep_ptx {
namespace {

// nvrtcResult nvrtcCompileProgram(nvrtcProgram, int, const char* const*)
using Compile = int (*)(void*, int, const char* const*);
// nvJitLinkResult nvJitLinkCreate(nvJitLinkHandle*, uint32_t, const char**)
using Create = int (*)(void**, uint32_t, const char**);
// int stat(const char*, struct stat*), and what programs built with a glibc before 2.33 call instead
using Stat = int (*)(const char*, void*);
using VersionedStat = int (*)(int, const char*, void*);

// A process may have several versions of a library. Each original has a place, and each place a function of its own,
// which finds its original by it. Places are never given back: the program may keep the pointer.
constexpr size_t kPlaces = 16;
constinit std::atomic<uintptr_t> compile_originals[kPlaces];
constinit std::atomic<uintptr_t> create_originals[kPlaces];

template <size_t kPlace>
int CompileWithOption(void* program, int count, const char* const* options) {
  const auto original = reinterpret_cast<Compile>(compile_originals[kPlace].load(std::memory_order_relaxed));
  if (count < 0) return original(program, count, options);
  const WithOption longer(options, static_cast<size_t>(count));
  return original(program, static_cast<int>(longer.count()), longer.options());
}

template <size_t kPlace>
int CreateWithOption(void** handle, uint32_t count, const char** options) {
  const auto original = reinterpret_cast<Create>(create_originals[kPlace].load(std::memory_order_relaxed));
  const WithOption longer(options, count);
  return original(handle, static_cast<uint32_t>(longer.count()), const_cast<const char**>(longer.options()));
}

// The place of `original`, taken for it if it has none. kPlaces: all are taken.
size_t PlaceOf(std::atomic<uintptr_t> (&originals)[kPlaces], uintptr_t original) {
  for (size_t place = 0; place < kPlaces; ++place) {
    uintptr_t there = 0;
    if (originals[place].compare_exchange_strong(there, original, std::memory_order_relaxed) || there == original)
      return place;
  }
  return kPlaces;
}

template <size_t... kPlace>
uintptr_t CompileAt(size_t place, std::index_sequence<kPlace...>) {
  constexpr Compile kFunctions[] = {CompileWithOption<kPlace>...};
  return reinterpret_cast<uintptr_t>(kFunctions[place]);
}
template <size_t... kPlace>
uintptr_t CreateAt(size_t place, std::index_sequence<kPlace...>) {
  constexpr Create kFunctions[] = {CreateWithOption<kPlace>...};
  return reinterpret_cast<uintptr_t>(kFunctions[place]);
}

constinit std::atomic<Stat> stat_original;
constinit std::atomic<VersionedStat> versioned_stat_original;

// A device file is there, where the driver's own is not: one that every system has.
constexpr char kSomeDeviceFile[] = "/dev/null";

int StatWithDeviceFile(const char* path, void* result) {
  const Stat original = stat_original.load(std::memory_order_relaxed);
  const int status = original(path, result);
  return status != 0 && IsDeviceFile(path) ? original(kSomeDeviceFile, result) : status;
}
int VersionedStatWithDeviceFile(int version, const char* path, void* result) {
  const VersionedStat original = versioned_stat_original.load(std::memory_order_relaxed);
  const int status = original(version, path, result);
  return status != 0 && IsDeviceFile(path) ? original(version, kSomeDeviceFile, result) : status;
}

// What Python is to call for a function of libc that is at `original`.
uintptr_t ForPython(const char* name, uintptr_t original) {
  if (std::strcmp(name, "stat") == 0 || std::strcmp(name, "stat64") == 0) {
    stat_original.store(reinterpret_cast<Stat>(original), std::memory_order_relaxed);
    return reinterpret_cast<uintptr_t>(&StatWithDeviceFile);
  }
  if (std::strcmp(name, "__xstat") == 0 || std::strcmp(name, "__xstat64") == 0) {
    versioned_stat_original.store(reinterpret_cast<VersionedStat>(original), std::memory_order_relaxed);
    return reinterpret_cast<uintptr_t>(&VersionedStatWithDeviceFile);
  }
  return original;
}

bool StartsWith(const char* text, const char* start) { return std::strncmp(text, start, std::strlen(start)) == 0; }

// Set once, before the program's libraries are loaded.
constinit bool options_are_added = true;
constinit StandIns stand_ins;

bool Is(const char* variable, const char* value) {
  const char* const set = std::getenv(variable);
  return set != nullptr && std::strcmp(set, value) == 0;
}

// They are in a folder beside this library.
void FindStandIns() {
  Dl_info self{};
  if (dladdr(&options_are_added, &self) == 0 || self.dli_fname == nullptr) return;
  const char* const slash = std::strrchr(self.dli_fname, '/');
  constexpr char kFolder[] = "/libraries";
  char directory[StandIns::kLongestPath];
  const size_t length = slash != nullptr ? static_cast<size_t>(slash - self.dli_fname) : 0;
  if (length == 0 || length + sizeof kFolder > sizeof directory) return;
  std::memcpy(directory, self.dli_fname, length);
  std::memcpy(directory + length, kFolder, sizeof kFolder);
  stand_ins.LookIn(directory);
}

// What the program was started with: the loader passes it to constructors, those of auditing libraries included.
constinit int argument_count = 0;
constinit char** arguments = nullptr;
constinit char** environment = nullptr;
[[gnu::constructor]] void Remember(int count, char** given, char** variables) {
  argument_count = count;
  arguments = given;
  environment = variables;
}

constexpr char kOwnFile[] = "/proc/self/exe";
constinit char own_file[StandIns::kLongestPath];

void FindOwnFile() {
  const ssize_t length = readlink(kOwnFile, own_file, sizeof own_file - 1);
  own_file[length > 0 ? length : 0] = '\0';
}

// Nothing has happened in the program yet. If this fails, it runs as it is.
void StartPtxasWithOption() {
  if (argument_count <= 0 || !IsPtxas(own_file)) return;
  const WithOption longer(arguments, static_cast<size_t>(argument_count));
  if (longer.is_longer()) execve(kOwnFile, const_cast<char* const*>(longer.options()), environment);
}

// Bindings from and to an object, as la_objopen tells them to la_symbind64.
constexpr uintptr_t kPython = 1;
constexpr uintptr_t kLibc = 2;

// The program itself has no name.
uintptr_t KindOf(const char* path) {
  const char* const file = *path != '\0' ? path : own_file;
  if (IsPython(file)) return kPython;
  const char* const slash = std::strrchr(file, '/');
  return std::strcmp(slash != nullptr ? slash + 1 : file, "libc.so.6") == 0 ? kLibc : 0;
}

bool IsOfInterest(const char* path) {
  if (!options_are_added) return false;
  const char* const slash = std::strrchr(path, '/');
  const char* const name = slash != nullptr ? slash + 1 : path;
  // Python's packages rename them: libnvrtc-672ee683.so.11.2
  return StartsWith(name, "libnvrtc.so") || StartsWith(name, "libnvJitLink.so") ||
         (StartsWith(name, "libnvrtc-") && !StartsWith(name, "libnvrtc-builtins")) || StartsWith(name, "libnvJitLink-");
}

}  // namespace
}  // namespace tutti::keep_ptx

#pragma GCC visibility push(default)
extern "C" {

unsigned int la_version(unsigned int version) {
  using namespace tutti::keep_ptx;
  options_are_added = !Is("TUTTI_KEEP_PTX", "0");
  if (Is("TUTTI_LIBRARIES", "ours")) FindStandIns();
  FindOwnFile();
  if (options_are_added) StartPtxasWithOption();
  return version < LAV_CURRENT ? version : LAV_CURRENT;
}

char* la_objsearch(const char* name, uintptr_t*, unsigned int stage) {
  const char* const ours = stage == LA_SER_ORIG ? tutti::keep_ptx::stand_ins.For(name) : nullptr;
  return const_cast<char*>(ours != nullptr ? ours : name);
}

unsigned int la_objopen(link_map* object, Lmid_t, uintptr_t* cookie) {
  using namespace tutti::keep_ptx;
  *cookie = KindOf(object->l_name);
  return LA_FLG_BINDFROM | (*cookie == kLibc || IsOfInterest(object->l_name) ? LA_FLG_BINDTO : 0);
}

uintptr_t la_symbind64(Elf64_Sym* symbol, unsigned int, uintptr_t* from, uintptr_t* to, unsigned int*,
                       const char* name) {
  using namespace tutti::keep_ptx;
  const uintptr_t original = symbol->st_value;
  if (!options_are_added) return original;
  if (*to == kLibc) return *from == kPython ? ForPython(name, original) : original;
  constexpr auto kEach = std::make_index_sequence<kPlaces>();
  if (std::strcmp(name, "nvrtcCompileProgram") == 0) {
    const size_t place = PlaceOf(compile_originals, original);
    return place < kPlaces ? CompileAt(place, kEach) : original;
  }
  // Since 12.0 each version has a name of its own as well.
  if (std::strcmp(name, "nvJitLinkCreate") == 0 || StartsWith(name, "__nvJitLinkCreate_")) {
    const size_t place = PlaceOf(create_originals, original);
    return place < kPlaces ? CreateAt(place, kEach) : original;
  }
  return original;
}

}  // extern "C"
#pragma GCC visibility pop
