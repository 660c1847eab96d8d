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
import { Validator } from '@svc/plugin-sdk/check'
import { type ActivationHost, limitActivation, type UnitPolicy } from '../core/activate.ts'
import { kernelErrors } from '../core/errors.ts'
import { BoundOperation } from '../core/operations.ts'
import type { PreparedCode } from '../core/plugin-source.ts'
import type { Unit } from '../core/unit.ts'
import type { UnitHost } from '../core/unit-host.ts'
import { Channel } from './channel.ts'
import { childEntry } from './entry.ts'
import { type FarSide, type ProcessExit, startProcess, startWorker } from './far-side.ts'
import { PROTOCOL, type ToChild, type ToHost } from './protocol.ts'
import { decodeError } from './remote-error.ts'
import { allowedEnvironment, packageFolders, permissionFlags } from './sandbox.ts'
import { Watchdog } from './watchdog.ts'

/** Limit for a sign of life from a plugin that exceeded a call's deadline, or that is being disposed. */
const GRACE_MS = 2_000
/** Limit for the end of a worker or process after a forced termination. */
const FORCE_MS = 1_000
/** Lines of standard error in a crash report. */
const LAST_LINES = 20

/**
 * Runs a plugin in a separate worker or process, confined to the permissions of its manifest or of `svc.toml`.
 *
 * 1. The far side starts, checks that both are of one version, evaluates the bundle and runs `activate` there.
 * 2. On this side the unit gets a proxy for each operation, hook tap and health check, and forwards live settings.
 * 3. A far side that ends by itself, or that does not answer, rejects what is in flight with `KRN_ISOLATION_CRASHED` and is
 *    reported to the kernel, which decides when it comes back.
 * 4. Disposal runs the plugin's disposers on the far side, then ends it, by force near the deadline.
 *
 * A process isolates better than a worker: V8 cannot interrupt every loop of a worker, and one huge allocation there
 * crashes the host.
 *
 * Throws `KRN_NOT_REMOTABLE` before anything starts if the manifest has services or commands.
 */
export const isolated: UnitHost = {
  async activate(unit, code, packageRoot, policy, host) {
    const kind = policy.isolation === 'worker' ? 'worker' : 'process'
    const bundle = await remotableBundle(unit.manifest, code, kind)
    const { optional, permissions: asked } = unit.manifest
    if (optional.length > 0) host.log.warn(`runs without ${optional.join(', ')}: services do not reach a ${kind}`)
    const entry = await childEntry('child')
    const permissions = policy.permissions ?? asked
    const lastLines: string[] = []
    const farSide = (kind === 'worker' ? startWorker : startProcess)({
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
    const here = new IsolatedUnit(unit, farSide, policy, host, lastLines)
    await limitActivation(() => here.activate(bundle, packageRoot), policy.activateTimeoutMs, unit)
  }
}

/** This side of an isolated plugin. */
class IsolatedUnit {
  readonly #unit: Unit
  readonly #farSide: FarSide
  readonly #policy: UnitPolicy
  readonly #host: ActivationHost
  readonly #lastLines: readonly string[]
  readonly #channel: Channel<ToChild, ToHost>
  readonly #watchdog: Watchdog
  readonly #validator = new Validator()
  /** Reason, if this side ended it. */
  #verdict: string | undefined
  #crash: SvcError | undefined
  #activated = false
  #leaving = false

  constructor(unit: Unit, farSide: FarSide, policy: UnitPolicy, host: ActivationHost, lastLines: readonly string[]) {
    this.#unit = unit
    this.#farSide = farSide
    this.#policy = policy
    this.#host = host
    this.#lastLines = lastLines
    this.#channel = new Channel(unit.name, farSide, {
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
      uncaught: error => host.onUncaught(unit, decodeError(error))
    })
    this.#watchdog = new Watchdog(
      () => this.#channel.request('ping', null),
      milliseconds => this.#kill(`it did not respond for ${milliseconds} ms: an endless loop, or a blocked event loop`)
    )
    unit.kill = cause => this.#kill(`uncaught error: ${errorMessage(cause)}`)
    unit.scope.effect(farSide.label, () => this.#dispose())
    void farSide.ended.then(ending => this.#onEnded(ending))
  }

  async activate(bundle: string, packageRoot: string): Promise<void> {
    const { manifest, name, config } = this.#unit
    this.#unit.lifecycle.to('activating')
    const { taps, health, serves, prepares, drains } = await this.#channel.request('activate', {
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
    for (const descriptor of manifest.operations) this.#standIn(descriptor)
    for (const [index, { hook, options }] of taps.entries()) {
      const tap = async (...args: readonly unknown[]): Promise<unknown> =>
        // The taps of a crashed plugin are skipped, as if it were absent.
        this.#crash === undefined ? this.#channel.request('tap', { index, args }) : undefined
      this.#unit.taps.push({ hook, plugin: name, tap, options })
    }
    for (const [index, label] of health.entries())
      this.#unit.healthChecks.push({ label, check: () => this.#channel.request('health', index) })
    this.#listen(serves.join(', '), prepares, drains.join(', '))
    this.#unit.configListeners.push(async next => void (await this.#channel.request('reconfigure', next)))
    // After the end of the far side there is nothing to wait for.
    this.#unit.drainers.push(milliseconds => this.#channel.request('drain', milliseconds).catch(() => {}))
  }

  /** An empty label: the plugin does not listen. The end of the far side is reported elsewhere. */
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

  #standIn(descriptor: PluginManifest['operations'][number]): void {
    const { id } = descriptor
    const operation = new BoundOperation(
      descriptor,
      this.#unit,
      (input, call) => {
        const { signal, deadline, surface, principal, requestId } = call
        const lateness = (): void => {
          if (isSvcError(signal.reason, 'OPR_TIMEOUT')) this.#watchdog.expect(GRACE_MS)
        }
        signal.addEventListener('abort', lateness, { once: true })
        return this.#channel.request(
          'invoke',
          {
            operation: id,
            input,
            surface: surface as 'internal',
            principal,
            requestId,
            traceparent: traceparentOf(call.traceId, call.spanId),
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

  #kill(verdict: string): void {
    this.#verdict ??= verdict
    this.#farSide.kill()
    void settlesWithin(GRACE_MS, this.#farSide.ended).then(ended => {
      // V8 cannot interrupt every loop of a worker; a process always ends.
      if (!ended)
        this.#onEnded({ code: null, signal: null, error: null }, `${verdict}, which only a restart of svc ends`)
    })
  }

  #onEnded(ending: ProcessExit, verdict = this.#verdict): void {
    if (this.#crash !== undefined) return
    this.#watchdog.stop()
    const { name } = this.#unit
    const cause = verdict ?? describeEnding(ending, this.#lastLines, this.#policy.memoryMb)
    this.#crash = kernelErrors.create('KRN_ISOLATION_CRASHED', `${name}: ${this.#farSide.label} ended: ${cause}`, {
      plugin: name,
      data: { code: ending.code, signal: ending.signal },
      hint: cause.startsWith('heap') ? `raise plugins.${name}.memory_mb` : `svc plugins why ${name}`,
      // Standard error may hold details that callers should not see; causes stay in the log.
      ...(this.#lastLines.length === 0 ? {} : { cause: new Error(this.#lastLines.join('\n')) })
    })
    this.#channel.close(this.#crash)
    // Before activation has ended, the activation fails with this error.
    if (this.#activated && !this.#leaving) this.#host.onCrash(this.#unit, this.#crash)
  }

  async #dispose(): Promise<void> {
    this.#leaving = true
    if (this.#crash !== undefined) return
    const { drainTimeoutMs } = this.#policy
    // The rest is for forced termination, so that a terminated plugin does not count as stuck.
    const limit = Math.max(drainTimeoutMs / 2, drainTimeoutMs - FORCE_MS)
    this.#watchdog.expect(Math.min(GRACE_MS, limit))
    const going = this.#channel.request('dispose', limit * 0.8).catch(() => {})
    if (!(await settlesWithin(limit, going)) || this.#verdict !== undefined)
      this.#host.log.error(`${this.#farSide.label} did not dispose in time and was killed`)
    this.#farSide.kill()
    await this.#farSide.ended
  }
}

/** Path of the bundle; throws `KRN_NOT_REMOTABLE` if the manifest has something that cannot cross the boundary. */
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
    hint: `set isolation = "in-process" in [plugins.${name}]; only operations, hook taps and health checks cross`
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
