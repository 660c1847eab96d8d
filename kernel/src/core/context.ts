import { join } from 'node:path'
import {
  type BreakerPolicy,
  type CallOptions,
  type CommandHandler,
  type Disposer,
  type DrainReason,
  errorMessage,
  type Handler,
  type Health,
  type Hook,
  isSvcError,
  type LocalSpan,
  type Logger,
  type Operation,
  type PluginContext,
  type Point,
  type ServeOptions,
  type Service,
  type Tap,
  type TapOptions,
  traceparentOf
} from '@svc/plugin-sdk'
import { copyData, Validator } from '@svc/plugin-sdk/check'
import { makePrivateFolder } from '@svc/plugin-sdk/folders'
import { CallState } from './call.ts'
import { kernelErrors } from './errors.ts'
import type { Keep } from './keep.ts'
import { BoundOperation } from './operations.ts'
import type { Unit } from './unit.ts'

/** Call by a plugin, with the options that it inherits from its parent call. */
export interface PluginCall extends Omit<CallOptions, 'parent'> {
  readonly caller: string
  readonly requestId?: string
  readonly traceparent?: string
  readonly trace?: LocalSpan
}

/** The part of a unit's host that a context uses. The host is the kernel, or the worker process of an isolated unit. */
export interface ContextHost {
  readonly log: Logger
  readonly projectRoot: string
  readonly packageRoot: string
  readonly dataRoot: string
  readonly keep: Keep
  readonly breaker: BreakerPolicy
  /** True in the worker of an isolated unit, which cannot share values with other units. */
  readonly isolated: boolean
  invoke(operationId: string, input: unknown, call: PluginCall): Promise<unknown>
  trigger(hookId: string, args: readonly unknown[]): Promise<unknown> | undefined
  isTapped(hookId: string): boolean
  /** Announces a change behind a topic. */
  changed(topic: string): void
  /** Runs `open`. Its timers, servers and sockets are not attributed to the unit, since they may outlive it. */
  adopt<A>(open: () => A | Promise<A>): A | Promise<A>
}

/** Creates the context of one unit. {@link PluginContext} documents it. */
export function createContext(unit: Unit, host: ContextHost): PluginContext<unknown> {
  return new UnitContext(unit, host)
}

class UnitContext implements PluginContext<unknown> {
  readonly #unit: Unit
  readonly #host: ContextHost
  readonly #validator = new Validator()

  constructor(unit: Unit, host: ContextHost) {
    this.#unit = unit
    this.#host = host
  }

  get name(): string {
    return this.#unit.name
  }
  get version(): string {
    return this.#unit.version
  }
  get config(): unknown {
    return this.#unit.config
  }
  get log(): Logger {
    return this.#host.log
  }
  get signal(): AbortSignal {
    return this.#unit.signal
  }
  get projectRoot(): string {
    return this.#host.projectRoot
  }
  get packageRoot(): string {
    return this.#host.packageRoot
  }

  async dataDirectory(): Promise<string> {
    const directory = join(this.#host.dataRoot, 'plugins', this.name)
    makePrivateFolder(directory)
    return directory
  }

  implement<Op extends Operation>(operation: Op, handler: Handler<Op>): void {
    this.#assertActivating(`implement ${operation.id}`)
    const descriptor = this.#unit.manifest.operations.find(each => each.id === operation.id)
    if (descriptor === undefined) throw this.#undeclared('operation', operation.id, 'operations')
    const bound = new BoundOperation(descriptor, this.#unit, handler as never, this.#validator, this.#host.breaker)
    this.#unit.operations.set(operation.id, bound)
  }

  provide<A>(token: Service<A>, value: A): void {
    this.#assertActivating(`provide ${token.id}`)
    this.#assertInProcess(`provide ${token.id}`)
    if (!this.#unit.manifest.provides.includes(token.id)) throw this.#undeclared('service', token.id, 'provides')
    // A lookup returns undefined for a service without provider, so undefined is not a valid service.
    if (value === undefined) throw missing(this.#unit, [`service ${token.id} (its value is undefined)`])
    this.#unit.services.set(token.id, value)
  }

  contribute<A>(to: Point<A>, item: A, label = to.id): void {
    this.#assertActivating(`contribute to ${to.id}`)
    if (to.data !== true) this.#assertInProcess(`contribute to ${to.id}`)
    const own = to.data === true ? copiedItem(this.#unit, to, item) : item
    this.#unit.items.push({ point: to.id, item: own, keys: to.keys?.(own) ?? [], label })
  }

  on<A extends readonly unknown[], R>(hook: Hook<A, R>, tap: Tap<A, R>, options: TapOptions = {}): void {
    this.#assertActivating(`tap ${hook.id}`)
    const { id, mode, onError } = hook
    this.#unit.taps.push({ hook: { id, mode, onError }, plugin: this.name, tap: tap as never, options })
  }

  isTapped({ id }: Pick<Hook, 'id'>): boolean {
    return this.#host.isTapped(id)
  }

  async trigger<A extends readonly unknown[], R>(hook: Hook<A, R>, ...args: A): Promise<R | undefined> {
    this.#unit.scope.assertOpen(`trigger ${hook.id}`)
    return (await this.#host.trigger(hook.id, args)) as R | undefined
  }

  changed(topic: string): void {
    this.#host.changed(topic)
  }

  call(operation: Operation, input: unknown, options?: CallOptions): Promise<never> {
    return this.callById(operation.id, input, options) as Promise<never>
  }

  callById(id: string, input: unknown, options: CallOptions = {}): Promise<unknown> {
    this.#unit.scope.assertOpen(`call ${id}`)
    return this.#host.invoke(id, input, { ...inherit(options), caller: this.name })
  }

  async keep<A>(key: string, open: () => A | Promise<A>, close: (value: A) => void | Promise<void>): Promise<A> {
    this.#unit.scope.assertOpen(`keep ${key}`)
    // An isolated plugin's process ends with every reload, and the resource with it.
    this.#assertInProcess(`keep ${key}`)
    const { value, release } = await this.#host.keep.acquire(`${this.name}:${key}`, () => this.#host.adopt(open), close)
    if (this.#unit.scope.closed) await release()
    this.#unit.scope.effect(`keep ${key}`, release)
    return value
  }

  task(label: string, run: (signal: AbortSignal) => Promise<void>): void {
    this.#assertLabelled('task', label, run)
    this.#unit.scope.assertOpen(`start task ${label}`)
    const running = this.#guard(label, run).finally(() => this.#unit.tasks.delete(running))
    this.#unit.tasks.set(running, label)
  }

  background(label: string, run: (signal: AbortSignal) => Promise<void>): void {
    this.#assertLabelled('background', label, run)
    this.#unit.scope.assertOpen(`start background work ${label}`)
    const running = this.#guard(label, run, this.#unit.retiring)
    this.#unit.scope.effect(`background ${label}`, () => running)
  }

  effect(label: string, dispose: Disposer): Disposer {
    this.#assertLabelled('effect', label, dispose)
    return this.#unit.scope.effect(label, dispose)
  }

  command(command: string, run: CommandHandler): void {
    this.#assertLabelled('command', command, run)
    this.#assertActivating(`implement the command ${command}`)
    this.#assertInProcess(`implement the command ${command}`)
    const declared = this.#unit.manifest.commands.some(each => each.command === command)
    if (!declared) throw this.#undeclared('command', command, 'commands')
    this.#unit.commands.set(command, run)
  }

  health(label: string, check: () => Health | Promise<Health>): void {
    this.#assertLabelled('health', label, check)
    this.#assertActivating(`register the health check ${label}`)
    this.#unit.healthChecks.push({ label, check })
  }

  onServe(label: string, listener: () => void, options: ServeOptions = {}): void {
    this.#assertLabelled('onServe', label, listener)
    this.#assertActivating(`register the onServe listener ${label}`)
    this.#unit.serving.onServe.push({ label, listener, ...options })
  }

  onDrain(label: string, listener: (reason: DrainReason) => void | Promise<void>): void {
    this.#assertLabelled('onDrain', label, listener)
    this.#assertActivating(`register the onDrain listener ${label}`)
    this.#unit.serving.onDrain.push({ label, listener })
  }

  follow<A>(at: Point<A>, listener: (items: readonly A[], plugins: readonly string[]) => void): void {
    this.#assertActivating(`follow ${at.id}`)
    this.#assertInProcess(`follow ${at.id}`)
    this.#unit.serving.followers.push({ point: at as Point<unknown>, listener: listener as never, seen: undefined })
  }

  onConfig(listener: (next: never, previous: never) => void | Promise<void>): void {
    if (typeof listener !== 'function') throw this.#wrongArgument('onConfig', 'a function')
    this.#assertActivating('register an onConfig listener')
    this.#unit.configListeners.push(listener as never)
  }

  /** Throws after activation, when the unit's contributions can no longer change. */
  #assertActivating(action: string): void {
    this.#unit.scope.assertOpen(action)
    if (this.#unit.state === 'activating') return
    throw kernelErrors.create('KRN_UNDECLARED', `${this.name} tried to ${action} after activation`, {
      plugin: this.name,
      hint: 'register everything inside activate; only a reload changes the contributions of a plugin'
    })
  }

  /** Throws unless a registration has a label and a function. */
  #assertLabelled(method: string, label: unknown, run: unknown): void {
    if (typeof label === 'string' && label !== '' && typeof run === 'function') return
    throw this.#wrongArgument(method, 'a label and a function')
  }

  #wrongArgument(method: string, expected: string): Error {
    const example =
      method === 'onConfig'
        ? 'next => { … }'
        : method === 'command'
          ? "'notes show', input => { … }"
          : "'label', () => { … }"
    return kernelErrors.create('KRN_ARGUMENT_INVALID', `${this.name}: ctx.${method} needs ${expected}`, {
      plugin: this.name,
      hint: `write: ctx.${method}(${example})`
    })
  }

  /** Throws in the worker of an isolated unit, which cannot share values with other units. */
  #assertInProcess(action: string): void {
    if (!this.#host.isolated) return
    throw kernelErrors.create('KRN_NOT_REMOTABLE', `${this.name} is isolated and cannot ${action}`, {
      plugin: this.name,
      hint:
        `set isolation = "in-process" in [plugins.${this.name}]; ` +
        'an isolated plugin can only offer operations, hook taps, health checks and contributions that are data'
    })
  }

  #undeclared(what: string, id: string, field: string): Error {
    return kernelErrors.create('KRN_UNDECLARED', `${this.name} supplies the ${what} ${id}, which it does not declare`, {
      plugin: this.name,
      hint: `add it to ${field} in definePlugin`
    })
  }

  async #guard(label: string, run: (signal: AbortSignal) => Promise<void>, signal = this.#unit.signal): Promise<void> {
    try {
      await run(signal)
    } catch (error) {
      if (signal.aborted && (error === signal.reason || isAbort(error))) return
      this.log.error(`${label} failed`, { error })
    }
  }
}

function inherit({ parent, ...options }: CallOptions): Omit<PluginCall, 'caller'> {
  if (parent === undefined) return options
  const remainingMs = parent.deadline === Infinity ? Infinity : Math.max(parent.deadline - Date.now(), 1)
  const timeoutMs = Math.min(remainingMs, options.timeoutMs || Infinity)
  return {
    ...options,
    signal: options.signal === undefined ? parent.signal : AbortSignal.any([parent.signal, options.signal]),
    ...(timeoutMs === Infinity ? {} : { timeoutMs }),
    ...(isLocalSpan(parent)
      ? { trace: parent }
      : {
          requestId: parent.requestId,
          traceparent: traceparentOf(parent.traceId, parent.spanId, parent.sampled)
        })
  }
}

/** True for a call of this process, whose ids need not be formatted. */
function isLocalSpan(parent: object): parent is LocalSpan {
  return parent instanceof CallState
}

/** Returns a copy of a data item. Throws `KRN_NOT_REMOTABLE` if it is not plain data. */
function copiedItem<A>(unit: Unit, { id }: Point<A>, item: A): A {
  try {
    return copyData(item) as A
  } catch (error) {
    throw kernelErrors.create('KRN_NOT_REMOTABLE', `${unit.name} contributes to ${id}: ${errorMessage(error)}`, {
      plugin: unit.name,
      hint: `items of ${id} are data: use objects, arrays, texts, numbers and booleans only`
    })
  }
}

function isAbort(error: unknown): boolean {
  return isSvcError(error, 'OPR_CANCELLED') || (error instanceof Error && error.name === 'AbortError')
}

/** Throws `KRN_IMPLEMENTATION_MISSING` if `activate` did not supply everything that the unit declares. */
export function assertComplete(unit: Unit): void {
  const lacking = [
    ...unit.manifest.operations.filter(each => !unit.operations.has(each.id)).map(each => `operation ${each.id}`),
    ...unit.manifest.provides.filter(id => !unit.services.has(id)).map(id => `service ${id}`),
    ...unit.manifest.commands.filter(each => !unit.commands.has(each.command)).map(each => `command ${each.command}`)
  ]
  if (lacking.length > 0) throw missing(unit, lacking)
}

function missing(unit: Unit, what: readonly string[]): Error {
  return kernelErrors.create(
    'KRN_IMPLEMENTATION_MISSING',
    `${unit.name} declares but does not supply: ${what.join(', ')}`,
    {
      plugin: unit.name,
      hint: 'call ctx.implement, ctx.provide or ctx.command for each inside activate'
    }
  )
}
