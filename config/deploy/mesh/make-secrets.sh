#!/bin/sh
# Makes the secrets of compose.yaml that do not exist yet. The containers run as user 1000, so the files are readable; the
# folder is not.
set -eu
cd "$(dirname "$0")"
mkdir -p -m 0700 secrets
for name in postgres_password mesh_token http_token; do
  if [ ! -e "secrets/$name" ]; then
    od -An -N24 -tx1 /dev/urandom | tr -d ' \n' > "secrets/$name"
    chmod 0444 "secrets/$name"
  fi
done
