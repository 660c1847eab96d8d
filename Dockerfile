# Image of svc: docker build --tag svc .
# With CUDA: docker build --target cuda --tag svc:cuda .
# docs/deploy.md describes how to run it.

FROM node:24-bookworm-slim AS build
WORKDIR /src
COPY . .
RUN --mount=type=cache,target=/root/.npm npm ci && npm run build
RUN node --import tsx --conditions=svc-source tools/deploy/image.ts /release

# The CUDA provider of ONNX Runtime, in the version of the library in package-lock.json.
FROM python:3.12-slim-bookworm AS provider
ARG ONNXRUNTIME=1.30.0
RUN pip download --no-cache-dir --no-deps --only-binary=:all: --dest /wheel "onnxruntime-gpu==${ONNXRUNTIME}"

FROM nvidia/cuda:13.0.2-cudnn-runtime-ubuntu22.04 AS cuda
COPY --from=build /usr/local/bin/node /usr/local/bin/
COPY --from=build /release /
WORKDIR /tmp
RUN --mount=type=bind,from=provider,source=/wheel,target=/wheel \
  groupadd --gid 1000 node && useradd --uid 1000 --gid node --home-dir /data node \
  && install --directory --owner node --group node /data \
  && svc --set plugins.inference-onnx.gpu_library_directory=/opt/svc/gpu \
  gpu install --without-gpu --from /wheel/*.whl && rm -rf /root/.local
ENV HOME=/data XDG_CONFIG_HOME=/etc NODE_ENV=production READY_URL=http://127.0.0.1:11435/ready
USER 1000:1000
WORKDIR /data
VOLUME /data
EXPOSE 11435
HEALTHCHECK --interval=10s --timeout=5s --start-period=10m CMD ["node", "/opt/svc/ready.mjs"]
ENTRYPOINT ["/opt/svc/entrypoint.sh"]
CMD ["serve", "--profile", "model-server", "--set", "plugins.inference-onnx.gpu_library_directory=/opt/svc/gpu"]

# Debian without npm: the program needs only the binary of Node.js.
FROM debian:bookworm-slim AS cpu
COPY --from=build /usr/local/bin/node /usr/local/bin/
COPY --from=build /release /
RUN groupadd --gid 1000 node && useradd --uid 1000 --gid node --home-dir /data node \
  && install --directory --owner node --group node /data
ENV HOME=/data XDG_CONFIG_HOME=/etc NODE_ENV=production READY_URL=http://127.0.0.1:3847/ready
USER 1000:1000
WORKDIR /data
VOLUME /data
EXPOSE 3847
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s CMD ["node", "/opt/svc/ready.mjs"]
ENTRYPOINT ["/opt/svc/entrypoint.sh"]
CMD ["serve"]
