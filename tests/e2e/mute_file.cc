// Mounts a FUSE with one file, DIRECTORY/file, which others see at /proc/PID/root/DIRECTORY/file. Its owner never
// answers: whoever opens the file blocks until this process has ended, and no signal helps. With a SOCKET the owner
// answers until it has sent to it, in a command, the last descriptor of the file, which has dirty data: whoever closes
// that descriptor blocks. Prints "mounted", and "asked" when a process blocks so; "sent" or "not taken".
#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ipc/message.h"
#include "os/socket.h"

using namespace tutti;

namespace {

constexpr uint64_t kRoot = 1, kFile = 2;
constexpr uint64_t kLong_s = 3600;

int Complain(const std::string& text) {
  std::printf("%s: %s\n", text.c_str(), std::strerror(errno));
  return 77;
}

fuse_attr AttributesOf(uint64_t node) {
  fuse_attr attributes{};
  attributes.ino = node;
  attributes.mode = node == kRoot ? S_IFDIR | 0777 : S_IFREG | 0666;
  attributes.nlink = 1;
  return attributes;
}

class Owner {
 public:
  Owner(int device, bool silent) : device_(device), silent_(silent) {}

  void Run() {
    std::vector<char> request(1 << 20);
    for (;;) {
      if (read(device_, request.data(), request.size()) >= static_cast<ssize_t>(sizeof(fuse_in_header)))
        Answer(request.data());
    }
  }

 private:
  void Answer(const char* request) {
    fuse_in_header head{};
    std::memcpy(&head, request, sizeof head);
    switch (head.opcode) {
      case FUSE_INIT:
        return Reply(
            head, fuse_init_out{
                      .major = 7, .minor = 31, .flags = FUSE_WRITEBACK_CACHE, .max_background = 16, .max_write = 4096});
      case FUSE_LOOKUP:
        return Reply(head,
                     fuse_entry_out{
                         .nodeid = kFile, .entry_valid = kLong_s, .attr_valid = kLong_s, .attr = AttributesOf(kFile)});
      case FUSE_GETATTR: return Reply(head, fuse_attr_out{.attr_valid = kLong_s, .attr = AttributesOf(head.nodeid)});
      case FUSE_OPEN: return silent_ ? Say("asked") : Reply(head, fuse_open_out{.fh = 1});
      case FUSE_WRITE:
      case FUSE_SETATTR:
      case FUSE_FORGET:
      case FUSE_BATCH_FORGET:
      case FUSE_INTERRUPT: return;
      default: return Send(head, {}, head.opcode == FUSE_FLUSH ? 0 : -ENOSYS);
    }
  }
  static void Say(const char* what) {
    std::puts(what);
    std::fflush(stdout);
  }
  template <typename Body>
  void Reply(const fuse_in_header& head, const Body& body) {
    Send(head, {reinterpret_cast<const char*>(&body), sizeof body}, 0);
  }
  void Send(const fuse_in_header& head, std::string_view body, int error) {
    const fuse_out_header out{
        .len = static_cast<uint32_t>(sizeof out + body.size()), .error = error, .unique = head.unique};
    std::string bytes(reinterpret_cast<const char*>(&out), sizeof out);
    bytes += body;
    [[maybe_unused]] const ssize_t written = write(device_, bytes.data(), bytes.size());
  }

  const int device_;
  const bool silent_;
};

// Data written through the second open of the file are written back by whoever closes the first.
int SendLast(const std::string& path, const std::string& file) {
  os::Fd first(open(file.c_str(), O_RDWR | O_CLOEXEC));
  const os::Fd second(open(file.c_str(), O_RDWR | O_CLOEXEC));
  if (!first || !second) return Complain(file);
  const auto socket = os::Connect(path);
  if (!socket) return Complain(socket.error().text);
  ByteWriter body;
  body.PutString("get_server_list");
  const int fd = first.get();
  const auto sent = ipc::SendMessage(socket->get(), wire::MessageKind::kCommand, 1, std::move(body), std::span(&fd, 1));
  first.Reset();
  if (write(second.get(), "x", 1) != 1) return Complain("write");
  std::puts(sent ? "sent" : "not taken");
  std::fflush(stdout);
  pause();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return Complain("mute_file DIRECTORY [SOCKET]");
  os::Fd device(open("/dev/fuse", O_RDWR | O_CLOEXEC));
  if (!device || unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    return Complain("no FUSE here");
  const std::string options = "fd=" + std::to_string(device.get()) + ",rootmode=40000,user_id=0,group_id=0,allow_other";
  if (mount("mute_file", argv[1], "fuse", MS_NOSUID | MS_NODEV, options.c_str()) != 0) return Complain("mount");
  // A process of its own, so that the owner can be killed while this one blocks: the mount goes with it, and everybody
  // wakes.
  if (argc > 2 && fork() == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    device.Reset();
    return SendLast(argv[2], std::string(argv[1]) + "/file");
  }
  if (argc == 2) std::puts("mounted");
  std::fflush(stdout);
  Owner(device.get(), argc == 2).Run();
}
