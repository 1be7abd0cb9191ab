#include "kubernetes/kubelet.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "device_plugin.grpc.pb.h"

namespace tutti::kubernetes {
namespace {

// Whether somebody accepts connections there.
bool Answers(const std::string& path) {
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  if (path.size() >= sizeof address.sun_path) return false;
  std::memcpy(address.sun_path, path.c_str(), path.size());
  const os::Fd probe(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  return probe && connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

// Another user's socket would learn of our devices and could allocate them to anybody.
Status CheckOwner(const std::string& path) {
  struct stat info;
  if (lstat(path.c_str(), &info) != 0) return FailErrno("the kubelet's socket " + path);
  if (!S_ISSOCK(info.st_mode)) return Fail(fmt::format("{} is no socket: is a kubelet running?", path));
  if (info.st_uid != 0 && info.st_uid != geteuid()) {
    return Fail(fmt::format("{} belongs to user {}, not to root: not registering with it", path, info.st_uid));
  }
  return {};
}

std::string Remedy(const grpc::Status& status) {
  switch (status.error_code()) {
    case grpc::StatusCode::DEADLINE_EXCEEDED: return "the kubelet has not answered in time (--kubelet-timeout)";
    case grpc::StatusCode::UNIMPLEMENTED:
      return "the kubelet does not know device plugin API v1beta1: is it older than 1.10?";
    case grpc::StatusCode::UNAVAILABLE: return fmt::format("no gRPC server answers there ({})", status.error_message());
    default: return fmt::format("the kubelet refuses: {}", status.error_message());
  }
}

}  // namespace

Result<KubeletDirectory> KubeletDirectory::Watch(const std::string& directory, int patience_ms) {
  os::Fd inotify(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!inotify) return FailErrno("inotify_init1");
  if (inotify_add_watch(inotify.get(), directory.c_str(), IN_CREATE | IN_MOVED_TO | IN_DELETE | IN_MOVED_FROM) < 0) {
    return FailErrno(fmt::format("cannot watch the kubelet's directory {} (--kubelet-directory)", directory));
  }
  return KubeletDirectory(directory, std::move(inotify), patience_ms);
}

bool KubeletDirectory::KubeletIsThere() const { return access(kubelet_socket().c_str(), F_OK) == 0; }

bool KubeletDirectory::TakeRestart(const std::vector<std::string>& endpoints) {
  bool restart = false;
  alignas(inotify_event) char buffer[4096];
  for (ssize_t bytes; (bytes = read(inotify_.get(), buffer, sizeof buffer)) > 0;) {
    for (char* at = buffer; at < buffer + bytes;) {
      const auto* const event = reinterpret_cast<const inotify_event*>(at);
      const std::string name = event->len > 0 ? event->name : "";
      const bool created = (event->mask & (IN_CREATE | IN_MOVED_TO)) != 0;
      if (created && name == "kubelet.sock") restart = true;
      // Really gone, not replaced by the one we have just bound.
      if (!created && std::find(endpoints.begin(), endpoints.end(), name) != endpoints.end() &&
          access((path_ + "/" + name).c_str(), F_OK) != 0)
        restart = true;
      at += sizeof(inotify_event) + event->len;
    }
  }
  return restart;
}

Status CheckEndpointFree(const std::string& path) {
  struct stat info;
  if (lstat(path.c_str(), &info) != 0) return errno == ENOENT ? Status{} : FailErrno(path);
  if (!S_ISSOCK(info.st_mode)) return Fail(fmt::format("{} is in the way and no socket: remove it", path));
  if (info.st_uid != geteuid())
    return Fail(
        fmt::format("{} belongs to user {}: another device plugin? Stop it, or remove the file", path, info.st_uid));
  if (Answers(path)) return Fail(fmt::format("another device plugin answers at {}: stop it first", path));
  return {};
}

Status Register(const KubeletDirectory& directory, const std::string& endpoint, const std::string& resource) {
  TUTTI_TRY(CheckOwner(directory.kubelet_socket()));
  const auto stub = v1beta1::Registration::NewStub(
      grpc::CreateChannel("unix://" + directory.kubelet_socket(), grpc::InsecureChannelCredentials()));
  grpc::ClientContext call;
  call.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(directory.patience_ms()));
  call.set_wait_for_ready(false);
  v1beta1::RegisterRequest request;
  request.set_version("v1beta1");
  request.set_endpoint(endpoint);
  request.set_resource_name(resource);
  request.mutable_options()->set_get_preferred_allocation_available(true);
  v1beta1::Empty reply;
  const grpc::Status status = stub->Register(&call, request, &reply);
  if (!status.ok())
    return Fail(fmt::format("cannot register {} at {}: {}", resource, directory.kubelet_socket(), Remedy(status)));
  return {};
}

}  // namespace tutti::kubernetes
