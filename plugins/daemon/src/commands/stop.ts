import { unlink } from 'node:fs/promises'
import { hostname } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import {
  type DaemonState,
  daemonPresence,
  daemonStatePath,
  ownIdentity,
  parseDaemonState,
  probeDaemon
} from '@svc/contracts'
import { claim, release } from '@svc/contracts/claim-file'
import type { CommandIo } from '@svc/plugin-sdk'
import { daemonErrors } from '../errors.ts'
import { isRunning } from '../state-file.ts'
import type { DaemonProject } from './daemon-project.ts'
import { inspectDaemon } from './inspect-daemon.ts'
import { describe, report } from './report.ts'

export interface StopInput {
  /** Time to wait, in milliseconds. */
  readonly wait: number
  readonly force: boolean
}

const STEP_MS = 50
/** Time limit for the end of a killed process, in milliseconds. */
const KILLED_MS = 10_000

/**
 * Signals the daemon to stop and waits for its end. Succeeds if none runs. Throws `DMN_STOP_TIMEOUT`, `DMN_NOT_HERE`.
 */
export async function daemonStop({ root }: DaemonProject, input: StopInput, io: CommandIo): Promise<number> {
  const found = await inspectDaemon(root)
  if (found.kind === 'stopped') {
    report(io, { status: 'stopped', stopped: false }, 'the daemon is not running')
    return 0
  }
  if (found.kind === 'stale') {
    await clear(root, found.state)
    report(io, { status: 'stopped', stopped: false }, 'the daemon had already ended; its file was removed')
    return 0
  }
  const { state } = found
  if (!isNear(state)) throw notHere(state)
  signal(state, 'SIGTERM')
  if (await hasEnded(state, input.wait, io.signal)) return done(io, state, false)
  if (io.signal.aborted) {
    if (!io.json) io.stderr.write(`process ${state.pid} continues to stop\n`)
    return 130
  }
  if (!input.force) throw late(state, input.wait)
  signal(state, 'SIGKILL')
  if (!(await hasEnded(state, KILLED_MS, io.signal))) throw late(state, KILLED_MS)
  await clear(root, state)
  return done(io, state, true)
}

/** True if the daemon runs on this machine and in this container, so that its process id is valid here. */
function isNear(state: DaemonState): boolean {
  if (daemonPresence(state) === 'alive') return true
  return state.process_start === null && (state.host === null || state.host === hostname())
}

function signal({ pid }: DaemonState, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

async function hasEnded(state: DaemonState, milliseconds: number, stop: AbortSignal): Promise<boolean> {
  const deadline = Date.now() + milliseconds
  for (;;) {
    if (daemonPresence(state) === 'dead') return true
    if (stop.aborted || Date.now() >= deadline) return false
    await delay(STEP_MS, undefined, { signal: stop }).catch(() => undefined)
  }
}

/** Removes the file of a dead daemon. Claims it first, so that it cannot belong to a new daemon. */
async function clear(root: string, state: DaemonState | null): Promise<void> {
  const path = daemonStatePath(root)
  const text = JSON.stringify({ stopping: ownIdentity() })
  const holder = await claim(path, text, async found => isAnother(found, state))
  if (holder !== null) return
  await release(path, text)
  // A daemon that is starting replaces its socket itself.
  if (state?.socket.startsWith('/') && !(await probeDaemon(state))) await unlink(state.socket).catch(() => undefined)
}

async function isAnother(text: string, left: DaemonState | null): Promise<boolean> {
  const state = parseDaemonState(text)
  return state !== null && state.pid !== left?.pid && isRunning(state)
}

function done(io: CommandIo, state: DaemonState, killed: boolean): number {
  const how = killed ? 'did not stop and was killed' : 'has stopped'
  report(io, { status: 'stopped', stopped: true, killed, pid: state.pid }, `the daemon ${how}: ${describe(state)}`)
  return 0
}

function late(state: DaemonState, milliseconds: number): Error {
  return daemonErrors.create('DMN_STOP_TIMEOUT', `process ${state.pid} did not end within ${milliseconds} ms`, {
    hint: 'it may be waiting for running calls, see svc daemon logs; svc daemon stop --force ends it'
  })
}

function notHere(state: DaemonState): Error {
  const where = state.host === hostname() ? 'in another container' : `on ${state.host ?? 'another machine'}`
  return daemonErrors.create('DMN_NOT_HERE', `the daemon of this repository runs ${where}: ${describe(state)}`, {
    hint: 'run svc daemon stop there'
  })
}
