import { isSvcError } from '@svc/plugin-sdk'
import type { Dependencies } from './dependencies.ts'

/** Checks programs with the compiler's operation; returns null if no plugin implements it. `call` calls it by its id. */
export function programCheck(
  call: (id: string, input: unknown, signal: AbortSignal) => Promise<unknown>
): Dependencies['check'] {
  return async (source, signal) => {
    try {
      const { ok, text } = (await call('compiler.check', { source }, signal)) as { ok: boolean; text: string }
      return { ok, text }
    } catch (error) {
      signal.throwIfAborted()
      if (isSvcError(error) && /UNKNOWN|UNAVAILABLE|NOT_FOUND|MISSING/.test(error.code)) return null
      throw error
    }
  }
}
