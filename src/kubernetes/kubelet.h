// The interface to the kubelet: its socket directory, its presence, and registration.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "os/fd.h"

namespace tutti::kubernetes {

inline constexpr const char* kDefaultKubeletDirectory = "/var/lib/kubelet/device-plugins";

class KubeletDirectory {
 public:
  // Starts watching; fails if the directory cannot be watched. `patience_ms` is the timeout for the kubelet's answers.
  static Result<KubeletDirectory> Watch(const std::string& directory, int patience_ms);

  const std::string& path() const { return path_; }
  std::string kubelet_socket() const { return path_ + "/kubelet.sock"; }
  bool KubeletIsThere() const;
  int patience_ms() const { return patience_ms_; }

  // Readable when something was created or deleted.
  int fd() const { return inotify_.get(); }
  // Reads the events: whether kubelet.sock was created, or a file of `endpoints` deleted.
  bool TakeRestart(const std::vector<std::string>& endpoints);

 private:
  KubeletDirectory(std::string path, os::Fd inotify, int patience_ms)
      : path_(std::move(path)), inotify_(std::move(inotify)), patience_ms_(patience_ms) {}
  std::string path_;
  os::Fd inotify_;
  int patience_ms_;
};

// Fails unless a socket may be bound at `path`: it is free, or a stale socket of our own user.
Status CheckEndpointFree(const std::string& path);

// Registers a resource, served at the socket `endpoint` (file name), with the kubelet. Fails after the timeout, with a
// hint what to check, if the kubelet is slow, of another version, or absent.
Status Register(const KubeletDirectory& directory, const std::string& endpoint, const std::string& resource);

}  // namespace tutti::kubernetes
