#!/usr/bin/env python3
"""A worker on another host than the daemon: resolves a constraint over TLS with a token, downloads the index, maps it, fills a mask.

    pip install grpcio grpcio-reflection
    python3 docs/examples/remote_worker.py gobo.example:7450 o200k_base '[0-9]{4}' --ca ca.crt --token-file worker.token \\
        --cert client.crt --key client.key --library target/release/libgobo.so

No file of gobo's is needed but the C library, and that for masks alone: the messages come from the daemon by reflection. The files are
verified as they are opened. Exit status: 0 an index, 2 refused or over budget, 1 no answer.
"""

import argparse
import ctypes
import pathlib
import sys
import tempfile

import grpc
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

SERVICE = "gobo.v1.Gobo"


class Token(grpc.AuthMetadataPlugin):
    """Goes with every call of the channel; read each time, because tokens are replaced."""

    def __init__(self, path):
        self.path = pathlib.Path(path)

    def __call__(self, context, callback):
        callback((("authorization", f"Bearer {self.path.read_text().strip()}"),), None)


def channel_of(given):
    read = lambda path: pathlib.Path(path).read_bytes() if path else None
    tls = grpc.ssl_channel_credentials(read(given.ca), read(given.key), read(given.cert))
    if given.token_file:
        tls = grpc.composite_channel_credentials(tls, grpc.metadata_call_credentials(Token(given.token_file)))
    return grpc.secure_channel(given.address, tls)


class Gobo:
    """The service as the daemon describes it."""

    def __init__(self, channel):
        self.channel = channel
        self.methods = DescriptorPool(ProtoReflectionDescriptorDatabase(channel)).FindServiceByName(SERVICE).methods_by_name

    def request(self, method):
        return GetMessageClass(self.methods[method].input_type)()

    def call(self, method, request, timeout=60):
        described = self.methods[method]
        make = self.channel.unary_stream if described.server_streaming else self.channel.unary_unary
        call = make(
            f"/{SERVICE}/{method}",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=GetMessageClass(described.output_type).FromString,
        )
        return call(request, timeout=timeout)

    def fetch(self, method, request, path):
        """The file of a stream: its head says how long it is."""
        total = None
        with open(path, "wb") as file:
            for reply in self.call(method, request):
                if reply.WhichOneof("part") == "head":
                    total = reply.head.total_bytes
                else:
                    file.write(reply.chunk)
        if path.stat().st_size != total:
            sys.exit(f"{path} has not come whole")


def first_mask(library, vocabulary, index):
    """The ids that a text may begin with, by the C library: it maps the files and checks what it reads of them."""
    gobo = ctypes.CDLL(library)
    gobo.gobo_last_error.restype = ctypes.c_char_p
    opened = [ctypes.c_void_p() for _ in range(3)]
    words = ctypes.c_size_t()

    def must(status):
        if status != 0:
            sys.exit(gobo.gobo_last_error().decode())

    must(gobo.gobo_vocabulary_open(str(vocabulary).encode(), ctypes.byref(opened[0])))
    must(gobo.gobo_index_open(opened[0], str(index).encode(), ctypes.byref(opened[1])))
    must(gobo.gobo_matcher_new(opened[1], None, ctypes.byref(opened[2])))
    must(gobo.gobo_matcher_mask_words(opened[2], ctypes.byref(words)))
    mask = (ctypes.c_uint32 * words.value)()
    must(gobo.gobo_matcher_fill(opened[2], mask, words))
    return [32 * word + bit for word, bits in enumerate(mask) for bit in range(32) if bits >> bit & 1]


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("address", help="HOST:PORT")
    options.add_argument("vocabulary", help="a name that the daemon knows, such as o200k_base")
    options.add_argument("regex")
    options.add_argument("--ca", required=True, help="the authority of the daemon's certificate, in PEM")
    options.add_argument("--cert", help="the certificate of this worker, in PEM")
    options.add_argument("--key", help="its key, in PEM")
    options.add_argument("--token-file")
    options.add_argument("--library", help="libgobo.so, to fill a mask")
    options.add_argument("--out", type=pathlib.Path, help="the folder of the files")
    given = options.parse_args()
    out = given.out or pathlib.Path(tempfile.mkdtemp())

    with channel_of(given) as channel:
        try:
            gobo = Gobo(channel)
            request = gobo.request("Resolve")
            request.vocabulary.name = given.vocabulary
            request.constraint.regex.pattern = given.regex
            reply = gobo.call("Resolve", request)
            outcome = reply.WhichOneof("outcome")
            if outcome != "index":
                print(f"{outcome}: {getattr(reply, outcome).reason}", file=sys.stderr)
                return 2
            index, vocabulary = out / f"{reply.index.key.hex()}.gobo", out / f"{given.vocabulary}.gobov"
            request = gobo.request("FetchIndex")
            request.key = reply.index.key
            gobo.fetch("FetchIndex", request, index)
            request = gobo.request("FetchVocabulary")
            request.vocabulary.digest = reply.index.vocabulary_digest
            gobo.fetch("FetchVocabulary", request, vocabulary)
        except grpc.RpcError as error:
            print(f"{error.code().name}: {error.details()}", file=sys.stderr)
            return 1

    print(f"index: {index}")
    if given.library:
        print("mask:", *first_mask(given.library, vocabulary, index))
    return 0


if __name__ == "__main__":
    sys.exit(main())
