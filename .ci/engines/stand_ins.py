"""Stand-ins for the CUDA libraries that torch is linked with, so that its CPU half works where none of them is installed.

    python stand_ins.py SITE_PACKAGES

Torch's shared libraries name the libraries they need, the versions of symbols they need of each, and the symbols they leave
undefined; `readelf` prints all three. A stand-in has the name, the versions and the symbols. Each symbol is a function that returns
an error, except that texts of errors are texts and a stream that captures nothing says so. They are laid where torch's own run path
looks first, and nothing of them is ever called: `torch.cuda.is_available()` is False, because no driver is there.
"""

import collections
import pathlib
import re
import subprocess
import sys
import tempfile

# What the system itself has.
SYSTEM = re.compile(r"^(ld-linux|libc\.|libdl\.|libgcc_s|libm\.|libpthread|librt\.|libstdc\+\+|libgomp)")


def readelf(*arguments: str) -> str:
    return subprocess.run(["readelf", "--wide", *arguments], check=True, capture_output=True, text=True).stdout


class Symbols:
    """The dynamic symbols of a library."""

    def __init__(self, path: pathlib.Path) -> None:
        self.needed = re.findall(r"\(NEEDED\).*\[(.+)\]", readelf("--dynamic", str(path)))
        self.undefined: list[tuple[str, str | None]] = []
        self.defined: set[str] = set()
        for line in readelf("--dyn-syms", str(path)).splitlines():
            # Num: Value Size Type Bind Vis Ndx Name[@version] [(number)]
            fields = line.split()
            if len(fields) < 8 or not fields[0].endswith(":") or fields[4] not in ("GLOBAL", "WEAK"):
                continue
            name, _, version = fields[7].partition("@")
            if fields[6] == "UND":
                self.undefined.append((name, version or None))
            else:
                self.defined.add(name)
        self.versions: dict[str, str] = {}  # of a needed version: the library that must have it
        library = ""
        for line in readelf("--version-info", str(path)).splitlines():
            if match := re.search(r"Version: 1\s+File: (\S+)\s+Cnt", line):
                library = match[1]
            elif (match := re.search(r"Name: (\S+)\s+Flags", line)) and library:
                self.versions[match[1]] = library


def body(name: str) -> str:
    if re.search(r"(GetErrorString|GetErrorName|getErrorString|GetStatusString|get_error_string|GetLastErrorString)$", name, re.I):
        return f'const char *{name}(void) {{ return "there is no CUDA here"; }}'
    if name.startswith("cudaStreamIsCapturing"):
        return f"int {name}(void *stream, int *status) {{ if (status) *status = 0; return 0; }}"
    # cudaErrorNoDevice; an error in the libraries above it as well.
    return f"int {name}(void) {{ return 100; }}"


def build(library: str, symbols: dict[str, str | None], place: pathlib.Path) -> None:
    by_version: dict[str, list[str]] = collections.defaultdict(list)
    for name, version in symbols.items():
        if version:
            by_version[version].append(name)
    with tempfile.TemporaryDirectory() as scratch:
        source = pathlib.Path(scratch, "stand_in.c")
        source.write_text("\n".join(body(name) for name in sorted(symbols)) + "\n")
        script = pathlib.Path(scratch, "versions.map")
        script.write_text(
            "".join(f"{version} {{ global: {' '.join(f'{name};' for name in sorted(names))} }};\n" for version, names in sorted(by_version.items()))
        )
        command = ["cc", "-shared", "-fPIC", "-O0", "-w", f"-Wl,-soname,{library}", "-o", str(place / library), str(source)]
        if by_version:
            command.append(f"-Wl,--version-script={script}")
        subprocess.run(command, check=True)


def main() -> None:
    packages = pathlib.Path(sys.argv[1])
    own = sorted((packages / "torch" / "lib").glob("*.so*"))
    all_symbols = {path.name: Symbols(path) for path in own}
    missing = sorted({name for one in all_symbols.values() for name in one.needed if name not in all_symbols and not SYSTEM.match(name)})
    defined = set().union(*(one.defined for one in all_symbols.values()))
    wanted: dict[str, dict[str, str | None]] = {name: {} for name in missing}
    for one in all_symbols.values():
        loose = [name for name in one.needed if name in wanted]
        for name, version in one.undefined:
            library = one.versions.get(version) if version else None
            if library in wanted:
                wanted[library][name] = version
            elif version is None and name not in defined and loose and not name.startswith(("_Z", "__", "Py", "_Py", "omp_", "GOMP_")):
                # A symbol without a version may come from any library in scope; its prefix says which, or the first one has it.
                home = next((name_of for name_of in loose if name.lower().startswith(PREFIXES.get(name_of.partition(".")[0], "\0"))), loose[0])
                wanted[home].setdefault(name, None)
    place = packages / "nvidia" / "cu13" / "lib"
    place.mkdir(parents=True, exist_ok=True)
    for library, symbols in wanted.items():
        build(library, symbols, place)
    print(f"{len(wanted)} stand-ins in {place}, {sum(len(symbols) for symbols in wanted.values())} symbols")


PREFIXES = {
    "libcublas": "cublas",
    "libcublasLt": "cublaslt",
    "libcuda": "cu",
    "libcudnn": "cudnn",
    "libcufft": "cufft",
    "libcufile": "cufile",
    "libcupti": "cupti",
    "libcurand": "curand",
    "libcusolver": "cusolver",
    "libcusparse": "cusparse",
    "libcusparseLt": "cusparselt",
    "libnccl": ("nccl", "pnccl"),
    "libnvrtc": "nvrtc",
    "libnvshmem_host": "nvshmem",
}

if __name__ == "__main__":
    main()
