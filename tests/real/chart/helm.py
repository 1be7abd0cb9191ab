"""Helm for cluster.sh: the actions of its command line, done by Helm's own library (tools/helm).

    helm.py LIBRARY KUBECONFIG NAMESPACE lint CHART
    helm.py LIBRARY KUBECONFIG NAMESPACE install|upgrade RELEASE CHART [VALUES.json]     prints the manifest
    helm.py LIBRARY KUBECONFIG NAMESPACE uninstall RELEASE
    helm.py LIBRARY KUBECONFIG NAMESPACE list                                              prints NAME REVISION STATUS
"""
import ctypes
import json
import sys

TEXT = ctypes.c_char_p


class Helm:
    def __init__(self, path, kubeconfig, namespace):
        self.library = ctypes.CDLL(path)
        self.library.helm_sdkpy_last_error.restype = TEXT
        self.configuration = ctypes.c_ulonglong()
        self.call("config_create", namespace, kubeconfig, None, "{}", ctypes.byref(self.configuration))

    def call(self, name, *arguments):
        values = [TEXT(value.encode()) if isinstance(value, str) else value for value in arguments]
        if getattr(self.library, "helm_sdkpy_" + name)(*values) != 0:
            sys.exit("helm %s: %s" % (name, self.library.helm_sdkpy_last_error().decode()))

    def act(self, name, *arguments):
        result = TEXT()
        self.call(name, self.configuration, *arguments, ctypes.byref(result))
        return json.loads(result.value or b"null")


def main():
    library, kubeconfig, namespace, action, *rest = sys.argv[1:]
    helm = Helm(library, kubeconfig, namespace)
    if action == "lint":
        found = helm.act("lint", rest[0])
        wrong = [message["Path"] for message in found["Messages"] if message["Severity"] >= 3]  # its texts do not come through
        sys.exit("helm lint: something is wrong with %s" % wrong if found["Errors"] else 0)
    elif action in ("install", "upgrade"):
        values = open(rest[2]).read() if len(rest) > 2 else "{}"
        options = {"create_namespace": True, "wait": False, "timeout_seconds": 60, "server_side_apply": "auto" if action == "upgrade" else "true", "disable_openapi_validation": False}
        print(helm.act(action, rest[0], rest[1], values, "", json.dumps(options))["manifest"])
    elif action == "uninstall":
        helm.act("uninstall", rest[0], ctypes.c_int(0), ctypes.c_int(60))
    elif action == "list":
        for release in helm.act("list", ctypes.c_int(1)):
            print(release["name"], release["version"], release["info"]["status"])
    else:
        sys.exit("helm.py: unknown action " + action)


if __name__ == "__main__":
    main()
