import {
  type SecretBackend,
  type SecretReference,
  type SecretsResolver,
  secretBackend,
  secretsResolver
} from '@svc/contracts'
import {
  type BreakerPolicy,
  type Dependencies,
  type Dependency,
  defined,
  isSvcError,
  type Logger,
  type Permissions,
  SvcError,
  withTimeout
} from '@svc/plugin-sdk'
import { liveRef, type ServiceContainer } from './container.ts'
import { assertComplete, type ContextHost, createContext } from './context.ts'
import { kernelErrors } from './errors.ts'
import type { Keep } from './keep.ts'
import type { Unit } from './unit.ts'
import type { UnitHost } from './unit-host.ts'

/** Policy for one plugin, from `[plugins.NAME]`. */
export interface UnitPolicy {
  readonly isolation: 'in-process' | 'worker' | 'process'
  readonly onBootFailure: 'abort' | 'continue' | 'retry'
  readonly uncaught: 'degrade' | 'restart' | 'abort-process'
  readonly activateTimeoutMs: number
  readonly drainTimeoutMs: number
  readonly breaker: BreakerPolicy
  /** Heap limit of an isolated unit, MiB; null for Node's default. */
  readonly memoryMb: number | null
  /** Permissions granted in `svc.toml`. They replace those that the manifest requests. */
  readonly permissions: Permissions | null
}

/** The part of the kernel that activation uses. */
export interface ActivationHost {
  readonly keep: Keep
  readonly projectRoot: string
  readonly dataRoot: string
  /** Services of units that stay and of units activated so far. Null after the activation. */
  draft: ServiceContainer | null
  log: Logger
  invoke: ContextHost['invoke']
  trigger: ContextHost['trigger']
  isTapped: ContextHost['isTapped']
  changed: ContextHost['changed']
  onUncaught(unit: Unit, error: unknown): void
  /** Called when the worker or process of an isolated unit ends unexpectedly. */
  onCrash(unit: Unit, error: SvcError): void
}

/** Runs units in this process. */
export const inProcess: UnitHost = {
  async activate(unit, code, packageRoot, policy, host) {
    const instance = code.instantiate({
      effect: (label, dispose) => unit.scope.effect(label, dispose),
      onLeak: description => host.log.warn(`${description} was left open; the kernel closed it`),
      onError: error => host.onUncaught(unit, error)
    })
    unit.lifecycle.to('activating')
    const context = createContext(unit, {
      log: host.log,
      projectRoot: host.projectRoot,
      packageRoot,
      dataRoot: host.dataRoot,
      keep: host.keep,
      breaker: policy.breaker,
      isolated: false,
      invoke: host.invoke,
      trigger: host.trigger,
      isTapped: host.isTapped,
      changed: host.changed,
      adopt: open => instance.adopt(open)
    })
    const { requires = {}, optional = {} } = instance.plugin as { requires?: Dependencies; optional?: Dependencies }
    const dependencies = resolveDependencies({ ...requires, ...optional }, unit, host)
    const run = async (): Promise<void> => {
      const disposer = await instance.plugin.activate(context, dependencies as never)
      if (typeof disposer !== 'function') return
      // `activate` may return after its timeout. The resources that it opened must still be closed.
      if (!unit.scope.closed) unit.scope.effect('activate', disposer)
      else await Promise.resolve(disposer()).catch(error => host.log.warn('a disposer failed', { error }))
    }
    await limitActivation(run, policy.activateTimeoutMs, unit)
    assertComplete(unit)
  }
}

function resolveDependencies(declared: Dependencies, unit: Unit, host: ActivationHost): Record<string, unknown> {
  const resolve = (dependency: Dependency): unknown =>
    dependency.kind === 'ref' ? liveRef(dependency.id, token => unit.lookup(token)) : host.draft?.resolve(dependency.id)
  return Object.fromEntries(Object.entries(declared).map(([key, dependency]) => [key, resolve(dependency)]))
}

/** Runs an activation with a timeout. Rejects at the timeout, or if the unit is disposed during activation. */
export function limitActivation<A>(run: () => Promise<A>, milliseconds: number, unit: Unit): Promise<A> {
  const { name: plugin, signal } = unit
  const error = (): SvcError =>
    kernelErrors.create(
      'KRN_ACTIVATE_FAILED',
      `the activate function of ${plugin} did not finish within ${milliseconds} ms`,
      {
        plugin,
        hint: `raise plugins.${plugin}.activate_timeout_ms`
      }
    )
  return withTimeout(milliseconds, run, { signal, error })
}

/** Wraps an error of `activate` with the plugin's name and source location. `hide` masks secrets in the message. */
export function activationError(
  plugin: string,
  error: unknown,
  hide: (text: string) => string = text => text
): SvcError {
  if (isSvcError(error) && error.plugin === plugin && hide(error.message) === error.message) return error
  const cause = error instanceof Error ? error : new Error(String(error))
  if (isSvcError(error)) {
    const { code, message, status, hint, at, data } = error
    return new SvcError(code, hide(error.plugin === plugin ? message : `${plugin}: ${message}`), {
      status,
      plugin,
      cause,
      ...defined({ hint, at, data })
    })
  }
  const place = /\(?(\S+:\d+:\d+)\)?$/m.exec(
    cause.stack?.split('\n').find(line => line.trim().startsWith('at ')) ?? ''
  )?.[1]
  return kernelErrors.create(
    'KRN_ACTIVATE_FAILED',
    hide(`${plugin} failed to activate: ${cause.message}${place === undefined ? '' : ` (${place})`}`),
    { plugin, cause }
  )
}

/**
 * Returns a function that resolves secret references with the services of a container. The graph ensures that the
 * backend or the resolver exists.
 */
export function secretLookup(services: ServiceContainer): (reference: SecretReference) => Promise<string> {
  return async reference => {
    const backend = services.resolve(secretBackend(reference.backend).id) as SecretBackend | undefined
    if (backend !== undefined) return backend.resolve(reference.name)
    return (services.resolve(secretsResolver.id) as SecretsResolver).resolve(reference)
  }
}
