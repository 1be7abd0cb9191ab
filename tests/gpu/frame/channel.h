// The messages between a step and its peers: words with numbers, and descriptors.
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
  // Ends this process if another word, or none in time, arrives: the report names `whom`.
  Heard Expect(std::string_view word, std::string_view whom, double seconds = 20);

 private:
  os::Fd socket_;
};

}  // namespace tutti::gpu
