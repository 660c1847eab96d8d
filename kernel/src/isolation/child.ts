import { readFile } from 'node:fs/promises'
import { parentPort } from 'node:worker_threads'
import {
  defined,
  type Health,
  isSvcError,
  type LocalSpan,
  type Logger,
  requestIdOf,
  SDK_VERSION,
  traceContextOf,
  traceparentOf
} from '@svc/plugin-sdk'
import { assertComplete, createContext } from '../core/context.ts'
import { kernelErrors } from '../core/errors.ts'
import { Keep } from '../core/keep.ts'
import { newCallStats, Unit } from '../core/unit.ts'
import { codeOf, evaluate, preload } from '../loader/evaluate.ts'
import { Channel, type Exchange, type Port } from './channel.ts'
import { confineProcess } from './confine.ts'
import {
  type Activation,
  type Contributions,
  PROTOCOL,
  type RemoteCall,
  type ToChild,
  type ToHost
} from './protocol.ts'
import { type EncodedError, encodeError, plain } from './remote-error.ts'

/** Disabled breaker: the host process counts faults. */
const NO_BREAKER = { failures: 0, windowMs: 0, halfOpenMs: 0 }
/** Time limit for the disposers of a plugin whose host process has ended. */
const ORPHANED_MS = 2_000

const NAME = process.argv[2] ?? 'plugin'
let unit: Unit | undefined

const channel = new Channel<ToHost, ToChild>(NAME, parentPort === null ? processPort() : workerPort(parentPort), {
  activate,
  invoke,
  tap: ({ index, args }) => activeUnit().taps[index]?.tap(...args),
  health: index => activeUnit().healthChecks[index]?.check() as Health,
  reconfigure: async next => void (await activeUnit().reconfigure(next)),
  prepare: async (_, { signal }) => {
    await activeUnit().serving.prepare(signal)
    return null
  },
  serve: () => {
    for (const error of activeUnit().serving.begin()) onUncaught(error)
    return null
  },
  stopWork: async reason => {
    await activeUnit().stopWork(reason)
    return null
  },
  ping: () => null,
  drain: milliseconds => activeUnit().drain(milliseconds),
  dispose
})

const log: Logger = { debug: logAt('debug'), info: logAt('info'), warn: logAt('warn'), error: logAt('error') }

const { permission } = process as { readonly permission?: { has(scope: string): boolean } }
// A plugin that may start processes can signal any process through them.
if (permission?.has('child') !== true) confineProcess()

process.on('uncaughtException', onUncaught)
process.on('unhandledRejection', onUncaught)

/** Activates the plugin in this process, with a context that cannot share values with other plugins. */
async function activate(request: Activation): Promise<Contributions> {
  if (request.protocol !== PROTOCOL || request.sdk !== SDK_VERSION) {
    throw kernelErrors.create('KRN_ACTIVATE_FAILED', 'the installed version of svc differs from the running one', {
      hint: 'restart svc'
    })
  }
  const { manifest, packageRoot, projectRoot, dataRoot } = request
  const born = new Unit(manifest, request.config, { log, stats: newCallStats() })
  unit = born
  const text = await readFile(request.bundle, 'utf8')
  const { plugin, guards } = evaluate(
    codeOf({ name: NAME, root: packageRoot, text }, await preload(packageRoot, text)),
    {},
    {
      effect: (label, disposer) => born.scope.effect(label, disposer),
      onLeak: description => log.warn(`${description} was left open; the kernel closed it`),
      onError: onUncaught
    }
  )
  born.lifecycle.to('activating')
  const context = createContext(born, {
    log,
    projectRoot,
    packageRoot,
    dataRoot,
    keep: new Keep(),
    breaker: NO_BREAKER,
    isolated: true,
    invoke: (operation, input, { timeoutMs, requestId, traceparent, trace, ...options }) => {
      const ids = trace === undefined ? { requestId, traceparent } : textsOf(trace)
      return channel.request('call', { operation, input, timeoutMs, ...ids }, options)
    },
    isTapped: () => true,
    changed,
    trigger: (hook, args) => channel.request('trigger', { hook, args }),
    adopt: open => guards.adopt(open)
  })
  const disposer = await plugin.activate(context, {} as never)
  if (typeof disposer === 'function') born.scope.effect('activate', disposer)
  assertComplete(born)
  born.lifecycle.to('active')
  return {
    taps: born.taps.map(({ hook, options }) => ({ hook, options })),
    items: born.items,
    health: born.healthChecks.map(each => each.label),
    serves: born.serving.onServe.map(each => each.label),
    prepares: born.serving.onServe.some(each => each.prepare !== undefined),
    drains: born.serving.onDrain.map(each => each.label)
  }
}

async function invoke(request: RemoteCall, { signal, emit, progress }: Exchange): Promise<unknown> {
  const { operation, input, timeoutMs, ...call } = request
  try {
    return await activeUnit()
      .operations.get(operation)
      ?.invoke(input, {
        ...call,
        signal,
        onEvent: emit,
        onProgress: progress,
        ...defined({ timeoutMs })
      })
  } catch (error) {
    // The host receives the handler's original error, counts it as a fault and logs it.
    const own = isSvcError(error, 'OPR_FAILED') && error.plugin === NAME && error.cause !== undefined
    throw own ? error.cause : error
  }
}

async function dispose(milliseconds: number): Promise<void> {
  const report = await unit?.dispose(milliseconds)
  for (const error of report?.errors ?? []) log.warn('a disposer failed', { error })
  for (const label of report?.stuck ?? [])
    log.error(`disposer "${label}" did not settle and is terminated with the plugin`)
  for (const stream of [process.stdout, process.stderr]) await new Promise<unknown>(done => stream.write('', done))
}

const changes = new Set<string>()

/** Announces a topic to the host. Announcements of one turn of the event loop are sent together. */
function changed(topic: string): void {
  if (changes.size === 0)
    setImmediate(() => {
      const topics = [...changes]
      changes.clear()
      channel.notify('changed', topics)
    })
  changes.add(topic)
}

function activeUnit(): Unit {
  if (unit !== undefined) return unit
  throw new Error(`${NAME} is not activated`)
}

function logAt(level: keyof Logger): Logger['info'] {
  return (message, given = {}) => {
    const fields: Record<string, unknown> = {}
    const errors: Record<string, EncodedError> = {}
    for (const [key, value] of Object.entries(given)) {
      if (value instanceof Error || isSvcError(value)) errors[key] = encodeError(value)
      else fields[key] = plain(value)
    }
    channel.notify('log', { level, message, fields, errors })
  }
}

function onUncaught(error: unknown): void {
  channel.notify('uncaught', encodeError(error))
}

function workerPort(at: NonNullable<typeof parentPort>): Port {
  return { post: message => at.postMessage(message), onMessage: listener => at.on('message', listener) }
}

function processPort(): Port {
  // Ctrl-C sends a signal to the whole process group. The host handles it: it drains before it ends its plugins.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
  process.on('disconnect', () => {
    const left = unit === undefined ? Promise.resolve() : unit.dispose(ORPHANED_MS)
    void left.finally(() => process.exit())
  })
  return {
    post: message => void process.send?.(message, undefined, undefined, () => {}),
    onMessage: listener => process.on('message', listener)
  }
}

/** Returns the ids of a span for the main process, whose numbers differ. */
function textsOf(trace: LocalSpan): { readonly requestId: string; readonly traceparent: string } {
  const { traceId, spanId, sampled } = traceContextOf(trace)
  return { requestId: requestIdOf(trace.requestName), traceparent: traceparentOf(traceId, spanId, sampled) }
}
