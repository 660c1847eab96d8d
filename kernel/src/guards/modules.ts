import type { ChildProcess } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { createRequire, isBuiltin } from 'node:module'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Guards } from './guards.ts'
import { guardProcess } from './process.ts'
import { guardIterable, guardTimers } from './timers.ts'

/** Time that a child process has between SIGTERM and SIGKILL. */
const KILL_AFTER_MS = 1_000

type Callable = (...given: unknown[]) => unknown
type Module = Record<string, unknown>

interface Handle extends EventEmitter {
  [member: string]: unknown
}

/** Kind of resource: its label, its state and how to close it. */
interface Kind {
  label(handle: Handle, given: readonly unknown[], opener: string): string
  isOpen?(handle: Handle): boolean
  /** Event after which the resource is closed. */
  readonly ended: string
  /** Method with which the plugin closes the resource. */
  readonly closer: string
  close(handle: Handle): unknown
}

const connections = new WeakMap<object, Set<Handle>>()

const SERVER: Kind = {
  label(server, _given, opener) {
    const address = server.listening === true ? (server.address as () => AddressInfo | string)() : ''
    return `server of ${opener} on ${typeof address === 'string' ? address : `${address.address}:${address.port}`}`
  },
  isOpen: server => server.listening === true,
  ended: 'close',
  closer: 'close',
  close(server) {
    for (const socket of connections.get(server) ?? []) call(socket, 'destroy')
    if (server.listening === true) call(server, 'close')
  }
}

const STREAM: Kind = {
  label: (_handle, given, opener) => `connection of ${opener} to ${target(given)}`,
  isOpen: stream => stream.destroyed !== true,
  ended: 'close',
  closer: 'destroy',
  close: stream => call(stream, 'destroy')
}

const DATAGRAM: Kind = {
  label: () => 'datagram socket',
  ended: 'close',
  closer: 'close',
  close: socket => call(socket, 'close')
}

const CHILD: Kind = {
  label: (child, given) => `child process ${String(given[0])} (pid ${child.pid})`,
  isOpen: child => child.pid !== undefined,
  ended: 'exit',
  closer: 'kill',
  async close(handle) {
    const child = handle as unknown as ChildProcess
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, 'exit')
    child.kill()
    const patience = new AbortController()
    await Promise.race([exited, sleep(KILL_AFTER_MS, undefined, { signal: patience.signal })])
    patience.abort()
    child.kill('SIGKILL')
    await exited
    for (const stream of child.stdio) stream?.destroy()
  }
}

const WORKER: Kind = {
  label: (_worker, [file, options]) =>
    `worker ${(options as { eval?: boolean } | undefined)?.eval === true ? 'from text' : file}`,
  ended: 'exit',
  closer: 'terminate',
  close: worker => call(worker, 'terminate')
}

const WATCHER: Kind = {
  label: (_watcher, given) => `watcher of ${String(given[0])}`,
  ended: 'close',
  closer: 'close',
  close: watcher => call(watcher, 'close')
}

const OPENERS: Readonly<Record<string, Readonly<Record<string, Kind>>>> = {
  net: { createServer: SERVER, Server: SERVER, connect: STREAM, createConnection: STREAM, Socket: STREAM },
  tls: { createServer: SERVER, Server: SERVER, connect: STREAM, TLSSocket: STREAM },
  http: { createServer: SERVER, Server: SERVER, request: STREAM, get: STREAM, ClientRequest: STREAM },
  https: { createServer: SERVER, Server: SERVER, request: STREAM, get: STREAM },
  http2: { createServer: SERVER, createSecureServer: SERVER, connect: STREAM },
  dgram: { createSocket: DATAGRAM, Socket: DATAGRAM },
  child_process: { spawn: CHILD, fork: CHILD, exec: CHILD, execFile: CHILD },
  worker_threads: { Worker: WORKER },
  fs: { watch: WATCHER }
}

/** Guarded modules and globals of Node for one plugin instance. */
export interface GuardedNode {
  /** Returns a module of Node by its name, with or without `node:`. */
  builtin(name: string): unknown
  readonly globals: Readonly<Record<string, unknown>>
}

export function guardNode(guards: Guards): GuardedNode {
  const modules = new Map<string, unknown>()
  const load = createRequire(import.meta.url)
  const builtin = (name: string): unknown => {
    const plain = name.replace(/^node:/, '')
    if (!modules.has(plain)) modules.set(plain, guarded(plain))
    return modules.get(plain)
  }
  const timers = guardTimers(guards)
  const guarded = (name: string): unknown => {
    if (name === 'process') return guardProcess(guards, builtin)
    const real = load(`node:${name}`) as Module
    const special = specials[name]?.(real) ?? {}
    const openers = Object.entries(OPENERS[name] ?? {}).map(([key, kind]) => [
      key,
      guardOpener(guards, real[key] as Callable, kind, `${name}.${key}`)
    ])
    if (openers.length === 0 && specials[name] === undefined) return real
    return replace(real, { ...Object.fromEntries(openers), ...special })
  }
  const specials: Readonly<Record<string, (real: Module) => Module>> = {
    timers: () => ({ ...timers.callbacks, promises: timers.promises }),
    'timers/promises': () => timers.promises,
    fs: real => ({ ...guardWatchFile(guards, real), promises: builtin('fs/promises') }),
    'fs/promises': real => ({ watch: guardAsyncWatch(guards, real.watch as AsyncWatch) }),
    module: () => ({
      createRequire: (from: string) => {
        const require = createRequire(from)
        return Object.assign((id: string): unknown => (isBuiltin(id) ? builtin(id) : require(id)), require)
      }
    })
  }
  const names: Record<string, unknown> = {
    ...timers.callbacks,
    process: builtin('process'),
    queueMicrotask: (callback: unknown) => {
      guards.enter('queueMicrotask')
      queueMicrotask(() => guards.call(callback, undefined, []))
    }
  }
  const root = new Proxy(globalThis, {
    get: (node, key) => (Object.hasOwn(names, key) ? names[String(key)] : Reflect.get(node, key))
  })
  Object.assign(names, { global: root, globalThis: root })
  return { builtin, globals: names }
}

/** Copies a module with some exports replaced. Getters are not called, since deprecated ones would print a warning. */
function replace(real: Module, exports: Module): Module {
  const values = Object.entries(exports).map(([key, value]) => [key, { value, enumerable: true, writable: true }])
  return Object.create(Object.getPrototypeOf(real), {
    ...Object.getOwnPropertyDescriptors(real),
    ...Object.fromEntries(values)
  })
}

/**
 * Wraps a function or class of Node and tracks the resources that it returns. `instanceof` and inheritance still work.
 */
function guardOpener(guards: Guards, real: Callable, kind: Kind, name: string): unknown {
  const open = <A>(given: readonly unknown[], make: () => A, handleOf: (made: A) => unknown = made => made): A => {
    const tracked = guards.enter(name)
    const made = make()
    const handle = handleOf(made)
    if (handle instanceof EventEmitter) hold(guards, handle as Handle, kind, { name, given, tracked, above: open })
    return made
  }
  const call = (node: Callable, self: unknown, given: readonly unknown[]): unknown =>
    open(given, () => Reflect.apply(node, self, given))
  const custom = Reflect.get(real, promisify.custom) as Callable | undefined
  // The promises of `exec` and `execFile` have the child process as a property.
  if (custom !== undefined)
    return Object.assign((...given: unknown[]) => call(real, undefined, given), {
      [promisify.custom]: (...given: unknown[]) =>
        open(
          given,
          () => custom(...given),
          promise => (promise as { readonly child: unknown }).child
        )
    })
  const proxy: object = new Proxy(real, {
    apply: call,
    construct: (node, given, newTarget) =>
      open(given, () => Reflect.construct(node, given, newTarget === proxy ? node : newTarget) as object)
  })
  return proxy
}

interface Opened {
  readonly name: string
  readonly given: readonly unknown[]
  readonly tracked: boolean
  readonly above: unknown
}

function hold(guards: Guards, handle: Handle, kind: Kind, { name, given, tracked, above }: Opened): void {
  const sockets = new Set<Handle>()
  connections.set(handle, sockets)
  let closing = false
  const resource = {
    label: () => kind.label(handle, given, name),
    isOpen: () => !closing && (kind.isOpen?.(handle) ?? true),
    close: () => kind.close(handle)
  }
  const release = tracked ? guards.track(resource, above) : () => {}
  guards.contain(handle, (event, subject) => {
    if (event === kind.ended) release()
    if (event !== 'connection' || kind !== SERVER) return
    const socket = subject as Handle
    sockets.add(socket)
    guards.contain(socket, ended => {
      if (ended === 'close') sockets.delete(socket)
    })
  })
  for (const stream of (handle.stdio ?? []) as (EventEmitter | null)[]) if (stream !== null) guards.contain(stream)
  const close = handle[kind.closer] as Callable
  handle[kind.closer] = (...args: unknown[]): unknown => {
    closing = true
    return Reflect.apply(close, handle, args)
  }
}

function guardWatchFile(guards: Guards, real: Module): Module {
  const { watchFile, unwatchFile } = real as Record<'watchFile' | 'unwatchFile', Callable>
  const watched: { path: string; listener: unknown; end: () => void }[] = []
  const watch = (path: unknown, ...rest: unknown[]): unknown => {
    const tracked = guards.enter('fs.watchFile')
    const listener = rest.pop()
    const wrapped = (...given: unknown[]): void => guards.call(listener, undefined, given)
    const watcher = watchFile(path, ...rest, wrapped)
    const resource = { label: () => `polling watcher of ${path}`, close: () => unwatchFile(path, wrapped) }
    const release = tracked ? guards.track(resource, watch) : () => {}
    const end = (): void => {
      release()
      unwatchFile(path, wrapped)
    }
    watched.push({ path: String(path), listener, end })
    return watcher
  }
  const unwatch = (path: unknown, listener?: unknown): void => {
    for (const each of [...watched]) {
      if (each.path !== String(path) || (listener !== undefined && each.listener !== listener)) continue
      watched.splice(watched.indexOf(each), 1)
      each.end()
    }
  }
  return { watchFile: watch, unwatchFile: unwatch }
}

type AsyncWatch = (path: string, options?: { readonly signal?: AbortSignal }) => AsyncIterable<unknown>

function guardAsyncWatch(guards: Guards, watch: AsyncWatch): AsyncWatch {
  return (path, given) =>
    guardIterable(guards, 'fs.watch', `watcher of ${path}`, given, options => watch(path, options))
}

function call(handle: Handle, method: string): unknown {
  return (handle[method] as Callable).call(handle)
}

/** Describes the target of a connection, from any form of `connect`'s arguments. */
function target(given: readonly unknown[]): string {
  const [first, second] = given
  if (first instanceof URL || typeof first === 'string') return String(first)
  if (typeof first === 'number') return `${typeof second === 'string' ? second : 'localhost'}:${first}`
  const { host, hostname, port, path } = (first ?? {}) as Record<string, unknown>
  return port === undefined ? String(path ?? '?') : `${host ?? hostname ?? 'localhost'}:${port}`
}
