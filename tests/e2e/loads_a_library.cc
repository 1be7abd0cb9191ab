// Loads the library that its argument names, and prints the file that it got.
#include <dlfcn.h>
#include <link.h>

#include <cstdio>

int main(int argc, char** argv) {
  void* const library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : nullptr;
  link_map* map = nullptr;
  if (library == nullptr || dlinfo(library, RTLD_DI_LINKMAP, &map) != 0) {
    std::printf("%s\n", dlerror());
    return 1;
  }
  std::printf("%s\n", map->l_name);
  return 0;
}
