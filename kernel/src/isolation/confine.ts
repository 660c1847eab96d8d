import dgram from 'node:dgram'
import dns from 'node:dns'
import { createRequire, syncBuiltinESMExports } from 'node:module'
import net from 'node:net'
import os from 'node:os'
import { withoutWarnings } from '../loader/without-warnings.ts'

/**
 * Calls with which code reaches other processes, a debugger, flags of V8 or files past Node's permission model. Flags
 * of Node 20 allow most of them.
 */
const PROCESS_CALLS: Readonly<Record<string, readonly string[]>> = {
  process: ['kill', '_kill', '_debugProcess', '_debugEnd', 'abort', 'binding', '_linkedBinding', 'execve'],
  os: ['setPriority'],
  inspector: ['open'],
  'inspector.Session.prototype': ['connect', 'connectToMainThread'],
  trace_events: ['createTracing'],
  // A flag of V8 holds for the whole process, and some name a file that V8 writes.
  v8: ['setFlagsFromString', 'writeHeapSnapshot', 'setHeapSnapshotNearHeapLimit', 'takeCoverage', 'stopCoverage'],
  // A report contains the environment of the whole process, also in a worker.
  'process.report': ['writeReport', 'getReport'],
  wasi: ['WASI']
}

/** Settings of `process.report` with which Node writes a report later, to a file of the caller's choice. */
const REPORT_SETTINGS = [
  'directory',
  'filename',
  'signal',
  'reportOnFatalError',
  'reportOnSignal',
  'reportOnUncaughtException'
]

const load = createRequire(import.meta.url)

/**
 * Refuses signals, debuggers, native bindings, flags of V8, and files of traces, reports and heap snapshots in this
 * process or worker. Cannot be undone.
 */
export function confineProcess(): void {
  for (const [path, names] of Object.entries(PROCESS_CALLS)) refuseAll(path, names)
  for (const name of REPORT_SETTINGS) refuseSetter(process.report, name)
  syncBuiltinESMExports()
}

/**
 * Refuses connections, servers, datagrams and name lookups in this process, also those of packages and of `fetch`.
 * Node before version 25 has no flag for this. Cannot be undone.
 */
export function confineNetwork(): void {
  refuse(net.Socket.prototype, 'net', ['connect'])
  refuse(net.Server.prototype, 'net', ['listen', '_listen2'])
  refuse(net, 'net', ['_createServerHandle'])
  refuse(dgram, 'dgram', ['createSocket', '_createSocketHandle', 'Socket'])
  for (const api of [dns, dns.promises]) {
    refuse(api, 'dns', lookupsOf(api))
    refuse(api.Resolver.prototype, 'dns', lookupsOf(api.Resolver.prototype))
  }
  for (const stream of [process.stdin, process.stdout, process.stderr]) stripHandle(stream)
  syncBuiltinESMExports()
}

function lookupsOf(api: object): string[] {
  const names = new Set<string>()
  for (let at = api; at !== Object.prototype; at = Object.getPrototypeOf(at) as object)
    for (const name of Object.getOwnPropertyNames(at)) if (/^(lookup|resolve|reverse)/.test(name)) names.add(name)
  return [...names]
}

/** Removes the methods that open another connection from the handles of the standard streams. */
function stripHandle(stream: object): void {
  const { _handle: handle } = stream as { readonly _handle?: object | null }
  if (handle === undefined || handle === null) return
  const methods = Object.getPrototypeOf(handle) as Record<string, unknown>
  for (const name of ['constructor', 'bind', 'listen', 'connect', 'open']) delete methods[name]
}

function refuseAll(path: string, names: readonly string[]): void {
  const [module = '', ...keys] = path.split('.')
  let target: unknown
  try {
    target = module === 'process' ? process : module === 'os' ? os : withoutWarnings(() => load(`node:${module}`))
  } catch {
    // A worker has no trace events, and some builds of Node have no inspector.
    return
  }
  for (const key of keys) target = (target as Record<string, unknown> | undefined)?.[key]
  if (target !== undefined) refuse(target as object, module, names)
}

/** Replaces functions that exist by ones that throw the error of Node's permission model. */
function refuse(target: object, module: string, names: readonly string[]): void {
  for (const name of names) {
    if (typeof (target as Record<string, unknown>)[name] !== 'function') continue
    const value = refusal(`${module}.${name}`)
    Object.defineProperty(target, name, { value, writable: true, configurable: true, enumerable: true })
  }
}

/** Makes a property with a setter read-only. */
function refuseSetter(target: object | undefined, name: string): void {
  const found = target && Object.getOwnPropertyDescriptor(target, name)
  if (target === undefined || found?.set === undefined) return
  Object.defineProperty(target, name, { ...found, set: refusal(`process.report.${name}`), configurable: false })
}

function refusal(access: string): () => never {
  return function refused(): never {
    const error = new Error(`${access} is not permitted here`)
    throw Object.assign(error, { code: 'ERR_ACCESS_DENIED', permission: access, resource: '' })
  }
}
