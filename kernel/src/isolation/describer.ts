import { type ChildProcess, spawn } from 'node:child_process'
import { isBuiltin } from 'node:module'
import { availableParallelism } from 'node:os'
import { dirname } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { isDeepStrictEqual } from 'node:util'
import { isSvcError, type Permissions, type PluginManifest, parseStrictJson } from '@svc/plugin-sdk'
import { SHARED } from '../loader/bundle.ts'
import { loaderErrors } from '../loader/errors.ts'
import { validateManifest } from '../loader/manifest.ts'
import { type DescriberMessage, type DescriberReply, REPLY_DESCRIPTOR } from './describe-protocol.ts'
import { childEntry } from './entry.ts'
import { decodeError } from './remote-error.ts'
import { allowedEnvironment, packageFolders, permissionFlags } from './sandbox.ts'

export interface DescriberOptions {
  readonly projectRoot: string
  /** Time limit for a module body in milliseconds. */
  readonly timeoutMs: number
  /** Number of spare processes for the packages described last; default 0. */
  readonly spares?: number
  /** Receives the lines that plugins print. */
  readonly onOutput?: (plugin: string, line: string) => void
}

export interface DescribeRequest {
  /** Package folder. */
  readonly root: string
  /** Name of the plugin, as far as known. */
  readonly name: string
  readonly version: string
  /** CommonJS with an inline source map. */
  readonly text: string
  /** Permissions that `svc.toml` grants; null if there are none. */
  readonly grants: Permissions | null
  /** True if the plugin is described in one process with others, as those of the installation are. */
  readonly shared: boolean
}

const HEAP_MB = 256
const MAX_REPLY_BYTES = 4 * 1024 * 1024
const MAX_OUTPUT_BYTES = 64 * 1024
/** Time limit for the start of a process, which takes seconds on a busy machine. */
const START_TIMEOUT_MS = 60_000
/** Delay before a spare starts, so that it does not slow down the running change. */
const SPARE_DELAY_MS = 100
/** Number of lines of standard error that are searched for the error after a crash. */
const LAST_LINES = 100
/** Maximum number of descriptions before a process is replaced: evaluated code is never freed. */
const MAX_DESCRIPTIONS = 100

/** Process that waits for the next save of its package. */
interface Spare {
  /** Key of the package and its grants. */
  readonly key: string
  readonly child: Child
  /** Last manifest that the process returned; undefined for a new process. */
  readonly manifest: unknown
}

/**
 * Creates manifests of unbuilt plugins. Each module body runs in a sandboxed process that may only read its package: no
 * writes, processes, workers, addons or environment of the host, no network and no signals (see {@link confineNetwork}
 * and {@link confineProcess}).
 *
 * A process that described a package is kept for the next save, since most saves do not change the manifest. Its
 * manifest is used only if it equals the previous one. A changed manifest, or an error, always comes from a new
 * process, so that earlier code cannot have caused it.
 */
export class Describer {
  readonly #options: DescriberOptions
  /** Spare processes, least recently used first. */
  #spares: readonly Spare[] = []
  /** All processes that have not ended. */
  readonly #alive = new Set<Child>()
  readonly #slots = Array.from({ length: Math.max(2, availableParallelism()) }, () => Promise.resolve())
  #nextSlot = 0
  #shared: { readonly key: string; readonly child: Promise<Child>; tail: Promise<unknown> } | undefined
  #preparing: NodeJS.Timeout | undefined
  #closed = false

  constructor(options: DescriberOptions) {
    this.#options = options
  }

  /**
   * Runs the module body and returns the manifest. Throws `LDR_DESCRIBE_TIMEOUT`, `LDR_DESCRIBE_CRASHED`,
   * `LDR_DESCRIBE_REFUSED`, `LDR_EVALUATE_FAILED`, `LDR_NOT_A_PLUGIN` or `LDR_MANIFEST_INVALID`.
   */
  async describe(request: DescribeRequest): Promise<PluginManifest> {
    const isShared = request.shared && !this.#spares.some(({ key }) => key === keyOf(request))
    try {
      return validateManifest(
        await (isShared ? this.#inShared(request) : this.#inSeparateProcess(request)),
        request.root
      )
    } finally {
      this.#prepareLater(request)
    }
  }

  /** Ends the shared process. The next description of a shared plugin starts another. */
  endShared(): void {
    void this.#shared?.child.then(
      child => child.kill(),
      () => {}
    )
    this.#shared = undefined
  }

  /** Ends all processes and waits for their end. Running descriptions fail. */
  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#preparing)
    this.#shared = undefined
    this.#spares = []
    await Promise.all([...this.#alive].map(child => child.kill()))
  }

  async #inSeparateProcess(request: DescribeRequest): Promise<unknown> {
    const key = keyOf(request)
    const used = this.#take(key, spare => !isNew(spare))
    if (used !== undefined && (await this.#isUnchanged(used, request))) return used.manifest
    const spare = this.#take(key, () => true)
    if (spare !== undefined) return this.#describeFirst(spare.child, request)
    const slot = this.#nextSlot++ % this.#slots.length
    const described = (this.#slots[slot] as Promise<void>).then(async () =>
      this.#describeFirst(await this.#start(request), request)
    )
    this.#slots[slot] = described.then(
      () => {},
      () => {}
    )
    return described
  }

  /** True if a used process returns the same manifest as before. Throws `LDR_DESCRIBE_TIMEOUT`. */
  async #isUnchanged({ key, child, manifest }: Spare, request: DescribeRequest): Promise<boolean> {
    try {
      // The process may still be busy with work of an earlier module body.
      const startMs = this.#options.timeoutMs
      const isSame = isDeepStrictEqual(await this.#request(child, request, startMs), manifest)
      if (isSame) this.#keep({ key, child, manifest })
      else void child.kill()
      return isSame
    } catch (error) {
      // The module body would also time out in a new process.
      if (isSvcError(error) && error.code === 'LDR_DESCRIBE_TIMEOUT' && child.hasBegun) throw error
      return false
    }
  }

  async #describeFirst(child: Child, request: DescribeRequest): Promise<unknown> {
    const manifest = await this.#request(child, request, START_TIMEOUT_MS)
    this.#keep({ key: keyOf(request), child, manifest })
    return manifest
  }

  async #request(child: Child, request: DescribeRequest, startMs: number): Promise<unknown> {
    try {
      return await child.describe(request, startMs, this.#options.timeoutMs)
    } catch (error) {
      void child.kill()
      throw error
    }
  }

  #take(key: string, fits: (spare: Spare) => boolean): Spare | undefined {
    const alive = this.#spares.filter(({ child }) => !child.ended)
    const match = alive.find(spare => spare.key === key && fits(spare))
    this.#spares = alive.filter(spare => spare !== match)
    return match
  }

  /** Keeps a process as a spare. Above the limit, evicts new processes first, then the least recently used. */
  #keep(kept: Spare): void {
    kept.child.idle()
    if (this.#closed || kept.child.descriptions >= MAX_DESCRIPTIONS) {
      void kept.child.kill()
      return
    }
    const all = [...this.#spares, kept]
    const byPriority = [...all.filter(isNew), ...all.filter(spare => !isNew(spare))]
    const dropped = byPriority.slice(0, Math.max(0, all.length - (this.#options.spares ?? 0)))
    for (const { child } of dropped) void child.kill()
    this.#spares = all.filter(spare => !dropped.includes(spare))
  }

  async #inShared(request: DescribeRequest): Promise<unknown> {
    const key = JSON.stringify(request.grants)
    // Plugins with other grants do not share the process.
    if (this.#shared !== undefined && this.#shared.key !== key) return this.#inSeparateProcess(request)
    const shared = (this.#shared ??= { key, child: this.#start(request), tail: Promise.resolve() })
    const described = shared.tail.then(async () => {
      const child = await shared.child
      // Code of an earlier plugin may have ended the process.
      return child.ended
        ? this.#inSeparateProcess(request)
        : child.describe(request, START_TIMEOUT_MS, this.#options.timeoutMs)
    })
    shared.tail = described.catch(() => {})
    return described
  }

  /** Starts a spare process for the next changed manifest, after a pause in saving. */
  #prepareLater(request: DescribeRequest): void {
    const { spares = 0 } = this.#options
    if (spares === 0 || this.#closed) return
    clearTimeout(this.#preparing)
    this.#preparing = setTimeout(() => void this.#prepare(request, spares), SPARE_DELAY_MS).unref()
  }

  async #prepare(request: DescribeRequest, spares: number): Promise<void> {
    const key = keyOf(request)
    const isReady = this.#spares.some(spare => spare.key === key && isNew(spare))
    if (isReady || this.#spares.filter(spare => !isNew(spare)).length >= spares) return
    try {
      const child = await this.#start(request)
      this.#keep({ key, child, manifest: undefined })
      child.warm(request.root, packagesIn(request.text))
    } catch {
      // The next description starts another process and reports the error.
    }
  }

  async #start({ root, grants, name, shared }: DescribeRequest): Promise<Child> {
    const entry = await childEntry('describe-child')
    const permissions = grants ?? {}
    const flags = permissionFlags({
      kind: 'process',
      permissions,
      projectRoot: this.#options.projectRoot,
      // Plugins that share a process are in one folder. Their packages are next to it.
      readable: [...entry.readable, ...packageFolders(root), ...(shared ? [dirname(dirname(root))] : [])],
      dataDirectory: null
    })
    if (this.#closed) throw new Error('the describer is closed')
    const child = new Child(
      spawn(process.execPath, [...flags, `--max-old-space-size=${HEAP_MB}`, entry.file], {
        cwd: root,
        env: allowedEnvironment(permissions),
        stdio: ['pipe', 'pipe', 'pipe', 'pipe']
      }),
      line => this.#options.onOutput?.(name, line)
    )
    this.#alive.add(child)
    void child.exited.then(() => this.#alive.delete(child))
    return child
  }
}

function keyOf({ root, grants }: DescribeRequest): string {
  return JSON.stringify([root, grants])
}

function isNew({ manifest }: Spare): boolean {
  return manifest === undefined
}

/** Returns the packages that the code requires at load time, without those that the host shares. */
function packagesIn(text: string): string[] {
  const shared: readonly string[] = SHARED
  const found = [...text.matchAll(/\brequire\("([^".][^"]*)"\)/g)].map(([, specifier = '']) => specifier)
  return [...new Set(found)].filter(specifier => !isBuiltin(specifier) && !shared.includes(specifier))
}

/** First line of an error as Node or V8 prints it. */
const ERROR_LINE = /^(?:\[?[\w$.]*(?:Error|Exception)\b|FATAL ERROR:|# (?:Fatal|Check failed)|\S+: .*Assertion )/
/** Lines that Node prints around an error: frames, the version, the position in the source. */
const NOISE = /^\s*(?:at |\d+: 0x|\^|-{3,}|<---|Node\.js v|\(Use `node|\[\d+:0x)/

/** Returns the line of a process's standard error that says why it ended. */
function errorLineOf(lines: readonly string[]): string | undefined {
  return lines.findLast(line => ERROR_LINE.test(line)) ?? lines.findLast(line => !NOISE.test(line))
}

interface PendingDescription {
  readonly request: DescribeRequest
  resolve(manifest: unknown): void
  reject(error: Error): void
  timer: NodeJS.Timeout
  timeoutMs: number
}

/** Process that creates manifests. */
class Child {
  readonly #process: ChildProcess
  readonly #onLine: (line: string) => void
  readonly #waiting = new Map<number, PendingDescription>()
  #received: Buffer[] = []
  #receivedBytes = 0
  #outputBytes = 0
  /** Last lines of standard error. */
  readonly #lastErrors: string[] = []
  ended = false
  /** Settles when the process has ended and its streams are closed. */
  readonly exited: Promise<void>
  /** Number of received requests. */
  descriptions = 0
  /** True if the process began the last request. */
  hasBegun = false

  constructor(child: ChildProcess, onLine: (line: string) => void) {
    this.#process = child
    this.#onLine = onLine
    // Without free file descriptors, the child has no streams, and reports `error`.
    const replies = (child.stdio ?? [])[REPLY_DESCRIPTOR] as Readable | undefined
    replies?.on('data', (chunk: Buffer) => this.#receive(chunk)).on('error', () => {})
    child.stdin?.on('error', () => {})
    child.stdout?.on('data', (chunk: Buffer) => this.#print(chunk, []))
    child.stderr?.on('data', (chunk: Buffer) => this.#print(chunk, this.#lastErrors))
    this.exited = new Promise(resolve => {
      child.once('error', error => {
        this.#end(error.message)
        // A process that failed to start emits no `close` event.
        if (child.pid === undefined) resolve()
      })
      // Replies that were written before the end are read first.
      child.once('close', (code, signal) => {
        this.ended = true
        setImmediate(() =>
          setImmediate(() => {
            this.#end(signal === null ? `exit code ${code}` : `signal ${signal}`)
            resolve()
          })
        )
      })
    })
  }

  /** Requests a manifest. `startMs`: time limit until the module body starts; `timeoutMs`: until it ends. */
  describe(request: DescribeRequest, startMs: number, timeoutMs: number): Promise<unknown> {
    const { name, root, version, text } = request
    const id = (this.descriptions += 1)
    this.hasBegun = false
    this.#hold(true)
    this.#outputBytes = 0
    const manifest = new Promise<unknown>((resolve, reject) => {
      const timer = setTimeout(() => this.#timeOut(id, startMs), startMs)
      this.#waiting.set(id, { request, resolve, reject, timer, timeoutMs })
    })
    if (this.ended) this.#end('the process had already ended')
    else this.#post({ type: 'describe', id, name, root, version, text, timeoutMs })
    return manifest
  }

  warm(root: string, specifiers: readonly string[]): void {
    if (specifiers.length > 0) this.#post({ type: 'warm', root, specifiers })
  }

  /** Allows the host to end without waiting for this process. */
  idle(): void {
    this.#hold(false)
  }

  kill(): Promise<void> {
    // The process may still run briefly, but receives no further requests.
    this.ended = true
    this.#hold(true)
    this.#process.kill('SIGKILL')
    return this.exited
  }

  #hold(held: boolean): void {
    const streams = [...(this.#process.stdio ?? []), this.#process] as ({ ref?(): void; unref?(): void } | null)[]
    for (const each of streams) {
      if (held) each?.ref?.()
      else each?.unref?.()
    }
  }

  #post(message: DescriberMessage): void {
    const { stdin } = this.#process as { stdin?: Writable }
    stdin?.write(`${JSON.stringify(message)}\n`)
  }

  #receive(chunk: Buffer): void {
    this.#receivedBytes += chunk.length
    if (this.#receivedBytes > MAX_REPLY_BYTES) {
      void this.kill()
      this.#failAll(({ name, root }) =>
        loaderErrors.create('LDR_MANIFEST_INVALID', `${name}: the manifest is larger than the limit of 4 MiB`, {
          plugin: name,
          at: { file: root },
          hint: 'declare less in definePlugin'
        })
      )
      return
    }
    const end = chunk.indexOf(10)
    if (end === -1) {
      this.#received.push(chunk)
      return
    }
    const line = Buffer.concat([...this.#received, chunk.subarray(0, end)]).toString()
    this.#received = []
    this.#receivedBytes = 0
    // Settled after the next poll for input: output of the module body was written first, but may be read only then.
    setImmediate(() => setImmediate(() => this.#settle(line)))
    if (end + 1 < chunk.length) this.#receive(chunk.subarray(end + 1))
  }

  #settle(line: string): void {
    let reply: DescriberReply
    try {
      reply = parseStrictJson(line) as DescriberReply
      const waiting = 'id' in reply ? this.#waiting.get(reply.id) : undefined
      if (reply.type === 'ready' || waiting === undefined) return
      clearTimeout(waiting.timer)
      if (reply.type === 'begun') {
        const { id } = reply
        this.hasBegun = true
        waiting.timer = setTimeout(() => this.#timeOut(id, waiting.timeoutMs), waiting.timeoutMs)
        return
      }
      this.#waiting.delete(reply.id)
      if (reply.type === 'manifest') waiting.resolve(reply.manifest)
      else waiting.reject(decodeError(reply.error))
    } catch {
      void this.kill()
      this.#end('its reply is not valid JSON')
    }
  }

  #print(chunk: Buffer, last: string[]): void {
    this.#outputBytes += chunk.length
    if (this.#outputBytes > MAX_OUTPUT_BYTES) return
    for (const line of chunk.toString().split('\n')) {
      if (line.trim() === '') continue
      last.splice(0, last.push(line) - LAST_LINES)
      this.#onLine(line)
    }
  }

  #timeOut(id: number, limitMs: number): void {
    const waiting = this.#waiting.get(id)
    void this.kill()
    if (waiting === undefined) return
    this.#waiting.delete(id)
    const { name, root } = waiting.request
    waiting.reject(
      loaderErrors.create('LDR_DESCRIBE_TIMEOUT', `${name}: the module body did not finish within ${limitMs} ms`, {
        plugin: name,
        at: { file: root },
        hint: 'move long work into activate, or raise kernel.describe_timeout_ms'
      })
    )
  }

  #end(how: string): void {
    this.ended = true
    const line = errorLineOf(this.#lastErrors)
    const output = line === undefined ? '' : `: ${line.slice(0, 200)}`
    this.#failAll(({ name, root }) =>
      loaderErrors.create('LDR_DESCRIBE_CRASHED', `${name}: the module body ended its process (${how})${output}`, {
        plugin: name,
        at: { file: root },
        hint: 'only declare the plugin in the module body; move other code into activate'
      })
    )
  }

  #failAll(error: (request: DescribeRequest) => Error): void {
    this.ended = true
    for (const { request, reject, timer } of this.#waiting.values()) {
      clearTimeout(timer)
      reject(error(request))
    }
    this.#waiting.clear()
  }
}
