import type { MeshRole } from '@svc/contracts'

/** Kind of a route, which decides the roles that may call it. */
export type Access =
  /** Everything but deliver and admin. */
  'worker' | 'deliver' | 'admin'

/** Roles in the order in which tokens are compared. */
export const ROLES: readonly MeshRole[] = ['mesh', 'worker', 'submitter', 'admin']

const ALLOWED: Readonly<Record<Access, ReadonlySet<MeshRole>>> = {
  worker: new Set(['mesh', 'worker', 'admin']),
  deliver: new Set(['mesh', 'submitter', 'admin']),
  admin: new Set(['mesh', 'admin'])
}

export function mayCall(role: MeshRole, access: Access): boolean {
  return ALLOWED[access].has(role)
}

/** Returns the role of a claim, which ignores case; null if there is no such role. */
export function roleOf(claim: unknown): MeshRole | null {
  const name = typeof claim === 'string' ? claim.toLowerCase() : ''
  return ROLES.find(role => role === name) ?? null
}
