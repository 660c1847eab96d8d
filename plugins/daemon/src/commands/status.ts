import type { CommandIo } from '@svc/plugin-sdk'
import { logPath } from '../log-file.ts'
import type { DaemonProject } from './daemon-project.ts'
import { type DaemonInspection, inspectDaemon } from './inspect-daemon.ts'
import { describe, duration, report } from './report.ts'

/** Exit codes of the Linux Standard Base for `status`: 1 dead with a stale file, 3 not running, 4 unknown. */
const EXIT: Readonly<Record<DaemonInspection['kind'], number>> = { running: 0, stale: 1, stopped: 3, silent: 4 }

export async function daemonStatus({ root, version }: DaemonProject, io: CommandIo): Promise<number> {
  const found = await inspectDaemon(root)
  const exit = EXIT[found.kind]
  if (found.kind === 'stopped') {
    report(io, { status: 'stopped' }, 'the daemon is not running; start it with svc daemon start')
    return exit
  }
  const { state } = found
  if (state === null) {
    report(
      io,
      { status: 'stale' },
      'the daemon is not running, and .vox/daemon.json is not valid; the next start replaces it'
    )
    return exit
  }
  const uptimeS = found.kind === 'stale' ? null : (Date.now() - Date.parse(state.started_at)) / 1_000
  const { pid, host, started_at, socket, repository_id } = state
  const document = {
    status: found.kind,
    ...{ pid, host, started_at, uptime_s: uptimeS === null ? null : Math.round(uptimeS) },
    ...{ socket, version: state.version, repository_id, log: logPath(root) }
  }
  report(io, document, [headline(found.kind, describe(state)), ...details(state, uptimeS, version)].join('\n'))
  return exit
}

function headline(kind: 'running' | 'silent' | 'stale', who: string): string {
  if (kind === 'running') return `the daemon is running: ${who}`
  if (kind === 'silent') return `the daemon does not respond; it may still be starting: ${who}`
  return `the daemon crashed and left .vox/daemon.json, which the next start replaces: ${who}`
}

function details(state: { started_at: string; version: string }, uptimeS: number | null, version: string): string[] {
  const other =
    state.version === version
      ? ''
      : `, but this svc is ${version}; to update it, run svc daemon stop, then svc daemon start`
  const since = uptimeS === null ? '' : `, for ${duration(uptimeS)}`
  return [`started ${state.started_at}${since}`, `version ${state.version}${other}`]
}
