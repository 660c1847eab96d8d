import type { ActivationHost, UnitPolicy } from './activate.ts'
import type { PreparedCode } from './plugin-source.ts'
import type { Unit } from './unit.ts'

/** Runs units of one kind of isolation. */
export interface UnitHost {
  /** Brings a unit from `loading` to `activating` and runs its `activate`. The flip makes it `active`. */
  activate(unit: Unit, code: PreparedCode, packageRoot: string, policy: UnitPolicy, host: ActivationHost): Promise<void>
}

/** Hosts by kind of isolation. If the host is absent, activation fails with `KRN_NOT_REMOTABLE`. */
export type UnitHosts = Readonly<Partial<Record<Exclude<UnitPolicy['isolation'], 'in-process'>, UnitHost>>>
