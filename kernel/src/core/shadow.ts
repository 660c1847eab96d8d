import { type PreparedSurface, type Surface, surfaces } from '@svc/contracts'
import {
  defined,
  errorMessage,
  isSvcError,
  type ServiceId,
  SvcError,
  settlesWithin,
  withTimeout
} from '@svc/plugin-sdk'
import { activationError } from './activate.ts'
import { ServiceContainer } from './container.ts'
import { kernelErrors } from './errors.ts'
import { Generation } from './generation.ts'
import type { TapHost } from './hooks.ts'
import type { Desired, Inventory } from './inventory.ts'
import type { Plan } from './plan.ts'
import type { Unit } from './unit.ts'
import type { UnitFactory } from './unit-factory.ts'

export interface Shadow {
  readonly generation: Generation
  /** Units that were activated for this generation, in activation order. */
  readonly fresh: readonly Unit[]
  /** Preparations of surfaces; aborted in reverse order if the change fails. */
  readonly prepared: readonly Prepared[]
}

export interface Prepared extends PreparedSurface {
  readonly plugin: string
}

/** The parts of the kernel that building uses. */
export interface ShadowHost {
  readonly inventory: Inventory
  readonly factory: UnitFactory
  readonly builtin: ReadonlyMap<ServiceId, unknown>
  /** Aborted when the kernel closes; cancels long steps. */
  readonly closing: AbortSignal
  /** Returns the serving generation. */
  current(): Generation
  readonly taps: TapHost
}

/**
 * Builds the next generation while the current one serves:
 * 1. activates new units, providers first;
 * 2. composes the snapshot, which detects conflicts;
 * 3. prepares every surface for it, then every new unit.
 * An error aborts the preparations of surfaces and is rethrown with the plugin's name.
 *
 * `begun`: units that an earlier attempt of this change activated. New units are added to it. On failure, the caller
 * disposes them.
 */
export async function buildShadow(
  desired: Desired,
  plan: Plan,
  begun: Map<string, Unit>,
  host: ShadowHost
): Promise<Shadow> {
  const prepared: Prepared[] = []
  try {
    const units = await activateAll(desired, plan, begun, host)
    const generation = new Generation(host.current().id + 1, units, host.builtin, host.taps)
    for (const { item, unit } of generation.items<Surface>(surfaces)) {
      prepared.push(await prepareSurface(item, generation, unit.name, host))
    }
    const fresh = [...begun.values()]
    for (const unit of fresh) await prepareUnit(unit, host)
    return { generation, fresh, prepared }
  } catch (error) {
    throw abortAll(prepared, error)
  }
}

/** Aborts the preparations of surfaces, last first. Returns the cause, combined with errors of the aborts. */
export function abortAll(prepared: readonly Prepared[], cause: unknown): unknown {
  const problems: unknown[] = []
  for (const surface of [...prepared].reverse()) {
    try {
      surface.abort()
    } catch (error) {
      problems.push(error)
    }
  }
  return problems.length === 0 ? cause : joined(cause, problems)
}

function joined(error: unknown, problems: readonly unknown[]): Error {
  const all = new AggregateError([error, ...problems], 'a change failed, and so did its rollback')
  const text = `${errorMessage(error)}; the rollback failed too: ${problems.map(errorMessage).join('; ')}`
  if (!isSvcError(error)) return new Error(text, { cause: all })
  const { code, status, hint, at, data, plugin } = error
  return new SvcError(code, text, { status, cause: all, ...defined({ hint, at, data, plugin }) })
}

/** Activates the new units, providers first. Returns all units of the next generation. */
async function activateAll(
  desired: Desired,
  { keep }: Plan,
  begun: Map<string, Unit>,
  { factory, builtin, closing, current }: ShadowHost
): Promise<Unit[]> {
  const { order, edges } = desired.graph
  const kept = keep.flatMap(name => current().units.get(name) ?? [])
  const units = new Map([...kept, ...begun.values()].map(unit => [unit.name, unit]))
  const draft = new ServiceContainer()
  for (const [token, value] of builtin) draft.register(token, value)
  for (const unit of units.values()) offer(unit, draft)
  const wanted = order.filter(name => desired.units.has(name))
  for (const name of wanted.filter(each => !units.has(each))) {
    closing.throwIfAborted()
    const unit = await factory.activate(name, draft)
    units.set(name, unit)
    begun.set(name, unit)
    for (const { from, to } of edges) {
      const provider = from === name && to !== null ? units.get(to) : undefined
      if (provider !== undefined) unit.providers.add(provider.instance)
    }
    offer(unit, draft)
  }
  return wanted.flatMap(name => units.get(name) ?? [])
}

function offer(unit: Unit, draft: ServiceContainer): void {
  for (const [token, value] of unit.services) draft.register(token, value)
}

/** Throws if the process of an isolated unit ended while other units were being activated. */
export function assertAlive(unit: Unit): void {
  if (unit.state !== 'failed') return
  throw kernelErrors.create('KRN_ISOLATION_CRASHED', `${unit.name} ended before it could serve; see its log`, {
    plugin: unit.name
  })
}

async function prepareSurface(
  surface: Surface,
  generation: Generation,
  plugin: string,
  { inventory, closing }: ShadowHost
): Promise<Prepared> {
  const limitMs = inventory.configurationOf(plugin).policy.activateTimeoutMs
  try {
    const preparing = Promise.resolve(surface.prepare(generation))
    if (await settlesWithin(limitMs, preparing, closing)) {
      const prepared = await preparing
      return { plugin, commit: () => prepared.commit(), abort: () => prepared.abort() }
    }
    // A preparation that finishes after the timeout is aborted.
    preparing.then(late => late.abort()).catch(() => {})
    closing.throwIfAborted()
    throw new Error(`its preparation did not finish within ${limitMs} ms`)
  } catch (error) {
    throw refusal(plugin, error)
  }
}

async function prepareUnit(unit: Unit, { inventory, closing }: ShadowHost): Promise<void> {
  const { name, serving } = unit
  const limitMs = inventory.configurationOf(name).policy.activateTimeoutMs
  const late = (): Error => new Error(`its preparation did not finish within ${limitMs} ms`)
  try {
    if (serving.onServe.some(each => each.prepare !== undefined))
      await withTimeout(limitMs, signal => serving.prepare(signal), { signal: closing, error: late })
  } catch (error) {
    closing.throwIfAborted()
    assertAlive(unit)
    throw refusal(name, error)
  }
}

function refusal(plugin: string, error: unknown): SvcError {
  // If the error names a plugin, the surface rejected that plugin's contribution and is not itself at fault.
  if (isSvcError(error) && error.plugin !== undefined) return error
  const known = activationError(plugin, error)
  if (known.code !== 'KRN_ACTIVATE_FAILED') return known
  return kernelErrors.create('KRN_SURFACE_REFUSED', `${plugin} refused the change: ${errorMessage(error)}`, {
    plugin,
    cause: error
  })
}
