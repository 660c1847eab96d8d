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
import { ANSWER_DESCRIPTOR, type DescriberReply, type Question } from './describe-protocol.ts'
import { childEntry } from './entry.ts'
import { decodeError } from './remote-error.ts'
import { allowedEnvironment, packageFolders, permissionFlags } from './sandbox.ts'

export interface DescriberOptions {
  readonly projectRoot: string
  /** Time limit for a module body; milliseconds. */
  readonly timeoutMs: number
  /** Spare processes for the packages that were described last; default 0. */
  readonly spares?: number
  /** Receives what plugins print. */
  readonly onOutput?: (plugin: string, line: string) => void
}

export interface DescribeRequest {
  /** Package folder. */
  readonly root: string
  /** The plugin's name, if known. */
  readonly name: string
  readonly version: string
  /** CommonJS with an inline source map. */
  readonly text: string
  /** Permissions that `svc.toml` grants; null for none. */
  readonly grants: Permissions | null
  /** Whether it shares one process with other plugins, like those of the installation. */
  readonly shared: boolean
}

const HEAP_MB = 256
const MAX_ANSWER_BYTES = 4 * 1024 * 1024
const MAX_OUTPUT_BYTES = 64 * 1024
/** For a process to start; a busy machine takes seconds. */
const START_TIMEOUT_MS = 60_000
/** Delay before a spare starts, so that it does not slow down the running change. */
const SPARE_DELAY_MS = 100
/** Evaluated code stays in the memory of its process. */
const MAX_DESCRIPTIONS = 100

/** A process that waits for the next save of its package. */
interface Spare {
  /** The package and its grants. */
  readonly key: string
  readonly child: Child
  /** Last answer of the process; undefined for a new process. */
  readonly manifest: unknown
}

/**
 * Creates manifests of unbuilt plugins. Each module body runs in a process that may only read its package: no writes,
 * no processes, no workers, no addons and no environment of the host. Node 20 does not confine the network.
 *
 * A process that described a package is kept for the next save of it, since most saves declare the same. Its answer counts
 * only if it equals the answer before. A changed manifest and an error always come from a new process, so that code which
 * ran earlier cannot cause them.
 */
export class Describer {
  readonly #options: DescriberOptions
  /** Least recently used first. */
  #spares: readonly Spare[] = []
  /** Every process that has not ended. */
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
      return validateManifest(await (isShared ? this.#inShared(request) : this.#inOwn(request)), request.root)
    } finally {
      this.#prepareLater(request)
    }
  }

  /** Ends the process that plugins share; the next description starts another. */
  rest(): void {
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

  async #inOwn(request: DescribeRequest): Promise<unknown> {
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

  /** Whether a used process answers as before. Throws `LDR_DESCRIBE_TIMEOUT` when the module body does not end. */
  async #isUnchanged({ key, child, manifest }: Spare, request: DescribeRequest): Promise<boolean> {
    try {
      // It may still be busy with work of an earlier module body.
      const startMs = this.#options.timeoutMs
      const isSame = isDeepStrictEqual(await this.#ask(child, request, startMs), manifest)
      if (isSame) this.#keep({ key, child, manifest })
      else void child.kill()
      return isSame
    } catch (error) {
      // A new process would take as long.
      if (isSvcError(error) && error.code === 'LDR_DESCRIBE_TIMEOUT' && child.hasBegun) throw error
      return false
    }
  }

  async #describeFirst(child: Child, request: DescribeRequest): Promise<unknown> {
    const manifest = await this.#ask(child, request, START_TIMEOUT_MS)
    this.#keep({ key: keyOf(request), child, manifest })
    return manifest
  }

  async #ask(child: Child, request: DescribeRequest, startMs: number): Promise<unknown> {
    try {
      return await child.describe(request, startMs, this.#options.timeoutMs)
    } catch (error) {
      void child.kill()
      throw error
    }
  }

  #take(key: string, fits: (spare: Spare) => boolean): Spare | undefined {
    const alive = this.#spares.filter(({ child }) => !child.ended)
    const taken = alive.find(spare => spare.key === key && fits(spare))
    this.#spares = alive.filter(spare => spare !== taken)
    return taken
  }

  /** Keeps a process while there is room. Evicts new ones first, then the least recently used. */
  #keep(kept: Spare): void {
    kept.child.idle()
    if (this.#closed || kept.child.descriptions >= MAX_DESCRIPTIONS) {
      void kept.child.kill()
      return
    }
    const all = [...this.#spares, kept]
    const byWorth = [...all.filter(isNew), ...all.filter(spare => !isNew(spare))]
    const dropped = byWorth.slice(0, Math.max(0, all.length - (this.#options.spares ?? 0)))
    for (const { child } of dropped) void child.kill()
    this.#spares = all.filter(spare => !dropped.includes(spare))
  }

  async #inShared(request: DescribeRequest): Promise<unknown> {
    const key = JSON.stringify(request.grants)
    // Grants for one plugin do not apply to the others.
    if (this.#shared !== undefined && this.#shared.key !== key) return this.#inOwn(request)
    const shared = (this.#shared ??= { key, child: this.#start(request), tail: Promise.resolve() })
    const described = shared.tail.then(async () => {
      const child = await shared.child
      // An earlier plugin may have ended the process.
      return child.ended ? this.#inOwn(request) : child.describe(request, START_TIMEOUT_MS, this.#options.timeoutMs)
    })
    shared.tail = described.catch(() => {})
    return described
  }

  /** Starts a process for the next change of the manifest, once saving pauses. */
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
      // Plugins that share a process are in one folder, with their packages next to it.
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
    void child.gone.then(() => this.#alive.delete(child))
    return child
  }
}

function keyOf({ root, grants }: DescribeRequest): string {
  return JSON.stringify([root, grants])
}

function isNew({ manifest }: Spare): boolean {
  return manifest === undefined
}

/** Packages that the code requires at its start. Packages shared by the host are part of the describer. */
function packagesIn(text: string): string[] {
  const shared: readonly string[] = SHARED
  const found = [...text.matchAll(/\brequire\("([^".][^"]*)"\)/g)].map(([, specifier = '']) => specifier)
  return [...new Set(found)].filter(specifier => !isBuiltin(specifier) && !shared.includes(specifier))
}

interface PendingDescription {
  readonly request: DescribeRequest
  resolve(manifest: unknown): void
  reject(error: Error): void
  timer: NodeJS.Timeout
  timeoutMs: number
}

/** One process that creates manifests. */
class Child {
  readonly #process: ChildProcess
  readonly #onLine: (line: string) => void
  readonly #waiting = new Map<number, PendingDescription>()
  #received: Buffer[] = []
  #receivedBytes = 0
  #outputBytes = 0
  #lastLine = ''
  ended = false
  /** Settles when the process has ended and its streams are closed. */
  readonly gone: Promise<void>
  /** Number of received requests. */
  descriptions = 0
  /** Whether it accepted the last request. */
  hasBegun = false

  constructor(child: ChildProcess, onLine: (line: string) => void) {
    this.#process = child
    this.#onLine = onLine
    const answers = child.stdio[ANSWER_DESCRIPTOR] as Readable
    answers.on('data', (chunk: Buffer) => this.#receive(chunk)).on('error', () => {})
    child.stdin?.on('error', () => {})
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => this.#print(chunk))
    this.gone = new Promise(resolve => {
      child.once('error', error => {
        this.#end(error.message)
        // A process that did not start emits no other event.
        if (child.pid === undefined) resolve()
      })
      // Answers that were written before the end arrive first.
      child.once('close', (code, signal) => {
        this.ended = true
        setImmediate(() => {
          this.#end(signal === null ? `exit code ${code}` : `signal ${signal}`)
          resolve()
        })
      })
    })
  }

  /** `startMs`: limit until it starts; `timeoutMs`: limit until the module body ends. */
  describe(request: DescribeRequest, startMs: number, timeoutMs: number): Promise<unknown> {
    const { name, root, version, text } = request
    const id = (this.descriptions += 1)
    this.hasBegun = false
    this.#hold(true)
    this.#outputBytes = 0
    const answer = new Promise<unknown>((resolve, reject) => {
      const timer = setTimeout(() => this.#tooLate(id, startMs), startMs)
      this.#waiting.set(id, { request, resolve, reject, timer, timeoutMs })
    })
    if (this.ended) this.#end('it had ended')
    else this.#post({ type: 'describe', id, name, root, version, text, timeoutMs })
    return answer
  }

  warm(root: string, specifiers: readonly string[]): void {
    if (specifiers.length > 0) this.#post({ type: 'warm', root, specifiers })
  }

  /** Lets the host end without waiting for this process. */
  idle(): void {
    this.#hold(false)
  }

  kill(): Promise<void> {
    // The process may still run for a moment, but gets no more requests.
    this.ended = true
    this.#hold(true)
    this.#process.kill('SIGKILL')
    return this.gone
  }

  #hold(held: boolean): void {
    const streams = [...this.#process.stdio, this.#process] as ({ ref?(): void; unref?(): void } | null)[]
    for (const each of streams) {
      if (held) each?.ref?.()
      else each?.unref?.()
    }
  }

  #post(question: Question): void {
    const { stdin } = this.#process as { stdin: Writable }
    stdin.write(`${JSON.stringify(question)}\n`)
  }

  #receive(chunk: Buffer): void {
    this.#receivedBytes += chunk.length
    if (this.#receivedBytes > MAX_ANSWER_BYTES) {
      void this.kill()
      this.#failAll(({ name, root }) =>
        loaderErrors.create('LDR_MANIFEST_INVALID', `${name}: its manifest is larger than 4 MiB`, {
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
    // Output of the module body is read first.
    setImmediate(() => this.#settle(line))
    if (end + 1 < chunk.length) this.#receive(chunk.subarray(end + 1))
  }

  #settle(line: string): void {
    let answer: DescriberReply
    try {
      answer = parseStrictJson(line) as DescriberReply
      const waiting = 'id' in answer ? this.#waiting.get(answer.id) : undefined
      if (answer.type === 'ready' || waiting === undefined) return
      clearTimeout(waiting.timer)
      if (answer.type === 'begun') {
        const { id } = answer
        this.hasBegun = true
        waiting.timer = setTimeout(() => this.#tooLate(id, waiting.timeoutMs), waiting.timeoutMs)
        return
      }
      this.#waiting.delete(answer.id)
      if (answer.type === 'manifest') waiting.resolve(answer.manifest)
      else waiting.reject(decodeError(answer.error))
    } catch {
      void this.kill()
      this.#end('it answered with something other than JSON')
    }
  }

  #print(chunk: Buffer): void {
    this.#outputBytes += chunk.length
    if (this.#outputBytes > MAX_OUTPUT_BYTES) return
    for (const line of chunk.toString().split('\n')) {
      if (line.trim() === '') continue
      this.#lastLine = line
      this.#onLine(line)
    }
  }

  #tooLate(id: number, limitMs: number): void {
    const waiting = this.#waiting.get(id)
    void this.kill()
    if (waiting === undefined) return
    this.#waiting.delete(id)
    const { name, root } = waiting.request
    waiting.reject(
      loaderErrors.create('LDR_DESCRIBE_TIMEOUT', `${name}: the module body did not end within ${limitMs} ms`, {
        plugin: name,
        at: { file: root },
        hint: 'do long work in activate, or raise kernel.describe_timeout_ms'
      })
    )
  }

  #end(how: string): void {
    this.ended = true
    const said = this.#lastLine === '' ? '' : `: ${this.#lastLine.slice(0, 200)}`
    this.#failAll(({ name, root }) =>
      loaderErrors.create('LDR_DESCRIBE_CRASHED', `${name}: its module body ended the process (${how})${said}`, {
        plugin: name,
        at: { file: root },
        hint: 'a module body only declares the plugin; do the rest in activate'
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
