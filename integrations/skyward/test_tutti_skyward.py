"""The plugin's environment and commands, and its bootstrap in a shell as Skyward runs it, followed by spawned workers.

Skyward itself is not needed: a stand-in records what the plugin hands over, in the shape of skyward.plugins.plugin.
"""
import concurrent.futures
import dataclasses
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import types
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tutti_skyward  # noqa: E402

BIN = os.environ.get("TUTTI_BIN", "")


@dataclasses.dataclass(frozen=True)
class Image:
    env: dict


class PluginStandIn:
    def __init__(self, name):
        self.name, self.transform, self.bootstrap = name, None, None

    @classmethod
    def create(cls, name):
        return cls(name)

    def with_image_transform(self, transform):
        self.transform = transform
        return self

    def with_bootstrap(self, factory):
        self.bootstrap = factory
        return self


def with_skyward(test):
    """Runs a test with stand-ins for the two modules that the plugin imports."""
    modules = {name: types.ModuleType(name) for name in ("skyward", "skyward.plugins", "skyward.plugins.plugin", "skyward.providers", "skyward.providers.bootstrap")}
    modules["skyward.plugins.plugin"].Plugin = PluginStandIn
    modules["skyward.providers.bootstrap"].phase_simple = lambda name, *commands: (name, commands)

    def run(self):
        sys.modules.update(modules)
        try:
            test(self)
        finally:
            for name in modules:
                del sys.modules[name]

    return run


def work(task, library, environment, results):
    """A worker's child: it gets the variables after its start, then loads CUDA."""
    import ctypes

    os.environ.update(environment)
    cuda = ctypes.CDLL(library)
    device, total, count = ctypes.c_int(), ctypes.c_size_t(), ctypes.c_int()
    status = cuda.cuInit(0)
    status = status or cuda.cuDeviceGet(ctypes.byref(device), 0)
    context = ctypes.c_void_p()
    status = status or cuda.cuCtxCreate_v2(ctypes.byref(context), 0, device)
    free = ctypes.c_size_t()
    status = status or cuda.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total))
    status = status or cuda.cuDeviceGetAttribute(ctypes.byref(count), 16, device)
    memory = ctypes.c_void_p()
    over = cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(200 << 20))
    answer = (task, status, total.value, count.value, over)
    if results is not None:
        results.put(answer)
    return answer


class Settings(unittest.TestCase):
    def test_the_environment_is_that_of_skywards_mps_plugin_but_for_directories_in_tmp(self):
        self.assertEqual(tutti_skyward.Settings(25, "0=2G").environment(), {
            "CUDA_MPS_PIPE_DIRECTORY": "/run/nvidia-mps", "CUDA_MPS_LOG_DIRECTORY": "/var/log/nvidia-mps",
            "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": "25", "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT": "0=2G"})

    def test_values_that_cannot_be_meant_are_refused(self):
        for percentage in (0, -5, 250, "banana", 12.5, True):
            self.assertRaisesRegex(ValueError, "active_thread_percentage must be", tutti_skyward.Settings, percentage)
        for limit in ("2G", "0=2", "0=two", "0=2G,", ""):
            self.assertRaisesRegex(ValueError, "pinned_memory_limit must be", tutti_skyward.Settings, None, limit)

    def test_a_package_is_fetched_checked_and_installed(self):
        commands = tutti_skyward.Settings(package="https://example.org/a/tutti_1.deb?x=1", sha256="a" * 64).install_commands()
        self.assertEqual(commands[0], "mkdir -p -m 700 /run/tutti-downloads && curl -fsSL --retry 3 -o /run/tutti-downloads/tutti_1.deb 'https://example.org/a/tutti_1.deb?x=1'")
        self.assertIn("sha256sum -c", commands[1])
        self.assertEqual(commands[2], "dpkg -i /run/tutti-downloads/tutti_1.deb")
        self.assertEqual(tutti_skyward.Settings().install_commands(), [])

    @with_skyward
    def test_the_plugin_has_the_shape_of_skywards(self):
        plugin = tutti_skyward.tutti(active_thread_percentage=25, pinned_memory_limit="0=2G")
        image = plugin.transform(Image({"A": "1"}), None)
        self.assertEqual((image.env["A"], image.env["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"]), ("1", "25"))
        (name, commands), = plugin.bootstrap(None)
        self.assertEqual(name, "tutti")
        self.assertTrue(any("nvidia-cuda-mps-control -d" in command for command in commands))


@unittest.skipUnless(os.path.exists(os.path.join(BIN, "..", "lib", "libcuda.so.1")), "needs a build (TUTTI_BIN)")
class Bootstrap(unittest.TestCase):
    def test_the_bootstrap_starts_a_daemon_that_spawned_workers_share(self):
        with tempfile.TemporaryDirectory(prefix="tutti-sky.") as directory:
            os.chmod(directory, 0o755)
            settings = tutti_skyward.Settings(50, "0=128M", pipe_directory=directory + "/pipe", log_directory=directory + "/log")
            exports = "".join('export %s="%s"\n' % item for item in settings.environment().items())
            script = "set -e\ntrap 'echo bootstrap failed: $BASH_COMMAND' ERR\nexport PATH=\"%s:$PATH\"\n%s%s\necho bootstrap completed\n" % (
                BIN, exports, "\n".join(settings.commands() * 2))
            environment = {key: value for key, value in os.environ.items() if not key.startswith("CUDA_")}
            environment["TUTTI_CPU_SMS"] = "8"
            done = subprocess.run(["bash", "-c", script], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
            try:
                self.assertEqual((done.returncode, done.stdout), (0, "bootstrap completed\n"))
                context = multiprocessing.get_context("spawn")
                results = context.Queue()
                library = os.path.abspath(os.path.join(BIN, "..", "lib", "libcuda.so.1"))
                workers = [context.Process(target=work, args=(task, library, settings.environment(), results)) for task in range(8)]
                for worker in workers:
                    worker.start()
                answers = sorted(results.get(timeout=60) for _ in workers)
                for worker in workers:
                    worker.join(60)
                # The share instead of the whole device; beyond it CUDA_ERROR_OUT_OF_MEMORY.
                self.assertEqual(answers, [(task, 0, 128 << 20, 4, 2) for task in range(8)])
                # As with reuse_processes=False: a new process, and so a new client, for each task.
                with concurrent.futures.ProcessPoolExecutor(2, mp_context=context, max_tasks_per_child=1) as pool:
                    answers = sorted(pool.map(work, range(4), [library] * 4, [settings.environment()] * 4, [None] * 4, timeout=60))
                self.assertEqual(answers, [(task, 0, 128 << 20, 4, 2) for task in range(4)])
            finally:
                with open(directory + "/pipe/nvidia-cuda-mps-control.pid") as file:
                    os.kill(int(file.read()), signal.SIGKILL)


if __name__ == "__main__":
    unittest.main()
