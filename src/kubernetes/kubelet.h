// The kubelet's side: its directory of sockets, whether it is there, and registering with it.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "os/fd.h"

namespace tutti::kubernetes {

inline constexpr const char* kDefaultKubeletDirectory = "/var/lib/kubelet/device-plugins";

class KubeletDirectory {
 public:
  // Starts watching; fails if the directory cannot be watched. A kubelet may take `patience_ms` for an answer.
  static Result<KubeletDirectory> Watch(const std::string& directory, int patience_ms);

  const std::string& path() const { return path_; }
  std::string kubelet_socket() const { return path_ + "/kubelet.sock"; }
  bool KubeletIsThere() const;
  int patience_ms() const { return patience_ms_; }

  // Readable when something was created or deleted.
  int fd() const { return inotify_.get(); }
  // Takes what has happened: whether kubelet.sock was created, or a file of `endpoints` deleted.
  bool TakeRestart(const std::vector<std::string>& endpoints);

 private:
  KubeletDirectory(std::string path, os::Fd inotify, int patience_ms)
      : path_(std::move(path)), inotify_(std::move(inotify)), patience_ms_(patience_ms) {}
  std::string path_;
  os::Fd inotify_;
  int patience_ms_;
};

// Fails unless a socket may be bound at `path`: nothing there, or a socket of our own user that nobody answers at.
Status CheckEndpointFree(const std::string& path);

// Tells the kubelet of a resource served at the socket `endpoint` (file name). Fails when its patience is at an end,
// with what to look at, if the kubelet is slow, of another version, or none.
Status Register(const KubeletDirectory& directory, const std::string& endpoint, const std::string& resource);

}  // namespace tutti::kubernetes
