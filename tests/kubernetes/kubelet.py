"""Stands in for a kubelet: the registration service, and a client of the plugins that register.

protoc generates its messages from src/kubernetes/proto; the transport is python3-grpcio, so that the plugin and its peer
share no code.
"""
import os
import queue
import threading
import time
from concurrent import futures

import device_plugin_pb2 as api
import grpc

SERVICE = "/v1beta1.DevicePlugin/"


class Plugin:
    """A registered plugin, called as the kubelet calls it."""

    def __init__(self, directory, request):
        self.resource = request.resource_name
        self.request = request
        self.channel = grpc.insecure_channel("unix://" + os.path.join(directory, request.endpoint))
        self.lists = queue.Queue()
        self.stream = None

    def _call(self, name, message, reply):
        method = self.channel.unary_unary(SERVICE + name, request_serializer=type(message).SerializeToString,
                                          response_deserializer=reply.FromString)
        return method(message, timeout=10)

    def options(self):
        return self._call("GetDevicePluginOptions", api.Empty(), api.DevicePluginOptions)

    def watch(self):
        """Starts ListAndWatch; each list arrives in self.lists as {id: health}, None when the stream ends."""
        method = self.channel.unary_stream(SERVICE + "ListAndWatch", request_serializer=api.Empty.SerializeToString,
                                           response_deserializer=api.ListAndWatchResponse.FromString)
        self.stream = method(api.Empty())

        def read():
            try:
                for response in self.stream:
                    self.lists.put({device.ID: device.health for device in response.devices})
            except grpc.RpcError:
                pass
            self.lists.put(None)

        threading.Thread(target=read, daemon=True).start()

    def next_list(self, timeout=20):
        return self.lists.get(timeout=timeout)

    def wait_for(self, accept, timeout=20):
        """The first list that `accept` accepts."""
        while True:
            devices = self.next_list(timeout)
            if devices is None:
                raise AssertionError("the plugin ended its stream")
            if accept(devices):
                return devices

    def prefer(self, available, size, must=()):
        request = api.PreferredAllocationRequest()
        request.container_requests.add(available_deviceIDs=available, must_include_deviceIDs=must, allocation_size=size)
        return list(self._call("GetPreferredAllocation", request, api.PreferredAllocationResponse).container_responses[0].deviceIDs)

    def allocate(self, *containers):
        request = api.AllocateRequest()
        for ids in containers:
            request.container_requests.add(devices_ids=ids)
        return self._call("Allocate", request, api.AllocateResponse).container_responses

    def refusal(self, *containers):
        """The code and the text with which Allocate is refused."""
        try:
            self.allocate(*containers)
        except grpc.RpcError as error:
            return error.code().name, error.details()
        raise AssertionError("the plugin allocated %r" % (containers,))

    def pre_start(self, ids):
        self._call("PreStartContainer", api.PreStartContainerRequest(devices_ids=ids), api.PreStartContainerResponse)

    def close(self):
        if self.stream is not None:
            self.stream.cancel()
        self.channel.close()


class Kubelet:
    """Listens at kubelet.sock; a start deletes every socket in the directory, as a real kubelet's does."""

    def __init__(self, directory, refuse=None, slow_s=0, others="delete"):
        self.directory = directory
        self.registered = queue.Queue()
        for name in os.listdir(directory) if others == "delete" else ():
            os.unlink(os.path.join(directory, name))
        self.server = grpc.server(futures.ThreadPoolExecutor(max_workers=2))

        def register(request, context):
            nonlocal slow_s
            if slow_s:  # only the first time
                pause, slow_s = slow_s, 0
                time.sleep(pause)
                return api.Empty()
            if refuse is not None:
                context.abort(grpc.StatusCode.UNKNOWN, refuse)
            self.registered.put(request)
            return api.Empty()

        handler = grpc.unary_unary_rpc_method_handler(register, request_deserializer=api.RegisterRequest.FromString,
                                                      response_serializer=api.Empty.SerializeToString)
        self.server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("v1beta1.Registration", {"Register": handler})])
        self.server.add_insecure_port("unix://" + os.path.join(directory, "kubelet.sock"))
        self.server.start()

    def plugin(self, timeout=20):
        return Plugin(self.directory, self.registered.get(timeout=timeout))

    def stop(self):
        self.server.stop(0).wait()
