// A step and its peers talk in words with numbers, and hand each other descriptors.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "os/fd.h"

namespace tutti::gpu {

struct Heard {
  // empty: the other end is gone, or nothing came in time; "!lacks", "!failed": it has given up, and why
  std::string word;
  std::vector<double> numbers;
  std::string text;  // all that was said
  std::vector<os::Fd> fds;

  double number(size_t i) const { return i < numbers.size() ? numbers[i] : 0; }
};

class Channel {
 public:
  explicit Channel(os::Fd socket) : socket_(std::move(socket)) {}
  static std::pair<os::Fd, os::Fd> Pair();

  void Say(std::string_view word, const std::vector<double>& numbers = {}, const std::vector<int>& fds = {});
  Heard Hear(double seconds);
  // Another word than this one, or none in time, ends this process: what was expected of `whom` did not come.
  Heard Expect(std::string_view word, std::string_view whom, double seconds = 20);

 private:
  os::Fd socket_;
};

}  // namespace tutti::gpu
