import { type DeclaredSecretResolver, RemoteFailure } from '@svc/contracts'
import { errorMessage, limitedSignal } from '@svc/plugin-sdk'

const TIMEOUT_MS = 10_000

/** Returns the function that finds credentials of archives; see `AdapterParts.secret`. */
export function secretFinder(resolver: () => DeclaredSecretResolver | undefined) {
  return async (
    setting: string | undefined,
    variable: string,
    signal: AbortSignal = new AbortController().signal
  ): Promise<string | null> => {
    if (setting !== undefined && setting !== '') return setting
    const found = resolver()
    if (found === undefined) return null
    const limited = limitedSignal(signal, TIMEOUT_MS)
    try {
      const finding = await found.find(variable, limited)
      return finding.present ? await found.resolve(variable, limited) : null
    } catch (error) {
      signal.throwIfAborted()
      throw new RemoteFailure(`${variable}: the secret cannot be read: ${errorMessage(error)}; see svc secrets`, {
        failureClass: 'config',
        code: 'secret_unreadable'
      })
    }
  }
}
