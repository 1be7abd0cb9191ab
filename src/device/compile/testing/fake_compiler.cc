// Stands in for tutti-compiler in tests. What it does depends on the kernel's name, or for an index on the image's
// text:
//   index: an image "index fails" is refused; else one kernel per word of the image
//   kernel: "crash", "hang", "refuse", "garbage" do so; "half" answers with the first half of "good"; "NAME" answers
//     with the file NAME.so of $TUTTI_TEST_KERNELS; "crash_later" and "refuse_later" do so
//   quick code: where there is a file NAME.quick.so, that; other kernels are not suited. "garbage_quick" answers with
//     noise. With a file $TUTTI_TEST_LOG.crash it crashes.
// As long as there is a file $TUTTI_TEST_LOG.hold, kernels are not answered, but for quick code.
// Each request adds a line "<process id> <kernel, kernel.quick or index>" to $TUTTI_TEST_LOG.
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "compiler/protocol/compile_protocol.h"
#include "module/module_index.h"
#include "os/socket.h"

namespace {

using namespace tutti;

void Log(const std::string& what) {
  const std::string line = std::to_string(getpid()) + " " + what + "\n";
  const os::Fd log(open(std::getenv("TUTTI_TEST_LOG"), O_WRONLY | O_APPEND | O_CREAT, 0600));
  if (write(log.get(), line.data(), line.size()) < 0) _exit(9);
}

std::string ReadAll(int fd) {
  std::string out(static_cast<size_t>(lseek(fd, 0, SEEK_END)), '\0');
  if (pread(fd, out.data(), out.size(), 0) != static_cast<ssize_t>(out.size())) _exit(9);
  return out;
}

std::string IndexOf(const std::string& image) {
  module::ModuleIndex index;
  std::istringstream words(image);
  for (std::string word; words >> word;) {
    index.kernels.emplace_back();
    index.kernels.back().name = word;
  }
  const auto bytes = module::Serialize(index);
  return {bytes.begin(), bytes.end()};
}

bool Exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

std::string PathOf(const std::string& kernel) {
  return std::string(std::getenv("TUTTI_TEST_KERNELS")) + "/" + kernel + ".so";
}

std::string ObjectOf(const std::string& kernel) {
  while (Exists(std::string(std::getenv("TUTTI_TEST_LOG")) + ".hold")) usleep(1000);
  if (kernel == "crash" || kernel == "crash_later") abort();
  if (kernel == "hang") pause();
  if (kernel == "garbage") return "this is not a shared object";
  if (kernel == "half") return ObjectOf("good").substr(0, ObjectOf("good").size() / 2);
  std::ifstream file(PathOf(kernel), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string QuickObjectOf(const std::string& kernel) {
  if (Exists(std::string(std::getenv("TUTTI_TEST_LOG")) + ".crash")) abort();
  if (kernel == "garbage_quick") return "this is not a shared object";
  std::ifstream file(PathOf(kernel + ".quick"), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void Answer(const std::string& bytes, int file, bool is_quick = false) {
  if (pwrite(file, bytes.data(), bytes.size(), 0) < 0) _exit(9);
  const compiler::CompileReply reply{.is_quick = is_quick};
  if (!os::Send(compiler::kCompilerSocketFd, compiler::Serialize(reply))) _exit(9);
}

void Refuse() {
  const compiler::CompileReply reply{.status = 218, .log = "line 1, column 1: refused"};
  if (!os::Send(compiler::kCompilerSocketFd, compiler::Serialize(reply))) _exit(9);
}

}  // namespace

int main() {
  while (true) {
    const auto message = os::Receive(compiler::kCompilerSocketFd);
    if (!message || message->bytes.empty()) return 0;
    const auto request = compiler::ParseCompileRequest(message->bytes);
    if (!request || message->fds.size() != 2) return 9;
    const bool is_index = request->op == compiler::CompileOp::kIndex;
    const bool is_quick =
        request->quick && (request->kernel == "garbage_quick" || Exists(PathOf(request->kernel + ".quick")));
    Log(is_index ? "index" : request->kernel + (is_quick ? ".quick" : ""));
    const std::string image = ReadAll(message->fds[0].get());
    if (is_quick) {
      Answer(QuickObjectOf(request->kernel), message->fds[1].get(), true);
    } else if ((is_index && image == "index fails") || request->kernel.starts_with("refuse")) {
      Refuse();
    } else {
      Answer(is_index ? IndexOf(image) : ObjectOf(request->kernel), message->fds[1].get());
    }
  }
}
