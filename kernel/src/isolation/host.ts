import type { ActivationHost, UnitPolicy } from '../activate.ts'
import { kernelErrors } from '../errors.ts'
import type { PreparedCode } from '../source.ts'
import type { Unit } from '../unit.ts'

export async function activateIsolated(
  unit: Unit,
  _code: PreparedCode,
  _packageRoot: string,
  policy: UnitPolicy,
  _host: ActivationHost
): Promise<void> {
  throw kernelErrors.create('KRN_NOT_REMOTABLE', `${unit.name}: ${policy.isolation} isolation is not built yet`)
}
