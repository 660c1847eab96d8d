import { type PlannedFile, RemoteFailure } from '@svc/contracts'
import type { DepositFile } from './deposit-file.ts'

const MAX_NAMED = 5

/**
 * Checks that files are those that were planned when the job was created; undefined: not known. Throws
 * `RemoteFailure` with code `files_changed`.
 */
export function checkPlanned(files: readonly PlannedFile[], planned: readonly PlannedFile[] | undefined): void {
  if (planned === undefined) return
  const before = new Map(planned.map(({ name, sha3_256 }) => [name, sha3_256]))
  const changed = files.filter(({ name, sha3_256 }) => before.has(name) && before.get(name) !== sha3_256)
  const added = files.filter(({ name }) => !before.has(name))
  const missing = planned.filter(({ name }) => files.every(file => file.name !== name))
  const problems = [
    ...changed.map(({ name }) => `${name} has another content`),
    ...added.map(({ name }) => `${name} was not there`),
    ...missing.map(({ name }) => `${name} is missing`)
  ]
  if (problems.length === 0) return
  const rest = problems.length > MAX_NAMED ? `, and ${problems.length - MAX_NAMED} more` : ''
  throw new RemoteFailure(
    `the files are not those of the plan when the job was created: ${problems.slice(0, MAX_NAMED).join(', ')}${rest}; restore the staging folder and its settings, then replay the job; with --new-files it uploads the files as they are now`,
    { failureClass: 'preflight', code: 'files_changed' }
  )
}

/** Returns the step of a plan that uploads a file. */
export function uploadStep({ name, bytes, isApproved }: DepositFile): string {
  return `Upload ${name} (${bytes} bytes${isApproved ? '' : ', not covered by the approvals'})`
}
