// A minimal client of the cluster's API server, over HTTPS with a service account, for a node's labels.
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

// The URL from a pod's KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT, unless `url` is given. Fails if there is
// none, or if it is not https, since the token must not be sent unencrypted.
Result<std::string> ApiServerUrl(const std::string& url);

struct ApiAnswer {
  long status = 0;   // of HTTP
  std::string body;  // untrusted; at most 16 MiB
};

// One request at a time, from one thread; Stop is thread-safe.
class ApiServer {
 public:
  explicit ApiServer(ApiAccess access);
  ~ApiServer();

  // `path` begins with "/api". Each fails after ten seconds without an answer, with a hint what to check. Reads the
  // token for every request, since the kubelet replaces it every hour.
  Result<ApiAnswer> Get(const std::string& path);
  Result<ApiAnswer> MergePatch(const std::string& path, const std::string& json);

  // Aborts the running request, within about a second, and prevents further ones.
  void Stop() { stopped_ = true; }

  const std::string& url() const { return access_.url; }

 private:
  Result<ApiAnswer> Ask(const std::string& path, const std::string* patch);

  const ApiAccess access_;
  std::atomic<bool> stopped_ = false;
  struct Handle;
  const std::unique_ptr<Handle> handle_;  // reuses the connection for the next request
};

}  // namespace tutti::kubernetes
