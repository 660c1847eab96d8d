import type { SecretReference } from '@svc/plugin-sdk'
import type { Table } from './layers.ts'
import { problem, problemsError } from './problem.ts'
import type { ResolvedSection } from './resolve-section.ts'
import { keyText } from './toml.ts'
import { check } from './validate.ts'

/**
 * Returns the settings with references replaced by secrets, validated again with formats and patterns. Throws the
 * errors of `resolve`, and `CFG_VALUE_INVALID` if a secret is not valid for its setting. The message never contains the
 * secret.
 */
export async function resolveSecrets(
  section: ResolvedSection,
  resolve: (reference: SecretReference) => Promise<string>
): Promise<Table> {
  const settings = structuredClone(section.settings)
  // Settings without references are already valid. Compiling the schema again would dominate a plugin's start time.
  if (section.references.length === 0) return settings
  await Promise.all(
    section.references.map(async ({ path, reference }) => {
      const around = path
        .slice(0, -1)
        .reduce((at, key) => at[key] as Record<string, unknown>, settings as Record<string, unknown>)
      around[path.at(-1) as string] = await resolve(reference)
    })
  )
  const { value, issues } = check(section.schema, settings, false)
  if (issues.length === 0) return value
  throw problemsError(
    issues.map(({ path, expected }) => {
      const key = keyText([...section.prefix, ...path])
      return problem('error', 'CFG_VALUE_INVALID', `the secret for ${key} must be ${expected}`, undefined, key)
    })
  )
}
