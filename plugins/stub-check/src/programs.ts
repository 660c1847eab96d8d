import { isSvcError } from '@svc/plugin-sdk'
import type { CheckProgram } from './scan/project-scan.ts'

/** Part of a finding of the compiler. */
interface CompilerFinding {
  readonly error_code: string
  readonly message: string
  readonly span: { readonly start_line: number; readonly start_col: number }
}

const UNRESOLVED = new Set(['typecheck.undefined', 'typecheck.undefined_type', 'typecheck.unknown_std'])

/** Resolves the names of a program with the compiler's own operation. `call` calls an operation by its id. */
export function unresolvedNames(
  call: (id: string, input: unknown, signal: AbortSignal) => Promise<unknown>
): CheckProgram {
  return async (source, signal) => {
    try {
      const { diagnostics } = (await call('compiler.check', { source }, signal)) as {
        diagnostics: readonly CompilerFinding[]
      }
      return diagnostics
        .filter(({ error_code }) => UNRESOLVED.has(error_code))
        .map(({ message, span }) => ({ line: span.start_line, column: span.start_col, message }))
    } catch (error) {
      signal.throwIfAborted()
      if (isSvcError(error) && /UNKNOWN|UNAVAILABLE|NOT_FOUND|MISSING/.test(error.code)) return null
      throw error
    }
  }
}
