import { join } from 'node:path'
import {
  type DrainReason,
  defined,
  errorMessage,
  isSvcError,
  type PluginManifest,
  SDK_VERSION,
  type SvcError,
  settlesWithin,
  traceparentOf
} from '@svc/plugin-sdk'
import { copyData, Validator } from '@svc/plugin-sdk/check'
import { type ActivationHost, limitActivation, type UnitPolicy } from '../core/activate.ts'
import { kernelErrors } from '../core/errors.ts'
import { BoundOperation } from '../core/operations.ts'
import type { PreparedCode } from '../core/plugin-source.ts'
import type { Item, Unit } from '../core/unit.ts'
import type { UnitHost } from '../core/unit-host.ts'
import { Channel } from './channel.ts'
import { type ChildHandle, type ProcessExit, startProcess, startWorker } from './child-handle.ts'
import { childEntry } from './entry.ts'
import { type Contributions, PROTOCOL, type ToChild, type ToHost } from './protocol.ts'
import { decodeError } from './remote-error.ts'
import { allowedEnvironment, packageFolders, permissionFlags } from './sandbox.ts'
import { Watchdog } from './watchdog.ts'

/** Time limit for a ping reply from a plugin that exceeded a call's deadline or is being disposed. */
const GRACE_MS = 2_000
/** Time reserved for a forced termination. */
const FORCE_MS = 1_000
/** Maximum number of topics and items of one plugin, which the host keeps in memory. */
const MAX_TOPICS = 1_000
const MAX_ITEMS = 1_000
/** Maximum length of topics, point ids, keys and labels, in UTF-16 code units. */
const MAX_NAME_LENGTH = 1_024
/** Number of lines of standard error in a crash report. */
const LAST_LINES = 20

/**
 * Runs a plugin in a child: a worker thread or a process, with the permissions of its manifest or of `svc.toml`.
 *
 * 1. The child starts, checks that its version equals the host's, evaluates the bundle and runs `activate`.
 * 2. In the host, the unit has a proxy for each operation, hook tap and health check, and forwards live settings.
 * 3. If the child ends unexpectedly or does not respond, running calls fail with `KRN_ISOLATION_CRASHED`. The kernel
 *    decides when to restart the plugin.
 * 4. Disposal runs the plugin's disposers in the child, then ends it; near the deadline, by force.
 *
 * A process isolates better than a worker thread: V8 cannot interrupt every loop of a thread, and one huge allocation
 * there crashes the host.
 *
 * Throws `KRN_NOT_REMOTABLE` before the child starts if the manifest has services or commands.
 */
export const isolated: UnitHost = {
  async activate(unit, code, packageRoot, policy, host) {
    const kind = policy.isolation === 'worker' ? 'worker' : 'process'
    const bundle = await remotableBundle(unit.manifest, code, kind)
    const { optional, permissions: requested } = unit.manifest
    if (optional.length > 0)
      host.log.warn(`runs without the optional services ${optional.join(', ')}: they are not available in a ${kind}`)
    const entry = await childEntry('child')
    const permissions = policy.permissions ?? requested
    const lastLines: string[] = []
    const child = (kind === 'worker' ? startWorker : startProcess)({
      file: entry.file,
      name: unit.name,
      cwd: host.projectRoot,
      flags: permissionFlags({
        kind,
        permissions,
        projectRoot: host.projectRoot,
        readable: [...entry.readable, ...packageFolders(packageRoot), bundle],
        dataDirectory: join(host.dataRoot, 'plugins', unit.name)
      }),
      env: allowedEnvironment(permissions),
      memoryMb: policy.memoryMb,
      onLine: (stream, line) => {
        if (stream === 'stderr') lastLines.splice(0, lastLines.push(line) - LAST_LINES)
        if (stream === 'stderr') host.log.warn(line, { stream })
        else host.log.info(line, { stream })
      }
    })
    const isolated = new IsolatedUnit(unit, child, policy, host, lastLines)
    await limitActivation(() => isolated.activate(bundle, packageRoot), policy.activateTimeoutMs, unit)
  }
}

/** Host part of an isolated plugin. */
class IsolatedUnit {
  readonly #unit: Unit
  readonly #child: ChildHandle
  readonly #policy: UnitPolicy
  readonly #host: ActivationHost
  readonly #lastLines: readonly string[]
  readonly #channel: Channel<ToChild, ToHost>
  readonly #watchdog: Watchdog
  readonly #validator = new Validator()
  /** Reason for which the host ended the child. */
  #killReason: string | undefined
  #crash: SvcError | undefined
  #activated = false
  #leaving = false
  /** Topics that the plugin announced. */
  readonly #topics = new Set<string>()
  #topicRefused = false

  constructor(unit: Unit, child: ChildHandle, policy: UnitPolicy, host: ActivationHost, lastLines: readonly string[]) {
    this.#unit = unit
    this.#child = child
    this.#policy = policy
    this.#host = host
    this.#lastLines = lastLines
    this.#channel = new Channel(unit.name, child, {
      call: ({ operation, input, timeoutMs, requestId, traceparent }, { signal, emit, progress }) =>
        host.invoke(operation, input, {
          caller: unit.name,
          signal,
          onEvent: emit,
          onProgress: progress,
          ...defined({ timeoutMs, requestId, traceparent })
        }),
      trigger: ({ hook, args }) => host.trigger(hook, args),
      log: ({ level, message, fields, errors }) => {
        const decoded = Object.entries(errors).map(([key, error]) => [key, decodeError(error)] as const)
        host.log[level](message, { ...fields, ...Object.fromEntries(decoded) })
      },
      changed: topics => this.#changed(topics),
      uncaught: error => host.onUncaught(unit, decodeError(error))
    })
    this.#watchdog = new Watchdog(
      () => this.#channel.request('ping', null),
      milliseconds => this.#kill(`it did not respond for ${milliseconds} ms, so its event loop is blocked`)
    )
    unit.kill = cause => this.#kill(`uncaught error: ${errorMessage(cause)}`)
    unit.scope.effect(child.label, () => this.#dispose())
    void child.ended.then(ending => this.#onEnded(ending))
  }

  async activate(bundle: string, packageRoot: string): Promise<void> {
    const { manifest, name, config } = this.#unit
    this.#unit.lifecycle.to('activating')
    const { taps, items, health, serves, prepares, drains } = await this.#channel.request('activate', {
      protocol: PROTOCOL,
      sdk: SDK_VERSION,
      manifest,
      config,
      bundle,
      packageRoot,
      projectRoot: this.#host.projectRoot,
      dataRoot: this.#host.dataRoot
    })
    this.#activated = true
    for (const descriptor of manifest.operations) this.#addProxy(descriptor)
    for (const [index, { hook, options }] of taps.entries()) {
      const tap = async (...args: readonly unknown[]): Promise<unknown> =>
        // The taps of a crashed plugin are skipped.
        this.#crash === undefined ? this.#channel.request('tap', { index, args }) : undefined
      this.#unit.taps.push({ hook, plugin: name, tap, options })
    }
    this.#unit.items.push(...receivedItems(items, name))
    for (const [index, label] of health.entries())
      this.#unit.healthChecks.push({ label, check: () => this.#channel.request('health', index) })
    this.#listen(serves.join(', '), prepares, drains.join(', '))
    this.#unit.configListeners.push(async next => void (await this.#channel.request('reconfigure', next)))
    // If the child has ended, there is nothing to wait for.
    this.#unit.drainers.push(milliseconds => this.#channel.request('drain', milliseconds).catch(() => {}))
  }

  /**
   * Forwards serve and drain events. An empty label means no listener. Errors are ignored: a crash is reported
   * elsewhere.
   */
  #listen(serves: string, prepares: boolean, drains: string): void {
    const { onServe, onDrain } = this.#unit.serving
    const prepare = async (signal: AbortSignal): Promise<void> =>
      void (await this.#channel.request('prepare', null, { signal }))
    const serve = (): void => void this.#channel.request('serve', null).catch(() => {})
    const stopWork = (reason: DrainReason): Promise<void> =>
      this.#channel.request('stopWork', reason).then(
        () => {},
        () => {}
      )
    if (serves !== '') onServe.push({ label: serves, listener: serve, ...(prepares ? { prepare } : {}) })
    if (drains !== '') onDrain.push({ label: drains, listener: stopWork })
  }

  #addProxy(descriptor: PluginManifest['operations'][number]): void {
    const { id } = descriptor
    const operation = new BoundOperation(
      descriptor,
      this.#unit,
      (input, call) => {
        const { signal, deadline, surface, principal, requestId } = call
        const onAbort = (): void => {
          if (isSvcError(signal.reason, 'OPR_TIMEOUT')) this.#watchdog.expect(GRACE_MS)
        }
        signal.addEventListener('abort', onAbort, { once: true })
        return this.#channel.request(
          'invoke',
          {
            operation: id,
            input,
            surface: surface as 'internal',
            principal,
            requestId,
            traceparent: traceparentOf(call.traceId, call.spanId, call.sampled),
            timeoutMs: deadline === Infinity ? undefined : Math.max(deadline - Date.now(), 1)
          },
          {
            signal,
            onEvent: event => call.emit(event),
            onProgress: (done, total, message) => call.progress(done, total, message)
          }
        )
      },
      this.#validator,
      this.#policy.breaker
    )
    this.#unit.operations.set(id, operation)
  }

  /** Announces topics of the plugin. Refuses those of others, and more than any plugin needs. */
  #changed(topics: readonly unknown[]): void {
    const { name } = this.#unit
    for (const topic of topics) {
      if (typeof topic !== 'string' || (topic !== name && !topic.startsWith(`${name}.`)))
        this.#refuseTopic(topic, `topics of an isolated plugin begin with its name: ${name}.*`)
      else if (topic.length > MAX_NAME_LENGTH)
        this.#refuseTopic(topic, `topics of an isolated plugin have at most ${MAX_NAME_LENGTH} characters`)
      else if (this.#topics.has(topic) || this.#topics.size < MAX_TOPICS) {
        this.#topics.add(topic)
        this.#host.changed(topic)
      } else this.#refuseTopic(topic, `an isolated plugin can announce ${MAX_TOPICS} topics; use fewer, coarser ones`)
    }
  }

  /** Logs only the first refusal, since a plugin may announce a topic thousands of times a second. */
  #refuseTopic(topic: unknown, message: string): void {
    if (this.#topicRefused) return
    this.#topicRefused = true
    this.#host.log.warn(message, { topic: String(topic).slice(0, MAX_NAME_LENGTH) })
  }

  #kill(reason: string): void {
    this.#killReason ??= reason
    this.#child.kill()
    void settlesWithin(GRACE_MS, this.#child.ended).then(ended => {
      // V8 cannot interrupt every loop of a worker thread; a process always ends.
      if (!ended)
        this.#onEnded(
          { code: null, signal: null, error: null },
          `${reason}; the thread cannot be stopped until svc restarts`
        )
    })
  }

  #onEnded(ending: ProcessExit, reason = this.#killReason): void {
    if (this.#crash !== undefined) return
    this.#watchdog.stop()
    const { name } = this.#unit
    const cause = reason ?? describeEnding(ending, this.#lastLines, this.#policy.memoryMb)
    this.#crash = kernelErrors.create('KRN_ISOLATION_CRASHED', `${name}: ${this.#child.label} ended: ${cause}`, {
      plugin: name,
      data: { code: ending.code, signal: ending.signal },
      hint: cause.startsWith('heap') ? `raise plugins.${name}.memory_mb` : `svc plugins why ${name}`,
      // Standard error may contain details that callers should not see. A cause is only logged.
      ...(this.#lastLines.length === 0 ? {} : { cause: new Error(this.#lastLines.join('\n')) })
    })
    this.#channel.close(this.#crash)
    // During activation, closing the channel already fails the activation with this error.
    if (this.#activated && !this.#leaving) this.#host.onCrash(this.#unit, this.#crash)
  }

  async #dispose(): Promise<void> {
    this.#leaving = true
    if (this.#crash !== undefined) return
    const { drainTimeoutMs } = this.#policy
    // The remaining time is reserved for a forced termination, so that the unit does not count as stuck.
    const limit = Math.max(drainTimeoutMs / 2, drainTimeoutMs - FORCE_MS)
    this.#watchdog.expect(Math.min(GRACE_MS, limit))
    const disposed = this.#channel.request('dispose', limit * 0.8).catch(() => {})
    if (!(await settlesWithin(limit, disposed)) || this.#killReason !== undefined)
      this.#host.log.error(`${this.#child.label} did not dispose in time and was killed`)
    this.#child.kill()
    await this.#child.ended
  }
}

/**
 * Validates and copies items that a child sent. Their plugin may be hostile, and structured clones hold more than data.
 * Throws `KRN_NOT_REMOTABLE`.
 */
function receivedItems(items: Contributions['items'], plugin: string): Item[] {
  const refuse = (what: string): never => {
    throw kernelErrors.create('KRN_NOT_REMOTABLE', `${plugin}: ${what}`, {
      plugin,
      hint: `contribute at most ${MAX_ITEMS} items of plain data, with labels and keys of at most ${MAX_NAME_LENGTH} characters`
    })
  }
  const isName = (name: unknown): boolean => typeof name === 'string' && name.length <= MAX_NAME_LENGTH
  if (items.length > MAX_ITEMS) refuse(`it contributes ${items.length} items`)
  return items.map(({ point, item, keys, label }) => {
    if (![point, label].every(isName) || !Array.isArray(keys) || !keys.every(isName))
      refuse('a point, key or label of its contributions is not a short text')
    try {
      return { point, item: copyData(item), keys: [...keys], label, remote: true }
    } catch (error) {
      return refuse(`its contribution to ${point} is not data: ${errorMessage(error)}`)
    }
  })
}

/** Returns the path of the bundle. Throws `KRN_NOT_REMOTABLE` if the plugin has features that work only in-process. */
async function remotableBundle(manifest: PluginManifest, code: PreparedCode, kind: string): Promise<string> {
  const { name, requires, provides, commands } = manifest
  const reasons = [
    ...requires.map(id => `requires the service ${id}`),
    ...provides.map(id => `provides the service ${id}`),
    ...commands.map(each => `has the command ${each.command}`)
  ]
  const bundle = await code.bundle
  if (reasons.length === 0 && bundle !== null) return bundle
  const why = reasons.length > 0 ? reasons.join(', ') : "is part of the host's own code"
  throw kernelErrors.create('KRN_NOT_REMOTABLE', `${name} cannot run in a separate ${kind}: it ${why}`, {
    plugin: name,
    hint:
      `set isolation = "in-process" in [plugins.${name}]; ` +
      'an isolated plugin can only offer operations, hook taps, health checks and contributions that are data'
  })
}

function describeEnding(
  { code, signal, error }: ProcessExit,
  lines: readonly string[],
  memoryMb: number | null
): string {
  const outOfMemory = (error as NodeJS.ErrnoException | null)?.code === 'ERR_WORKER_OUT_OF_MEMORY'
  if (outOfMemory || lines.some(line => line.includes('heap out of memory')))
    return `heap exhausted${memoryMb === null ? '' : ` at ${memoryMb} MiB`}`
  if (error !== null) return error.message
  return signal === null ? `exit code ${code}` : `signal ${signal}`
}
