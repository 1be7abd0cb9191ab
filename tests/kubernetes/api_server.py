"""Stands in for the cluster's API server: serves one Node object over HTTPS to bearers of the service account's token."""
import http.server
import json
import os
import ssl
import subprocess
import threading

TOKEN = "a.service.account"


def merge(target, patch):
    """RFC 7396."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge(result.get(key), value)
    return result


class ApiServer:
    def __init__(self, directory, name="node1"):
        self.account = os.path.join(directory, "account")
        os.mkdir(self.account)
        self.token(TOKEN)
        key, certificate = os.path.join(directory, "key.pem"), os.path.join(self.account, "ca.crt")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1", "-subj", "/CN=tutti-test",
                        "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate], check=True, stderr=subprocess.DEVNULL)
        self.path = "/api/v1/nodes/" + name
        self.node = {"kind": "Node", "metadata": {"name": name, "resourceVersion": "1", "labels": {"kubernetes.io/os": "linux"}}, "spec": {}}
        self.answers = []  # (status, body): replace the next answers
        self.before_patch = None  # called before the next patch, to change the node as somebody else
        self.lock = threading.Lock()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def answer(self, status, body):
                data = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def refuse(self, status, message):
                self.answer(status, {"kind": "Status", "status": "Failure", "message": message, "code": status})

            def handle_request(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                with outer.lock:
                    if outer.answers:
                        return self.answer(*outer.answers.pop(0))
                    if self.headers["Authorization"] != "Bearer " + TOKEN:
                        return self.refuse(401, "Unauthorized")
                    if self.path != outer.path:
                        return self.refuse(404, "nodes not found")
                    if self.command == "PATCH":
                        assert self.headers["Content-Type"] == "application/merge-patch+json"
                        if outer.before_patch:
                            outer.before_patch()
                            outer.before_patch = None
                        patch = json.loads(body)
                        if patch["metadata"].get("resourceVersion") != outer.node["metadata"]["resourceVersion"]:
                            return self.refuse(409, "the object has been modified")
                        outer.put(patch)
                    return self.answer(200, outer.node)

            do_GET = do_PATCH = handle_request

            def log_message(self, *arguments):
                pass

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.url = "https://127.0.0.1:%d" % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def token(self, text):
        with open(os.path.join(self.account, "token"), "w") as file:
            file.write(text)

    def put(self, patch):
        """Changes the node as somebody else."""
        self.node = merge(self.node, patch)
        self.node["metadata"]["resourceVersion"] = str(int(self.node["metadata"]["resourceVersion"]) + 1)

    def labels(self):
        with self.lock:
            return dict(self.node["metadata"]["labels"])

    def taints(self):
        with self.lock:
            return list(self.node["spec"].get("taints", []))

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
