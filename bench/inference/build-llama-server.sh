#!/bin/sh
# Builds llama-server, the C server of llama.cpp, from the sources in the PyPI package llama-cpp-python, for this machine.
# Needs pip, CMake 3.14, Ninja and a C++17 compiler, and about half an hour of one core.
#
#   sh bench/inference/build-llama-server.sh FOLDER [VERSION]
#   SVC_BENCH_LLAMA_SERVER=FOLDER/llama-server npm run bench -- --only models
set -eu
folder=${1:?usage: build-llama-server.sh FOLDER [VERSION]}
version=${2:-0.3.36}
flags='-DCMAKE_BUILD_TYPE=Release -DGGML_NATIVE=ON -DBUILD_SHARED_LIBS=OFF -DLLAMA_OPENSSL=OFF'
parts='-DLLAMA_BUILD_SERVER=ON -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_APP=OFF -DLLAMA_BUILD_UI=OFF -DLLAMA_USE_PREBUILT_UI=OFF'
mkdir -p "$folder"
python3 -m pip download --no-binary llama-cpp-python --no-deps -d "$folder" "llama-cpp-python==$version"
tar -C "$folder" -xf "$folder/llama_cpp_python-$version.tar.gz"
# GCC 12 drops stores to the configuration of AMX tiles, since its intrinsic names only the first 8 bytes as its input.
sed -i 's|^    _tile_loadconfig(&tc);|    __asm__ volatile("" : : "r"(\&tc) : "memory");\n&|' \
  "$folder/llama_cpp_python-$version/vendor/llama.cpp/ggml/src/ggml-cpu/amx/mmq.cpp"
# shellcheck disable=SC2086
cmake -G Ninja -B "$folder/build" -S "$folder/llama_cpp_python-$version/vendor/llama.cpp" $flags $parts
nice -n 10 ninja -C "$folder/build" -j1 llama-server
cp "$folder/build/bin/llama-server" "$folder/llama-server"
echo "llama.cpp of llama-cpp-python $version, $(c++ --version | head -n 1), $flags" > "$folder/build.txt"
