import type { Program } from '@svc/contracts'
import { runErrors } from './errors.ts'
import { CAPABILITIES, type Capability } from './interpreter/host.ts'

/**
 * Returns the capabilities of a program: those in its `// vox:caps` lines that are also in `allowed`. Without such a
 * line, all of `allowed` except secrets. Throws `RUN_CAPABILITY_DENIED` for an unknown name.
 */
export function grantedCapabilities(
  { path, capabilities: requested }: Pick<Program, 'path' | 'capabilities'>,
  allowed: readonly Capability[]
): Capability[] {
  if (requested === null) return allowed.filter(each => each !== 'secrets')
  const unknown = requested.find(name => !CAPABILITIES.some(each => each === name))
  if (unknown !== undefined) {
    throw runErrors.create('RUN_CAPABILITY_DENIED', `${path}: unknown capability ${unknown}`, {
      hint: `the capabilities are ${CAPABILITIES.join(', ')}`,
      at: { file: path }
    })
  }
  return allowed.filter(each => requested.includes(each))
}
