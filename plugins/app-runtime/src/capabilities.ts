import { runErrors } from './errors.ts'
import { CAPABILITIES, type Capability } from './interpreter/host.ts'

/** A line with the capabilities that the program requests. */
const LINE = /^[ \t]*(?:\/\/|#)[ \t]*vox:caps\b(.*)$/gm

/**
 * Returns the capabilities of a program: those in its `// vox:caps` lines that are also in `allowed`. Without such a
 * line, all of `allowed` except secrets. Throws `RUN_CAPABILITY_DENIED` for an unknown name.
 */
export function grantedCapabilities(
  { path, text }: { readonly path: string; readonly text: string },
  allowed: readonly Capability[]
): Capability[] {
  const lines = [...text.matchAll(LINE)]
  if (lines.length === 0) return allowed.filter(each => each !== 'secrets')
  const requested = lines.flatMap(([, names = '']) => names.split(/[\s,]+/).filter(name => name !== ''))
  const unknown = requested.find(name => !CAPABILITIES.some(each => each === name))
  if (unknown !== undefined) {
    throw runErrors.create('RUN_CAPABILITY_DENIED', `${path}: unknown capability ${unknown}`, {
      hint: `the capabilities are ${CAPABILITIES.join(', ')}`,
      at: { file: path }
    })
  }
  return allowed.filter(each => requested.includes(each))
}
