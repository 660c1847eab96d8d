import { isDeepStrictEqual } from 'node:util'
import {
  type Contribution,
  type GenerationDiff,
  type GenerationView,
  kernelHooks,
  type OperationEntry
} from '@svc/contracts'
import type { CommandHandler, DeclaredHook, Point, ServiceId } from '@svc/plugin-sdk'
import { ServiceContainer } from './container.ts'
import { kernelErrors } from './errors.ts'
import { type DeclaredHooks, HookSet, type TapHost } from './hooks.ts'
import type { Unit } from './unit.ts'

/**
 * Immutable snapshot of all serving units. Throws `KRN_CONFLICT`, naming both owners, if two units contribute one key.
 */
export class Generation implements GenerationView {
  readonly id: number
  readonly units: ReadonlyMap<string, Unit>
  readonly operations: ReadonlyMap<string, OperationEntry>
  readonly services: ServiceContainer
  readonly hooks: HookSet
  readonly commands: ReadonlyMap<string, { readonly unit: Unit; readonly run: CommandHandler }>
  readonly #items = new Map<string, Contribution<unknown>[]>()
  /** Items of isolated units, which only points for data have. */
  readonly #remoteItems = new Set<Contribution<unknown>>()

  constructor(id: number, units: readonly Unit[], builtin: ReadonlyMap<ServiceId, unknown>, taps: TapHost) {
    this.id = id
    this.units = new Map(units.map(unit => [unit.name, unit]))
    const owners = new Map<string, string>()
    this.operations = composeOperations(units, owners)
    this.commands = composeCommands(units, owners)
    this.services = new ServiceContainer()
    for (const [token, value] of builtin) this.services.register(token, value)
    for (const unit of units) {
      for (const [token, value] of unit.services) {
        claim(owners, `service ${token}`, unit.name)
        this.services.register(token, value)
      }
      for (const { point, item, keys, label, remote } of unit.items) {
        for (const key of keys) claim(owners, `${point} ${key}`, unit.name)
        const list = this.#items.get(point) ?? []
        const contribution = { item, unit, label }
        if (remote === true) this.#remoteItems.add(contribution)
        list.push(contribution)
        this.#items.set(point, list)
      }
    }
    this.hooks = new HookSet(
      units.flatMap(unit => unit.taps.map(tap => ({ ...tap, unit }))),
      declaredHooks(units),
      taps
    )
  }

  items<A>(at: Point<A>): readonly Contribution<A>[] {
    const items = (this.#items.get(at.id) ?? []) as Contribution<A>[]
    return at.data === true || this.#remoteItems.size === 0 ? items : items.filter(each => !this.#remoteItems.has(each))
  }
}

function declaredHooks(units: readonly Unit[]): DeclaredHooks {
  const hooks: readonly DeclaredHook[] = [...kernelHooks, ...units.flatMap(unit => unit.manifest.hooks)]
  return new Map(hooks.map(hook => [hook.id, hook]))
}

function composeOperations(units: readonly Unit[], owners: Map<string, string>): Map<string, OperationEntry> {
  const operations = new Map<string, OperationEntry>()
  for (const unit of units) {
    for (const [id, operation] of unit.operations) {
      for (const key of [`operation ${id}`, ...operation.descriptor.claims]) claim(owners, key, unit.name)
      operations.set(id, operation)
    }
  }
  return operations
}

function composeCommands(units: readonly Unit[], owners: Map<string, string>): Generation['commands'] {
  const commands = new Map<string, { unit: Unit; run: CommandHandler }>()
  for (const unit of units) {
    for (const [command, run] of unit.commands) {
      claim(owners, `command ${command}`, unit.name)
      commands.set(command, { unit, run })
    }
  }
  return commands
}

function claim(owners: Map<string, string>, key: string, owner: string): void {
  const other = owners.get(key)
  if (other === undefined) {
    owners.set(key, owner)
    return
  }
  const reason = other === owner ? `${owner} contributes it twice` : `${other} and ${owner} both contribute it`
  throw kernelErrors.create('KRN_CONFLICT', `conflict on ${key}: ${reason}`, {
    data: { key, owners: [other, owner] },
    hint: other === owner ? 'remove one of the two' : `rename one, or run: svc plugins disable ${owner}`
  })
}

/** Compares a generation with its predecessor, which is undefined for the first one. */
export function diffGenerations(previous: Generation | undefined, next: Generation): GenerationDiff {
  const before: ReadonlyMap<string, Unit> = previous?.units ?? new Map()
  const names = [...next.units.keys()]
  const replaced = [...before.values()].filter(unit => next.units.get(unit.name) !== unit)
  const fresh = [...next.units.values()].filter(unit => before.get(unit.name) !== unit)
  // A unit that stays declares the same as before, so only added and removed units are compared.
  const ids = new Set([...replaced, ...fresh].flatMap(unit => [...unit.operations.keys()]))
  return {
    generation: next.id,
    added: names.filter(name => !before.has(name)),
    replaced: fresh.map(unit => unit.name).filter(name => before.has(name)),
    removed: [...before.keys()].filter(name => !next.units.has(name)),
    operations: [...ids].filter(id => !same(previous?.operations.get(id), next.operations.get(id)))
  }
}

function same(a: OperationEntry | undefined, b: OperationEntry | undefined): boolean {
  return a === b || isDeepStrictEqual(a?.descriptor, b?.descriptor)
}
