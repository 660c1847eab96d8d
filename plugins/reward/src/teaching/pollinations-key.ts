import type { DeclaredSecret, DeclaredSecretResolver } from '@svc/contracts'
import { withTimeout } from '@svc/plugin-sdk'

const VARIABLE = 'POLLINATIONS_API_KEY'
const TIMEOUT_MS = 2_000

/** Declaration of the key, for `svc secrets`. */
export const POLLINATIONS_KEY: DeclaredSecret = {
  id: 'pollinations.api_key',
  env: VARIABLE,
  registry: 'pollinations',
  policy: 'optional',
  material: 'api_key',
  remediation: `Create a key at https://enter.pollinations.ai, then store it with svc secrets set ${VARIABLE}.`,
  description: 'Key of Pollinations, for hints that a model writes',
  capabilities: ['chat']
}

/** Returns the key that is stored in a vault, a keyring or a file; null if there is none. */
export async function storedKey(
  resolver: DeclaredSecretResolver | undefined,
  signal: AbortSignal
): Promise<string | null> {
  if (resolver === undefined) return null
  return await withTimeout(
    TIMEOUT_MS,
    async stop => {
      const { present } = await resolver.find(VARIABLE, stop)
      return present ? await resolver.resolve(VARIABLE, stop) : null
    },
    { signal }
  )
}
