import type { ChildProcess } from 'node:child_process'
import { subscribe } from 'node:diagnostics_channel'
import { readFileSync } from 'node:fs'
import type { Guards } from './guards.ts'

type Listener = (...given: unknown[]) => unknown
type Event = string | symbol

interface Registered {
  readonly event: Event
  readonly listener: Listener
  readonly wrapped: Listener
  readonly release: () => void
}

/** Events whose listeners decide whether the process survives. */
const DECISIONS: readonly Event[] = ['uncaughtException', 'unhandledRejection']

const REFUSED: Readonly<Record<string, string>> = {
  exit: 'return an exit code from the command handler, or throw',
  reallyExit: 'return an exit code from the command handler, or throw',
  abort: 'throw instead',
  chdir: 'resolve paths against ctx.projectRoot',
  setUncaughtExceptionCaptureCallback: 'the kernel already handles uncaught errors of plugins'
}

/** Child processes of this process that have not closed, also those that packages started. */
const children = new Set<ChildProcess>()

subscribe('child_process', message => {
  const { process: child } = message as { readonly process: ChildProcess }
  children.add(child)
  child.once('close', () => children.delete(child))
  // A process that did not start emits no `close` event.
  process.nextTick(() => child.pid === undefined && children.delete(child))
})

/** True unless a signal to a process, or to a process group if negative, may reach the host or one of its ancestors. */
function maySignal(pid: number): boolean {
  if (pid > 0) return !ancestry().includes(pid)
  return [...children].some(child => child.pid === -pid)
}

/** Returns the ids of this process and its ancestors; without `/proc`, only those of itself and its parent. */
function ancestry(): readonly number[] {
  const ids = [process.pid, process.ppid]
  for (let id = process.ppid; id > 1; ) {
    try {
      // The name of the program, in parentheses, may contain spaces.
      id = Number(/\) \S (\d+)/.exec(readFileSync(`/proc/${id}/stat`, 'utf8'))?.[1])
    } catch {
      return ids
    }
    ids.push(id)
  }
  return ids
}

/**
 * Returns the `process` object for a plugin. Its listeners are tracked. Calls that would end the host process, or
 * change its global state, throw `LDR_REFUSED`.
 */
export function guardProcess(guards: Guards, builtin: (name: string) => unknown): NodeJS.Process {
  const registered: Registered[] = []
  const remove = (entry: Registered): void => {
    registered.splice(registered.indexOf(entry), 1)
    entry.release()
    process.removeListener(entry.event, entry.wrapped)
  }
  const adder = (method: 'on' | 'prependListener', once: boolean) => {
    const add = (event: Event, listener: Listener): NodeJS.Process => {
      const name = `process.${once ? 'once' : 'on'}('${String(event)}')`
      if (DECISIONS.includes(event)) throw guards.refusal(name, 'the kernel already handles uncaught errors of plugins')
      const tracked = guards.enter(name)
      const wrapped: Listener = (...given) => {
        if (once) remove(entry)
        guards.call(listener, process, given)
      }
      const resource = { label: () => `process listener for ${String(event)}`, close: () => remove(entry) }
      const release = tracked ? guards.track(resource, add) : () => {}
      const entry: Registered = { event, listener, wrapped, release }
      registered.push(entry)
      process[method](event as 'exit', wrapped)
      return proxy
    }
    return add
  }
  const off = (event: Event, listener: Listener): NodeJS.Process => {
    const entry = registered.findLast(each => each.event === event && each.listener === listener)
    if (entry !== undefined) remove(entry)
    return proxy
  }
  const overrides: Readonly<Record<PropertyKey, unknown>> = {
    ...Object.fromEntries(
      Object.entries(REFUSED).map(([name, hint]) => [
        name,
        () => {
          throw guards.refusal(`process.${name}`, hint)
        }
      ])
    ),
    kill: (pid: number, signal?: NodeJS.Signals | number): true => {
      if (signal !== 0 && Number.isInteger(Number(pid)) && !maySignal(Number(pid))) {
        const whom = Number(pid) > 0 ? `process ${pid}, which is svc or started it` : `the process group ${pid}`
        throw guards.refusal(`process.kill on ${whom}`, 'signal only child processes; to end svc, throw instead')
      }
      return process.kill(pid, signal)
    },
    on: adder('on', false),
    addListener: adder('on', false),
    once: adder('on', true),
    prependListener: adder('prependListener', false),
    prependOnceListener: adder('prependListener', true),
    off,
    removeListener: off,
    removeAllListeners: (event?: Event): NodeJS.Process => {
      for (const entry of [...registered]) if (event === undefined || entry.event === event) remove(entry)
      return proxy
    },
    nextTick: (callback: unknown, ...given: unknown[]): void => {
      guards.enter('process.nextTick')
      process.nextTick(() => guards.call(callback, undefined, given))
    },
    getBuiltinModule: (name: string) => builtin(name)
  }
  const proxy: NodeJS.Process = new Proxy(process, {
    get: (target, key) => (Object.hasOwn(overrides, key) ? overrides[key] : Reflect.get(target, key)),
    set: (target, key, value) => Reflect.set(target, key, value)
  })
  return proxy
}
