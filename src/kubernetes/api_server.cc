#include "kubernetes/api_server.h"

#include <curl/curl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cctype>
#include <cstdlib>
#include <fstream>
#include <iterator>

namespace tutti::kubernetes {
namespace {

constexpr long kTimeout_ms = 10'000;
constexpr size_t kMaxAnswerBytes = 16 << 20;  // a node that lists its images has some 100 KiB

size_t TakeBytes(char* bytes, size_t one, size_t count, void* to) {
  auto& body = *static_cast<std::string*>(to);
  if (body.size() + count > kMaxAnswerBytes) return 0;  // curl aborts
  body.append(bytes, one * count);
  return count;
}

int WhetherToStop(void* stopped, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<std::atomic<bool>*>(stopped)->load() ? 1 : 0;
}

Result<std::string> ReadToken(const std::string& directory) {
  const std::string path = directory + "/token";
  std::ifstream file(path);
  std::string token{std::istreambuf_iterator<char>(file), {}};
  while (!token.empty() && std::isspace(static_cast<unsigned char>(token.back())) != 0) token.pop_back();
  if (token.empty())
    return Fail(fmt::format("no token in {}: does the pod have a service account (--service-account)?", path));
  // It becomes a header line.
  for (const char c : token) {
    if (c <= ' ' || c > '~') return Fail(fmt::format("{} is not a token: it has control characters or spaces", path));
  }
  return token;
}

class Headers {
 public:
  Headers() = default;
  Headers(const Headers&) = delete;
  ~Headers() { curl_slist_free_all(list_); }
  void Add(const std::string& line) { list_ = curl_slist_append(list_, line.c_str()); }
  curl_slist* get() const { return list_; }

 private:
  curl_slist* list_ = nullptr;
};

}  // namespace

Result<std::string> ApiServerUrl(const std::string& url) {
  if (!url.empty()) {
    if (!url.starts_with("https://")) return Fail(fmt::format("--api-server {} must begin with https://", url));
    return url.ends_with('/') ? url.substr(0, url.size() - 1) : url;
  }
  const char* const host = std::getenv("KUBERNETES_SERVICE_HOST");
  const char* const port = std::getenv("KUBERNETES_SERVICE_PORT");
  if (host == nullptr || *host == '\0')
    return Fail(
        "no API server is known: outside of a pod, where KUBERNETES_SERVICE_HOST names it, give --api-server "
        "https://...");
  const std::string name = host;
  const bool v6 = name.find(':') != std::string::npos;
  return fmt::format("https://{}{}{}:{}", v6 ? "[" : "", name, v6 ? "]" : "",
                     port != nullptr && *port != '\0' ? port : "443");
}

struct ApiServer::Handle {
  CURL* curl = curl_easy_init();
  ~Handle() { curl_easy_cleanup(curl); }
};

ApiServer::ApiServer(ApiAccess access) : access_(std::move(access)), handle_(new Handle) {}

ApiServer::~ApiServer() = default;

Result<ApiAnswer> ApiServer::Get(const std::string& path) { return Ask(path, nullptr); }

Result<ApiAnswer> ApiServer::MergePatch(const std::string& path, const std::string& json) { return Ask(path, &json); }

Result<ApiAnswer> ApiServer::Ask(const std::string& path, const std::string* patch) {
  if (stopped_) return Fail("stopped");
  TUTTI_ASSIGN(const std::string token, ReadToken(access_.account_directory));
  CURL* const curl = handle_->curl;
  if (curl == nullptr) return Fail("libcurl cannot be initialised");
  Headers headers;
  headers.Add("Authorization: Bearer " + token);
  headers.Add("Accept: application/json");
  if (patch != nullptr) headers.Add("Content-Type: application/merge-patch+json");
  ApiAnswer answer;
  char reason[CURL_ERROR_SIZE] = "";
  const std::string url = access_.url + path, certificate = access_.account_directory + "/ca.crt";
  curl_easy_reset(curl);  // keeps the connection
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "https");
  curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");  // a proxy configured for images cannot reach the cluster's own address
  if (access(certificate.c_str(), R_OK) == 0) curl_easy_setopt(curl, CURLOPT_CAINFO, certificate.c_str());
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
  if (patch != nullptr) {
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, "PATCH");
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE, static_cast<long>(patch->size()));
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, patch->data());
  }
  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, kTimeout_ms);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, WhetherToStop);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &stopped_);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, TakeBytes);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &answer.body);
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, reason);
  const CURLcode code = curl_easy_perform(curl);
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, nullptr);
  if (code != CURLE_OK)
    return Fail(fmt::format("the API server {} does not answer: {}", access_.url,
                            *reason != '\0' ? reason : curl_easy_strerror(code)));
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &answer.status);
  return answer;
}

}  // namespace tutti::kubernetes
