import { type PreparedSurface, type Surface, surfaces } from '@svc/contracts'
import { isSvcError, type ServiceId } from '@svc/plugin-sdk'
import { activationError } from './activate.ts'
import { ServiceContainer } from './container.ts'
import { kernelErrors } from './errors.ts'
import { Generation } from './generation.ts'
import type { Unit } from './unit.ts'

export interface Shadow {
  readonly generation: Generation
  /** Units that were activated for it, in order. */
  readonly fresh: readonly Unit[]
  readonly prepared: readonly PreparedSurface[]
}

export interface ShadowRequest {
  readonly id: number
  /** Activation order of the whole next generation. */
  readonly order: readonly string[]
  /** Units that stay. */
  readonly kept: ReadonlyMap<string, Unit>
  readonly builtin: ReadonlyMap<ServiceId, unknown>
  /** Makes and activates the unit of a plugin. Disposes what it began when it fails. */
  activate(name: string, draft: ServiceContainer): Promise<Unit>
  /** Undo of an activation. */
  discard(unit: Unit): Promise<void>
  report(plugin: string, hookId: string, error: unknown): void
}

/**
 * Builds the next generation beside the running one:
 * 1. activates new units, providers first;
 * 2. composes the snapshot, where conflicts show;
 * 3. asks every surface to prepare for it.
 * Anything that throws disposes the new units alone, last first, and is thrown on with the plugin's name.
 */
export async function buildShadow(request: ShadowRequest): Promise<Shadow> {
  const fresh: Unit[] = []
  const prepared: PreparedSurface[] = []
  try {
    const draft = draftServices(request)
    const units: Unit[] = []
    for (const name of request.order) {
      const unit = request.kept.get(name) ?? (await activateFresh(name, request, draft, fresh))
      units.push(unit)
    }
    const generation = new Generation(request.id, units, request.builtin, request.report)
    for (const { item, unit } of generation.items<Surface>(surfaces)) {
      prepared.push(await prepareSurface(item, generation, unit.name))
    }
    for (const unit of fresh) assertAlive(unit)
    return { generation, fresh, prepared }
  } catch (error) {
    await discardShadow({ fresh, prepared }, request.discard, error)
    throw error
  }
}

/** Disposes a shadow that will not serve. Errors on the way are joined to the one that caused it. */
export async function discardShadow(
  shadow: Pick<Shadow, 'fresh' | 'prepared'>,
  discard: (unit: Unit) => Promise<void>,
  cause: unknown
): Promise<void> {
  const problems: unknown[] = []
  for (const surface of [...shadow.prepared].reverse()) {
    try {
      surface.abort()
    } catch (error) {
      problems.push(error)
    }
  }
  for (const unit of [...shadow.fresh].reverse()) {
    await discard(unit).catch((error: unknown) => problems.push(error))
  }
  if (problems.length > 0)
    throw new AggregateError([cause, ...problems], `${message(cause)}; undoing it failed as well`)
}

function draftServices(request: ShadowRequest): ServiceContainer {
  const draft = new ServiceContainer()
  for (const [token, value] of request.builtin) draft.register(token, value)
  for (const unit of request.kept.values()) {
    for (const [token, value] of unit.services) draft.register(token, value)
  }
  return draft
}

async function activateFresh(
  name: string,
  request: ShadowRequest,
  draft: ServiceContainer,
  fresh: Unit[]
): Promise<Unit> {
  const unit = await request.activate(name, draft).catch((error: unknown) => {
    throw activationError(name, error)
  })
  fresh.push(unit)
  for (const [token, value] of unit.services) draft.register(token, value)
  return unit
}

/** An isolated unit can be lost while others are still being activated. */
function assertAlive(unit: Unit): void {
  if (unit.state !== 'failed') return
  throw kernelErrors.create('KRN_ISOLATION_CRASHED', `${unit.name} ended before it could serve; see its log`, {
    plugin: unit.name
  })
}

async function prepareSurface(surface: Surface, generation: Generation, plugin: string): Promise<PreparedSurface> {
  try {
    return await surface.prepare(generation)
  } catch (error) {
    // A surface that says whose contribution it refuses is not the one at fault.
    if (isSvcError(error) && error.plugin !== undefined) throw error
    const known = activationError(plugin, error)
    if (known.code !== 'KRN_ACTIVATE_FAILED') throw known
    throw kernelErrors.create('KRN_SURFACE_REFUSED', `${plugin} refused the change: ${message(error)}`, {
      plugin,
      cause: error
    })
  }
}

function message(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
