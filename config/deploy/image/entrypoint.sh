#!/bin/sh
# Starts svc in /data. The file of settings makes the folder a project, so that all state is in /data/.vox.
set -eu
if [ ! -e svc.toml ]; then
  echo '# Settings of this server; svc config list shows all.' > svc.toml
fi
exec node /opt/svc/bin/svc.cjs "$@"
