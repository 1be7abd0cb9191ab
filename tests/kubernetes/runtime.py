"""Stands in for a container runtime and for the kubelet's pod-resources API: lists containers and the devices they hold."""
import os
from concurrent import futures

import container_runtime_pb2 as cri
import grpc
import pod_resources_pb2 as pods


def serve(path, service, methods):
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=2))
    handlers = {
        name: grpc.unary_unary_rpc_method_handler(lambda request, context, answer=answer: answer(), request_deserializer=request.FromString,
                                                  response_serializer=lambda message: message.SerializeToString())
        for name, (request, answer) in methods.items()
    }
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(service, handlers)])
    server.add_insecure_port("unix://" + path)
    server.start()
    return server


class Pods:
    """Pods of one container each. `proc` resembles /proc for the processes in them."""

    def __init__(self, directory):
        self.runtime_socket = os.path.join(directory, "runtime.sock")
        self.resources_socket = os.path.join(directory, "pod-resources.sock")
        self.proc = os.path.join(directory, "proc")
        os.mkdir(self.proc)
        self.sandboxes, self.containers, self.resources = [], [], []
        self.servers = [
            serve(self.runtime_socket, "runtime.v1.RuntimeService", {
                "ListPodSandbox": (cri.ListPodSandboxRequest, lambda: cri.ListPodSandboxResponse(items=self.sandboxes)),
                "ListContainers": (cri.ListContainersRequest, lambda: cri.ListContainersResponse(containers=self.containers))}),
            serve(self.resources_socket, "v1.PodResourcesLister", {
                "List": (pods.ListPodResourcesRequest, lambda: pods.ListPodResourcesResponse(pod_resources=self.resources))})]

    def add(self, name, device, annotations=None):
        number = len(self.containers)
        uid = "%08x-0000-0000-0000-000000000000" % number
        sandbox = cri.PodSandbox(id="sandbox%d" % number, annotations=annotations or {})
        sandbox.metadata.name, sandbox.metadata.namespace, sandbox.metadata.uid = name, "default", uid
        container = cri.Container(id="%064x" % number, pod_sandbox_id=sandbox.id)
        container.metadata.name = "main"
        held = pods.PodResources(name=name, namespace="default")
        held.containers.add(name="main").devices.add(resource_name="nvidia.com/gpu", device_ids=[device])
        self.sandboxes.append(sandbox)
        self.containers.append(container)
        self.resources.append(held)
        return "0::/kubepods/besteffort/pod%s/%s\n" % (uid, container.id)

    def put(self, pid, cgroup):
        os.mkdir(os.path.join(self.proc, str(pid)))
        with open(os.path.join(self.proc, str(pid), "cgroup"), "w") as file:
            file.write(cgroup)

    def stop(self):
        for server in self.servers:
            server.stop(0)
