"""A node in a private directory: a kubelet stand-in, a device plugin, and the control daemon that the plugin starts."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

MPS_FOUR = "version: v1\nsharing:\n  mps:\n    resources:\n    - name: nvidia.com/gpu\n      replicas: 4\n"


def until(what, true, seconds=20):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if true():
            return
        time.sleep(0.02)
    raise AssertionError("not within %d seconds: %s" % (seconds, what))


class Node:
    def __init__(self, bin_directory, fakes=None, environment=None):
        self.work = tempfile.mkdtemp(prefix="tutti-k8s.")
        os.chmod(self.work, 0o755)
        self.bin = bin_directory
        self.root = os.path.join(self.work, "mps")
        self.kubelet_directory = os.path.join(self.work, "device-plugins")
        os.mkdir(self.kubelet_directory)
        self.log_path = os.path.join(self.work, "plugin.log")
        self.environment = {key: value for key, value in os.environ.items() if not key.startswith("CUDA_")}
        self.environment.update(environment or {})
        self.plugin = None
        self.control = os.path.join(bin_directory, "nvidia-cuda-mps-control")
        if fakes:  # the daemon finds its servers beside its own file
            self.control = os.path.join(self.work, "bin", "nvidia-cuda-mps-control")
            os.mkdir(os.path.dirname(self.control))
            shutil.copy(os.path.join(bin_directory, "tutti-control"), self.control)
            shutil.copy(os.path.join(fakes, "fake_server"), os.path.join(self.work, "bin", "tutti-server"))

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if kind is not None:
            print(self.log(), file=sys.stderr)
        if self.plugin is not None and self.plugin.poll() is None:
            self.plugin.kill()
            self.plugin.wait()
        for daemon in self.daemons():
            os.kill(daemon, signal.SIGKILL)
        shutil.rmtree(self.work, ignore_errors=True)

    def configure(self, text):
        with open(os.path.join(self.work, "config.yaml"), "w") as file:
            file.write(text)

    def start(self, config=MPS_FOUR, *arguments):
        self.configure(config)
        with open(self.log_path, "a") as log:
            self.plugin = subprocess.Popen(
                [os.path.join(self.bin, "tutti-device-plugin"), "--config-file", os.path.join(self.work, "config.yaml"), "--mps-root",
                 self.root, "--kubelet-directory", self.kubelet_directory, "--control-program", self.control, *arguments],
                stderr=log, env=self.environment)

    def log(self):
        with open(self.log_path) as file:
            return file.read()

    def logged(self, text):
        until("\"%s\" in the plugin's log" % text, lambda: text in self.log())

    def pipe_directories(self):
        found = []
        for path, directories, _ in os.walk(self.root):
            found += [os.path.join(path, name) for name in directories if name == "pipe"]
        return found

    def daemons(self):
        pids = []
        for directory in self.pipe_directories():
            try:
                with open(os.path.join(directory, "nvidia-cuda-mps-control.pid")) as file:
                    pid = int(file.read())
                os.kill(pid, 0)
                pids.append(pid)
            except (OSError, ValueError):
                pass
        return pids

    def ask(self, command):
        environment = dict(self.environment, CUDA_MPS_PIPE_DIRECTORY=self.pipe_directories()[0])
        return subprocess.run([self.control], input=command, env=environment, text=True, stdout=subprocess.PIPE, timeout=20).stdout.strip()
