// The cluster's API server, asked over HTTPS with a service account: only as much of it as a node's labels need.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "base/error.h"

namespace tutti::kubernetes {

inline constexpr const char* kDefaultAccountDirectory = "/var/run/secrets/kubernetes.io/serviceaccount";

struct ApiAccess {
  std::string url;                // "https://10.0.0.1:443"
  std::string account_directory;  // with `token` and `ca.crt`, as the kubelet mounts them
};

// The URL that pods are told in KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT; `url`, if it is not empty, wins.
// Fails if there is none, or one that is not https: the token must not travel in the open.
Result<std::string> ApiServerUrl(const std::string& url);

struct ApiAnswer {
  long status = 0;   // of HTTP
  std::string body;  // hostile like everything from outside; at most 16 MiB
};

// One request at a time, from one thread; Stop is thread-safe.
class ApiServer {
 public:
  explicit ApiServer(ApiAccess access);
  ~ApiServer();

  // `path` begins with "/api". Each fails within ten seconds if nobody answers, with what to look at. The token is read
  // anew for every request, since the kubelet replaces it every hour.
  Result<ApiAnswer> Get(const std::string& path);
  Result<ApiAnswer> MergePatch(const std::string& path, const std::string& json);

  // Ends the request that runs, within a second or so, and lets no other begin.
  void Stop() { stopped_ = true; }

  const std::string& url() const { return access_.url; }

 private:
  Result<ApiAnswer> Ask(const std::string& path, const std::string* patch);

  const ApiAccess access_;
  std::atomic<bool> stopped_ = false;
  struct Handle;
  const std::unique_ptr<Handle> handle_;  // keeps the connection from one request to the next
};

}  // namespace tutti::kubernetes
