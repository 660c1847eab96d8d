import type { DashboardRole } from '@svc/contracts'
import type { OperationDescriptor, Principal } from '@svc/plugin-sdk'
import { dashboardErrors } from '../errors.ts'

/** Roles, from least to most rights. */
export const ROLES = ['viewer', 'operator', 'owner'] as const satisfies readonly DashboardRole[]

/** Name of the console as the surface of a call. */
export const SURFACE = 'console'

export function isRole(value: unknown): value is DashboardRole {
  return (ROLES as readonly unknown[]).includes(value)
}

/** Returns whether a role has at least the rights of another. */
export function reaches(role: DashboardRole, least: DashboardRole): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(least)
}

/** Caller of an operation: a session, or the console itself for reads that sessions of a role share. */
export function principalOf(id: string, role: DashboardRole): Principal {
  return { id: `${SURFACE}:${id}`, role, scopes: role === 'owner' ? ['*'] : [] }
}

type Called = Pick<OperationDescriptor, 'id' | 'effect' | 'scopes'>

/**
 * Returns whether a role may call an operation. A viewer may call reads without scopes, an operator also writes without
 * scopes, and an owner everything. A read-only console allows only reads.
 */
export function mayCall(role: DashboardRole, readOnly: boolean, { effect, scopes }: Called): boolean {
  if (effect !== 'read' && readOnly) return false
  if (role === 'owner') return true
  if (scopes.length > 0) return false
  return effect === 'read' || (effect === 'write' && role === 'operator')
}

/** Throws `DSH_READ_ONLY` or `DSH_ROLE_FORBIDDEN` unless {@link mayCall}. */
export function checkMayCall(role: DashboardRole, readOnly: boolean, operation: Called): void {
  if (mayCall(role, readOnly, operation)) return
  const { id, effect, scopes } = operation
  if (effect !== 'read' && readOnly)
    throw dashboardErrors.create('DSH_READ_ONLY', `${id} changes something, and the console is read-only`, {
      hint: 'set read_only = false in [plugins.dashboard]'
    })
  const needs = scopes.length > 0 ? `the scope ${scopes.join(', ')}` : `the right to a ${effect} operation`
  const least = scopes.length === 0 && effect === 'write' ? 'operator' : 'owner'
  throw dashboardErrors.create('DSH_ROLE_FORBIDDEN', `${id} needs ${needs}, which the role ${role} does not have`, {
    hint: `sign in with more rights: svc dashboard --role ${least}`
  })
}

/** Returns whether the caller of an operation may call another one: a session by its role, others by their scopes. */
export function principalMayCall(principal: Principal, readOnly: boolean, operation: Called): boolean {
  if (principal.id.startsWith(`${SURFACE}:`) && isRole(principal.role))
    return mayCall(principal.role, readOnly, operation)
  return principal.scopes.includes('*') || operation.scopes.every(scope => principal.scopes.includes(scope))
}
