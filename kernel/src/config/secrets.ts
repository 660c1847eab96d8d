import type { ConfigProblem, SecretReference } from '@svc/contracts'
import type { Table } from './layers.ts'
import { problem, problemsError } from './problem.ts'
import type { Settled } from './settle.ts'
import { keyText } from './toml.ts'
import { check } from './validate.ts'

/** Reports references that cannot be resolved yet: in the kernel's settings, and those of a backend to itself. */
export function forbiddenReferences(owner: Settled, isOwn: (backend: string) => boolean = () => true): ConfigProblem[] {
  const forbidden = owner.references.filter(({ reference }) => isOwn(reference.backend))
  return forbidden.map(({ path }) => {
    const key = keyText([...owner.prefix, ...path])
    const message = `${key} is a secret reference, and ${owner.name} is needed before it can be resolved`
    return problem('error', 'CFG_SECRET_FORBIDDEN', message, undefined, key, 'use an environment variable')
  })
}

/**
 * The settings with references replaced and validated once more, formats and patterns included. Throws what `resolve`
 * throws, and `CFG_VALUE_INVALID` when a secret does not fit its setting; the message does not hold it.
 */
export async function resolveSecrets(
  owner: Settled,
  resolve: (reference: SecretReference) => Promise<string>
): Promise<Table> {
  const settings = structuredClone(owner.settings)
  await Promise.all(
    owner.references.map(async ({ path, reference }) => {
      const around = path
        .slice(0, -1)
        .reduce((at, key) => at[key] as Record<string, unknown>, settings as Record<string, unknown>)
      around[path.at(-1) as string] = await resolve(reference)
    })
  )
  const { value, issues } = check(owner.schema, settings, false)
  if (issues.length === 0) return value
  throw problemsError(
    issues.map(({ path, expected }) => {
      const key = keyText([...owner.prefix, ...path])
      return problem('error', 'CFG_VALUE_INVALID', `the secret for ${key} must be ${expected}`, undefined, key)
    })
  )
}
