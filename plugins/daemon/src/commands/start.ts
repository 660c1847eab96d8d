import { closeSync, openSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type DaemonState, ownIdentity, type ProcessIdentity, presenceOf } from '@svc/contracts'
import type { CommandIo, DetachedProcess, ServeInstead } from '@svc/plugin-sdk'
import { makeFolder } from '@svc/plugin-sdk/folders'
import { parseAddress, SOCKET_SETTING } from '../address.ts'
import { claim, release } from '../claim.ts'
import { daemonErrors } from '../errors.ts'
import { logPath, rotate } from '../log-file.ts'
import { complaintsOf } from './complaints.ts'
import type { DaemonProject } from './daemon-project.ts'
import { look } from './look.ts'
import { describe, report } from './report.ts'

export interface StartInput {
  /** Milliseconds. */
  readonly wait: number
  readonly foreground: boolean
  readonly only: readonly string[]
}

/** Poll interval in milliseconds. */
const STEP_MS = 50
/** Bytes shown of the log of a daemon that did not start. */
const LAST_WORDS = 4_000
/** A process that loses the race for the repository ends: it has no other purpose. */
const ABORT = { 'plugins.daemon.on_boot_failure': 'abort' } as const

/**
 * Starts the daemon unless it runs, and waits until it answers. Of concurrent starters, one starts it and all wait.
 */
export async function daemonStart(
  place: DaemonProject,
  input: StartInput,
  io: CommandIo
): Promise<number | ServeInstead> {
  if (parseAddress(place.socket).kind === 'stdio') throw withoutPeer()
  const { root } = place
  if (input.foreground) {
    const found = await look(root)
    return found.kind === 'running' ? told(io, found.state, false) : { only: pluginsOf(input), set: ABORT }
  }
  const deadline = Date.now() + input.wait
  const turn = new StartLock(join(root, '.vox', 'daemon.start'))
  let launched: Launched | null = null
  try {
    for (;;) {
      const found = await look(root)
      if (found.kind === 'running') {
        if (found.state.pid !== launched?.process.pid) return told(io, found.state, false)
        return told(
          io,
          found.state,
          true,
          complaintsOf(readFileSync(logPath(root)).subarray(launched.before).toString())
        )
      }
      if (launched !== null && launched.process.ending() !== null) {
        // Another process was faster, and is starting it.
        if (found.kind !== 'silent') throw failed(place, launched)
        launched = null
      }
      if (launched === null && found.kind !== 'silent' && (await turn.take())) launched = launch(place, input, io)
      if (io.signal.aborted) return leave(io, launched)
      if (Date.now() >= deadline) return late(io, input, launched, found.kind === 'silent' ? found.state : null)
      await delay(STEP_MS, undefined, { signal: io.signal }).catch(() => undefined)
    }
  } finally {
    await turn.give()
  }
}

/** The lock for starting the daemon. */
class StartLock {
  readonly #path: string
  readonly #text = JSON.stringify(ownIdentity())
  #taken = false

  constructor(path: string) {
    this.#path = path
  }

  async take(): Promise<boolean> {
    this.#taken = (await claim(this.#path, this.#text, lives)) === null
    return this.#taken
  }

  async give(): Promise<void> {
    if (this.#taken) await release(this.#path, this.#text)
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
  /** Size of the log before the start. */
  readonly before: number
}

function launch({ root, logMaxBytes, logFiles }: DaemonProject, input: StartInput, { detach }: CommandIo): Launched {
  if (detach === undefined) throw daemonErrors.create('DMN_START_FAILED', 'only the program svc can start a daemon')
  const path = logPath(root)
  makeFolder(join(root, '.vox'))
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

/** With the plugins that failed to start, for example because of wrong settings. */
function told(io: CommandIo, state: DaemonState, started: boolean, problems: readonly string[] = []): number {
  const { pid, socket, repository_id } = state
  report(
    io,
    { status: 'running', started, pid, socket, repository_id, ...(problems.length === 0 ? {} : { problems }) },
    `the daemon ${started ? 'has been started' : 'runs already'}: ${describe(state)}`
  )
  if (!io.json) {
    for (const problem of problems) io.stderr.write(`warning: ${problem}\n`)
    if (problems.length > 0) io.stderr.write('  hint: svc daemon logs, and svc plugins list\n')
  }
  return 0
}

/** After Ctrl-C. */
function leave(io: CommandIo, launched: Launched | null): number {
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
    const who = pid === undefined ? 'another svc daemon start' : `process ${pid}`
    throw daemonErrors.create('DMN_START_TIMEOUT', `the daemon does not answer after ${wait} ms: ${who}`, {
      hint: 'svc daemon logs shows what it does; svc daemon stop --force ends it'
    })
  }
  report(
    io,
    { status: 'starting', pid },
    `the daemon starts as process ${pid}; svc daemon status shows when it answers`
  )
  return 0
}

function failed({ root }: DaemonProject, { process, before }: Launched): Error {
  const path = logPath(root)
  const words = readFileSync(path).subarray(before).subarray(-LAST_WORDS).toString('utf8').trimEnd()
  return daemonErrors.create(
    'DMN_START_FAILED',
    `the daemon ended before it answered (${process.ending()})\n${words}`,
    {
      hint: `all of it is in ${path}; svc daemon start --foreground shows it here`
    }
  )
}

function withoutPeer(): Error {
  return daemonErrors.create(
    'DMN_SOCKET_INVALID',
    `${SOCKET_SETTING} is the standard streams; a daemon in the background has none`,
    { hint: 'use svc serve for the standard streams, or set an address such as 127.0.0.1:9745' }
  )
}
