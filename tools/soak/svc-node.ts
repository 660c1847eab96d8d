import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { HttpClient } from './http-client.ts'
import type { NodeName } from './ledger.ts'

export const SVC = fileURLToPath(new URL('../../kernel/bin/svc.cjs', import.meta.url))
const READY_MS = 600_000

export interface Ports {
  readonly http: number
  readonly daemon: number
  readonly model: number
  readonly app: number
  readonly mesh: number
}

export interface LogLine {
  readonly time: number
  readonly level: number
  readonly plugin: string
  readonly code: string
  readonly text: string
  /** Listener of a logged request. */
  readonly listener: string
}

/** Time from the start of a process to its end. */
export interface Lifetime {
  readonly pid: number
  readonly from: number
  readyAt: number
  to: number | null
  how: string | null
}

export interface NodeParts {
  readonly name: NodeName
  readonly folder: string
  readonly ports: Ports
  readonly env: Readonly<Record<string, string>>
  /** File that gets the standard output and the standard error. */
  readonly logFile: string
  readonly onLine: (line: LogLine | null, raw: string) => void
}

/** A process of `svc serve` in a folder, which is killed and started again. */
export class SvcNode {
  readonly name: NodeName
  readonly folder: string
  readonly ports: Ports
  readonly client = new HttpClient()
  readonly lifetimes: Lifetime[] = []
  /** True while the process is to run: its end is then a crash. */
  isWanted = false
  onCrash: (how: string) => void = () => {}
  readonly #parts: NodeParts
  #child: ChildProcess | null = null
  #ended: Promise<string> = Promise.resolve('')

  constructor(parts: NodeParts) {
    this.#parts = parts
    this.name = parts.name
    this.folder = parts.folder
    this.ports = parts.ports
  }

  get http(): string {
    return `http://127.0.0.1:${this.ports.http}`
  }

  get app(): string {
    return `http://127.0.0.1:${this.ports.app}`
  }

  get model(): string {
    return `http://127.0.0.1:${this.ports.model}`
  }

  get pid(): number | null {
    return this.#child?.pid ?? null
  }

  get env(): NodeJS.ProcessEnv {
    return { PATH: process.env.PATH, HOME: process.env.HOME, ...this.#parts.env }
  }

  /** Starts the process. Resolves once `/ready` returns 200. */
  async start(): Promise<void> {
    const argv = [SVC, 'serve', '--json']
    // In a new session, as services run: Linux shares the CPU between sessions.
    const child = spawn(process.execPath, argv, {
      cwd: this.folder,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: this.env,
      detached: true
    })
    const lifetime: Lifetime = { pid: child.pid as number, from: Date.now(), readyAt: 0, to: null, how: null }
    this.lifetimes.push(lifetime)
    this.#child = child
    this.isWanted = true
    for (const stream of [child.stdout, child.stderr])
      createInterface({ input: stream as NodeJS.ReadableStream }).on('line', line => this.#read(line))
    this.#ended = once(child, 'exit').then(([code, signal]) => {
      const how = String(code ?? signal)
      lifetime.to = Date.now()
      lifetime.how = how
      this.#child = null
      if (this.isWanted) this.onCrash(how)
      return how
    })
    await this.ready(lifetime)
  }

  async ready(lifetime = this.lifetimes.at(-1)): Promise<void> {
    const until = Date.now() + READY_MS
    let last = ''
    while (Date.now() < until) {
      try {
        const { status, text } = await this.client.request(`${this.http}/ready`, { expect: [503] })
        if (status === 200) {
          if (lifetime !== undefined && lifetime.readyAt === 0) lifetime.readyAt = Date.now()
          return
        }
        last = text
      } catch (error) {
        last = String(error)
      }
      await sleep(250)
    }
    throw new Error(`node ${this.name} was not ready after ${READY_MS} ms: ${last}`)
  }

  /** Sends a signal and resolves with the exit code or the signal that ended the process. */
  async end(signal: NodeJS.Signals): Promise<string> {
    this.isWanted = false
    this.#child?.kill(signal)
    return this.#ended
  }

  /** Returns the token of the daemon. */
  daemonToken(): string {
    return JSON.parse(readFileSync(join(this.folder, '.vox', 'daemon.json'), 'utf8')).token
  }

  #read(raw: string): void {
    appendFileSync(this.#parts.logFile, `${raw}\n`)
    let line: LogLine | null = null
    try {
      const { time, level, plugin = '', code = '', msg = '', listener = '' } = JSON.parse(raw)
      line = { time: Date.parse(time), level, plugin, code, text: msg, listener }
    } catch {
      // Not a line of the log.
    }
    this.#parts.onLine(line, raw)
  }
}
