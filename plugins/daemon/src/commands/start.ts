import { closeSync, openSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type DaemonState, ownIdentity, type ProcessIdentity, presenceOf } from '@svc/contracts'
import { claim, release } from '@svc/contracts/claim-file'
import type { CommandIo, DetachedProcess, ServeInstead } from '@svc/plugin-sdk'
import { makePrivateFolder } from '@svc/plugin-sdk/folders'
import { parseAddress, SOCKET_SETTING } from '../address.ts'
import { daemonErrors } from '../errors.ts'
import { logPath, rotate } from '../log-file.ts'
import type { DaemonProject } from './daemon-project.ts'
import { inspectDaemon } from './inspect-daemon.ts'
import { loggedErrors } from './logged-errors.ts'
import { describe, report } from './report.ts'

export interface StartInput {
  /** Time to wait, in milliseconds. */
  readonly wait: number
  readonly foreground: boolean
  readonly only: readonly string[]
}

/** Poll interval in milliseconds. */
const STEP_MS = 50
/** Number of bytes to show of the log if the daemon fails to start. */
const LOG_TAIL_BYTES = 4_000
/** Setting that ends the process if another one becomes the daemon first. */
const ABORT = { 'plugins.daemon.on_boot_failure': 'abort' } as const

/**
 * Starts the daemon unless it runs, and waits until it responds. If several processes call this concurrently, one
 * starts the daemon and all wait.
 */
export async function daemonStart(
  project: DaemonProject,
  input: StartInput,
  io: CommandIo
): Promise<number | ServeInstead> {
  if (parseAddress(project.socket).kind === 'stdio') throw withoutPeer()
  const { root } = project
  if (input.foreground) {
    const found = await inspectDaemon(root)
    return found.kind === 'running' ? reportRunning(io, found.state, false) : { only: pluginsOf(input), set: ABORT }
  }
  const deadline = Date.now() + input.wait
  const lock = new StartLock(join(root, '.vox', 'daemon.start'))
  let launched: Launched | null = null
  try {
    for (;;) {
      const found = await inspectDaemon(root)
      if (found.kind === 'running') {
        if (found.state.pid !== launched?.process.pid) return reportRunning(io, found.state, false)
        return reportRunning(
          io,
          found.state,
          true,
          loggedErrors(readFileSync(logPath(root)).subarray(launched.before).toString())
        )
      }
      if (launched !== null && launched.process.ending() !== null) {
        // If the daemon is `silent`, another process won the race and is starting it.
        if (found.kind !== 'silent') throw failed(project, launched)
        launched = null
      }
      if (launched === null && found.kind !== 'silent' && (await lock.acquire())) launched = launch(project, input, io)
      if (io.signal.aborted) return interrupted(io, launched)
      if (Date.now() >= deadline) return late(io, input, launched, found.kind === 'silent' ? found.state : null)
      await delay(STEP_MS, undefined, { signal: io.signal }).catch(() => undefined)
    }
  } finally {
    await lock.release()
  }
}

/** Lock for starting the daemon. */
class StartLock {
  readonly #path: string
  readonly #text = JSON.stringify(ownIdentity())
  #held = false

  constructor(path: string) {
    this.#path = path
  }

  async acquire(): Promise<boolean> {
    this.#held = (await claim(this.#path, this.#text, lives)) === null
    return this.#held
  }

  async release(): Promise<void> {
    if (this.#held) await release(this.#path, this.#text)
  }
}

async function lives(text: string): Promise<boolean> {
  try {
    return presenceOf(JSON.parse(text) as ProcessIdentity) === 'alive'
  } catch {
    return false
  }
}

interface Launched {
  readonly process: DetachedProcess
  /** Size of the log before the start, in bytes. */
  readonly before: number
}

function launch({ root, logMaxBytes, logFiles }: DaemonProject, input: StartInput, { detach }: CommandIo): Launched {
  if (detach === undefined) throw daemonErrors.create('DMN_START_FAILED', 'only the program svc can start a daemon')
  const path = logPath(root)
  makePrivateFolder(join(root, '.vox'))
  const log = openSync(path, 'a', 0o600)
  try {
    rotate(path, logMaxBytes, logFiles)
    const before = statSync(path).size
    const only = pluginsOf(input)
    const set = Object.entries(ABORT).flatMap(([key, value]) => ['--set', `${key}=${JSON.stringify(value)}`])
    return { process: detach(['serve', ...(only.length === 0 ? [] : ['--only', only.join(',')]), ...set], log), before }
  } finally {
    closeSync(log)
  }
}

function pluginsOf({ only }: StartInput): string[] {
  return only.length === 0 || only.includes('daemon') ? [...only] : [...only, 'daemon']
}

/** Reports a running daemon, with errors that it logged while starting, such as a plugin with invalid settings. */
function reportRunning(io: CommandIo, state: DaemonState, started: boolean, problems: readonly string[] = []): number {
  const { pid, socket, repository_id } = state
  report(
    io,
    { status: 'running', started, pid, socket, repository_id, ...(problems.length === 0 ? {} : { problems }) },
    `the daemon ${started ? 'is now running' : 'is already running'}: ${describe(state)}`
  )
  if (!io.json) {
    for (const problem of problems) io.stderr.write(`warning: ${problem}\n`)
    if (problems.length > 0) io.stderr.write('  hint: see svc daemon logs and svc plugins list\n')
  }
  return 0
}

/** Reports that the daemon continues to start after Ctrl-C. Returns the exit code. */
function interrupted(io: CommandIo, launched: Launched | null): number {
  if (launched !== null && !io.json) {
    io.stderr.write(
      `the daemon continues to start as process ${launched.process.pid}; svc daemon status shows its state\n`
    )
  }
  return 130
}

function late(io: CommandIo, { wait }: StartInput, launched: Launched | null, silent: DaemonState | null): number {
  const pid = launched?.process.pid ?? silent?.pid
  if (wait > 0) {
    const starter = pid === undefined ? 'another svc daemon start' : `process ${pid}`
    throw daemonErrors.create('DMN_START_TIMEOUT', `the daemon did not respond within ${wait} ms: ${starter}`, {
      hint: 'see svc daemon logs; svc daemon stop --force ends it'
    })
  }
  report(io, { status: 'starting', pid }, `the daemon is starting as process ${pid}; check it with svc daemon status`)
  return 0
}

function failed({ root }: DaemonProject, { process, before }: Launched): Error {
  const path = logPath(root)
  const tail = readFileSync(path).subarray(before).subarray(-LOG_TAIL_BYTES).toString('utf8').trimEnd()
  return daemonErrors.create(
    'DMN_START_FAILED',
    `the daemon ended before it was ready (${process.ending()})\n${tail}`,
    {
      hint: `the whole log is in ${path}; svc daemon start --foreground prints it here`
    }
  )
}

function withoutPeer(): Error {
  return daemonErrors.create(
    'DMN_SOCKET_INVALID',
    `${SOCKET_SETTING} is stdio, but a background daemon has no standard streams`,
    { hint: 'use svc serve for stdio, or set an address such as 127.0.0.1:9745' }
  )
}
