import { type PreparedSurface, type Surface, surfaces } from '@svc/contracts'
import { errorMessage, isSvcError, type ServiceId, SvcError, settlesWithin, withTimeout } from '@svc/plugin-sdk'
import { activationError } from './activate.ts'
import { ServiceContainer } from './container.ts'
import { kernelErrors } from './errors.ts'
import { Generation } from './generation.ts'
import type { Unit } from './unit.ts'

export interface Shadow {
  readonly generation: Generation
  /** Units that were activated for it, in order. */
  readonly fresh: readonly Unit[]
  /** Undone, in reverse order, if the change fails. */
  readonly prepared: readonly Prepared[]
}

export interface Prepared extends PreparedSurface {
  readonly plugin: string
}

export interface ShadowRequest {
  readonly id: number
  /** Activation order of the whole next generation. */
  readonly order: readonly string[]
  /** Units that stay. */
  readonly kept: ReadonlyMap<string, Unit>
  /** Units that an earlier attempt of this change activated. New ones are added. The caller disposes them on failure. */
  readonly begun: Map<string, Unit>
  readonly builtin: ReadonlyMap<ServiceId, unknown>
  /** Aborted when the kernel closes: what takes long is given up. */
  readonly closing: AbortSignal
  /** Makes and activates the unit of a plugin. Disposes what it began when it fails. */
  activate(name: string, draft: ServiceContainer): Promise<Unit>
  /** Plugins whose services a plugin holds. */
  providersOf(name: string): readonly string[]
  /** How long a plugin's surface may take to prepare; milliseconds. */
  timeoutOf(name: string): number
  report(plugin: string, hookId: string, error: unknown): void
}

/**
 * Builds the next generation while the current one serves:
 * 1. activates new units, providers first;
 * 2. composes the snapshot, where conflicts show;
 * 3. asks every surface to prepare for it, then every new unit.
 * Anything that throws aborts what surfaces prepared, and is thrown on with the plugin's name.
 */
export async function buildShadow(request: ShadowRequest): Promise<Shadow> {
  const prepared: Prepared[] = []
  try {
    const units = await activateAll(request)
    const generation = new Generation(request.id, [...units.values()], request.builtin, request.report)
    for (const { item, unit } of generation.items<Surface>(surfaces)) {
      prepared.push(await prepareSurface(item, generation, unit.name, request))
    }
    const fresh = [...request.begun.values()]
    for (const unit of fresh) await prepareUnit(unit, request)
    return { generation, fresh, prepared }
  } catch (error) {
    throw abortAll(prepared, error)
  }
}

/** Takes back what surfaces prepared, last first. Returns the cause, with whatever went wrong on the way joined to it. */
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
  const all = new AggregateError([error, ...problems], 'a change failed, and undoing it as well')
  const text = `${errorMessage(error)}; undoing it failed as well: ${problems.map(errorMessage).join('; ')}`
  if (!isSvcError(error)) return new Error(text, { cause: all })
  const { code, status, hint, at, data, plugin } = error
  const details = Object.entries({ hint, at, data, plugin }).filter(([, value]) => value !== undefined)
  return new SvcError(code, text, { status, cause: all, ...Object.fromEntries(details) })
}

/** All units of the next generation, providers first. */
async function activateAll(request: ShadowRequest): Promise<Map<string, Unit>> {
  const { kept, begun, builtin, closing } = request
  const draft = new ServiceContainer()
  for (const [token, value] of builtin) draft.register(token, value)
  for (const unit of [...kept.values(), ...begun.values()]) offer(unit, draft)
  const units = new Map<string, Unit>()
  for (const name of request.order) {
    const there = kept.get(name) ?? begun.get(name)
    if (there === undefined && closing.aborted) throw closing.reason
    const unit = there ?? (await request.activate(name, draft))
    if (there === undefined) {
      begun.set(name, unit)
      for (const provider of request.providersOf(name)) {
        const instance = units.get(provider)?.instance
        if (instance !== undefined) unit.providers.add(instance)
      }
      offer(unit, draft)
    }
    units.set(name, unit)
  }
  return units
}

function offer(unit: Unit, draft: ServiceContainer): void {
  for (const [token, value] of unit.services) draft.register(token, value)
}

/** Throws for an isolated unit that was lost while others were still being activated. */
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
  { timeoutOf, closing }: ShadowRequest
): Promise<Prepared> {
  const limitMs = timeoutOf(plugin)
  try {
    const preparing = Promise.resolve(surface.prepare(generation))
    if (await settlesWithin(limitMs, preparing, closing)) {
      const prepared = await preparing
      return { plugin, commit: () => prepared.commit(), abort: () => prepared.abort() }
    }
    // Whatever it still prepares comes too late.
    preparing.then(late => late.abort()).catch(() => {})
    closing.throwIfAborted()
    throw new Error(`it did not prepare within ${limitMs} ms`)
  } catch (error) {
    throw refusal(plugin, error)
  }
}

async function prepareUnit(unit: Unit, { timeoutOf, closing }: ShadowRequest): Promise<void> {
  const { name, serving } = unit
  const limitMs = timeoutOf(name)
  const late = (): Error => new Error(`it did not prepare within ${limitMs} ms`)
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
  // A surface that says whose contribution it refuses is not the one at fault.
  if (isSvcError(error) && error.plugin !== undefined) return error
  const known = activationError(plugin, error)
  if (known.code !== 'KRN_ACTIVATE_FAILED') return known
  return kernelErrors.create('KRN_SURFACE_REFUSED', `${plugin} refused the change: ${errorMessage(error)}`, {
    plugin,
    cause: error
  })
}
