// A preloaded library for fault injection: makes one system call of a process fail, as when descriptors, memory, disk
// or threads run out, or be its last. Counts all calls through which src/os and the programs reach the system, in
// order; in a process that loads libcuda.so.1 only that library's.
#include "failing_calls.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

using tutti::fault::FailPage;

FailPage* page = nullptr;  // null: not in this process
bool of_library_alone = false;

// Before anything else in this process, with calls that are not counted.
__attribute__((constructor(101))) void Begin() {
  const char* const name = std::getenv(tutti::fault::kFailIn);
  const char* const path = std::getenv(tutti::fault::kFailFile);
  char self[32] = "";
  const long comm = syscall(SYS_openat, AT_FDCWD, "/proc/self/comm", O_RDONLY | O_CLOEXEC, 0);
  const long length = syscall(SYS_read, comm, self, sizeof self - 1);
  syscall(SYS_close, comm);
  if (name == nullptr || path == nullptr || length <= 0) return;
  self[length - 1] = '\0';
  // A name is at most 15 characters there.
  if (std::strncmp(self, name, 15) != 0) return;
  const long file = syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0);
  const long address = syscall(SYS_mmap, nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  syscall(SYS_close, file);
  if (address < 0) return;
  of_library_alone = std::strncmp(name, "tutti-", 6) != 0 && std::strncmp(name, "nvidia-", 7) != 0;
  page = reinterpret_cast<FailPage*>(address);
}

bool IsOfLibrary(void* caller) {
  Dl_info info{};
  return dladdr(caller, &info) != 0 && info.dli_fname != nullptr &&
         std::strstr(info.dli_fname, "libcuda.so") != nullptr;
}

bool IsMeant(const char* name) {
  char word[40];
  std::snprintf(word, sizeof word, " %s ", name);
  return page->only[0] == '\0' || std::strstr(page->only, word) != nullptr;
}

bool IsTheOne(const char* name, void* caller) {
  if (page == nullptr || (of_library_alone && !IsOfLibrary(caller)) || !IsMeant(name)) return false;
  if (page->calls.fetch_add(1) + 1 != page->fail_at.load()) return false;
  std::snprintf(page->failed, sizeof page->failed, "%s", name);
  return true;
}

bool Fails(const char* name, void* caller, int error) {
  if (!IsTheOne(name, caller)) return false;
  if (page->kills.load()) syscall(SYS_kill, getpid(), SIGKILL);
  errno = error;
  return true;
}

template <typename Function>
Function Real(Function, const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

#define CALLER __builtin_extract_return_addr(__builtin_return_address(0))
// A call of the system that fails with -1.
#define FAILING(error, type, name, parameters, arguments)                  \
  extern "C" __attribute__((visibility("default"))) type name parameters { \
    static const auto real = Real(&name, #name);                           \
    if (Fails(#name, CALLER, error)) return static_cast<type>(-1);         \
    return real arguments;                                                 \
  }

FAILING(EMFILE, int, socket, (int domain, int kind, int protocol) noexcept, (domain, kind, protocol))
FAILING(EMFILE, int, socketpair, (int domain, int kind, int protocol, int ends[2]) noexcept,
        (domain, kind, protocol, ends))
FAILING(ECONNREFUSED, int, connect, (int fd, const sockaddr* address, socklen_t length), (fd, address, length))
FAILING(EMFILE, int, accept4, (int fd, sockaddr* address, socklen_t* length, int flags), (fd, address, length, flags))
FAILING(ENOBUFS, ssize_t, sendmsg, (int fd, const msghdr* message, int flags), (fd, message, flags))
FAILING(ENOMEM, ssize_t, recvmsg, (int fd, msghdr* message, int flags), (fd, message, flags))
FAILING(EMFILE, int, memfd_create, (const char* name, unsigned flags) noexcept, (name, flags))
FAILING(ENOSPC, int, ftruncate, (int fd, off_t bytes) noexcept, (fd, bytes))
FAILING(EMFILE, int, eventfd, (unsigned value, int flags) noexcept, (value, flags))
FAILING(EMFILE, int, epoll_create1, (int flags) noexcept, (flags))
FAILING(ENOSPC, int, epoll_ctl, (int epoll, int operation, int fd, epoll_event* event) noexcept,
        (epoll, operation, fd, event))
FAILING(EMFILE, int, timerfd_create, (int clock, int flags) noexcept, (clock, flags))
FAILING(EMFILE, int, pipe2, (int ends[2], int flags) noexcept, (ends, flags))
FAILING(ENOSPC, ssize_t, pwrite, (int fd, const void* bytes, size_t count, off_t at), (fd, bytes, count, at))
FAILING(EIO, ssize_t, pread, (int fd, void* bytes, size_t count, off_t at), (fd, bytes, count, at))
FAILING(EIO, int, renameat, (int from_folder, const char* from, int to_folder, const char* to) noexcept,
        (from_folder, from, to_folder, to))
FAILING(EACCES, int, mkdirat, (int folder, const char* path, mode_t mode) noexcept, (folder, path, mode))
FAILING(EACCES, int, mkdir, (const char* path, mode_t mode) noexcept, (path, mode))
FAILING(EIO, int, unlinkat, (int folder, const char* path, int flags) noexcept, (folder, path, flags))
FAILING(EIO, int, fstat, (int fd, struct stat* info) noexcept, (fd, info))
FAILING(ENOSPC, int, fsync, (int fd), (fd))
FAILING(EAGAIN, pid_t, fork, (void) noexcept, ())
FAILING(ENOMEM, int, execve, (const char* path, char* const arguments[], char* const environment[]) noexcept,
        (path, arguments, environment))
FAILING(EMFILE, int, dup2, (int from, int to) noexcept, (from, to))
FAILING(ENOBUFS, int, getsockopt, (int fd, int level, int option, void* value, socklen_t* length) noexcept,
        (fd, level, option, value, length))
FAILING(ENOMEM, ssize_t, readlink, (const char* path, char* text, size_t bytes) noexcept, (path, text, bytes))

// The one call without a wrapper of its own here.
extern "C" __attribute__((visibility("default"))) long syscall(long number, ...) noexcept {
  va_list more;
  va_start(more, number);
  long arguments[6];
  for (long& argument : arguments) argument = va_arg(more, long);
  va_end(more);
  static const auto real = Real(&syscall, "syscall");
  if (number == SYS_pidfd_open && Fails("pidfd_open", CALLER, EMFILE)) return -1;
  return real(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
}

// Files only: an eventfd has no disk that could be full.
extern "C" __attribute__((visibility("default"))) ssize_t write(int fd, const void* bytes, size_t count) {
  static const auto real = Real(&write, "write");
  struct stat info{};
  const bool is_file = syscall(SYS_fstat, fd, &info) == 0 && S_ISREG(info.st_mode);
  if (!is_file || !IsTheOne("write", CALLER)) return real(fd, bytes, count);
  // A disk that fills up first accepts a part; every other time there is no further error. A process that dies has
  // written a part, too.
  const ssize_t part = real(fd, bytes, count / 2);
  if (page->kills.load()) syscall(SYS_kill, getpid(), SIGKILL);
  if (page->calls.load() % 2 == 0) return part;
  errno = ENOSPC;
  return -1;
}

extern "C" __attribute__((visibility("default"))) void* mmap(void* address, size_t bytes, int rights, int flags, int fd,
                                                             off_t at) noexcept {
  static const auto real = Real(&mmap, "mmap");
  if (Fails("mmap", CALLER, ENOMEM)) return MAP_FAILED;
  return real(address, bytes, rights, flags, fd, at);
}

extern "C" __attribute__((visibility("default"))) int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  static const auto real = Real(&open, "open");
  if (Fails("open", CALLER, EMFILE)) return -1;
  return real(path, flags, mode);
}

extern "C" __attribute__((visibility("default"))) int openat(int folder, const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  static const auto real = Real(&openat, "openat");
  if (Fails("openat", CALLER, EMFILE)) return -1;
  return real(folder, path, flags, mode);
}

extern "C" __attribute__((visibility("default"))) int fcntl(int fd, int command, ...) {
  va_list more;
  va_start(more, command);
  void* const argument = va_arg(more, void*);
  va_end(more);
  static const auto real = Real(&fcntl, "fcntl");
  const bool can_fail = command == F_DUPFD_CLOEXEC || command == F_ADD_SEALS || command == F_GET_SEALS;
  if (can_fail && Fails("fcntl", CALLER, EMFILE)) return -1;
  return real(fd, command, argument);
}

extern "C" __attribute__((visibility("default"))) int pthread_create(pthread_t* thread,
                                                                     const pthread_attr_t* attributes,
                                                                     void* (*body)(void*), void* argument) noexcept {
  static const auto real = Real(&pthread_create, "pthread_create");
  if (Fails("pthread_create", CALLER, EAGAIN)) return EAGAIN;
  return real(thread, attributes, body, argument);
}
