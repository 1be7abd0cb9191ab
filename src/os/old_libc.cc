// libstdc++ was built where the C library has arc4random (2.36) and brings it in for its random device, which nothing
// here uses. With a function of that name of our own the program runs with the C libraries of the years before, too.
#include <sys/random.h>

#include <cstdint>

extern "C" uint32_t arc4random() {
  uint32_t number = 0;
  while (getrandom(&number, sizeof number, 0) != sizeof number) {
  }
  return number;
}
