import type { CompileResult, LanguageCompiler, ProgramText } from '@svc/contracts'
import { isSvcError } from '@svc/plugin-sdk'

/** Compiles a text of a caller. A text that exceeds the limits of the compiler has the error `CMP_LIMIT`. */
export async function compileForCaller(
  compiler: LanguageCompiler,
  text: ProgramText,
  script: boolean,
  signal: AbortSignal
): Promise<CompileResult> {
  try {
    return await compiler.compile(text, { script, signal })
  } catch (error) {
    if (!isSvcError(error, 'CMP_LIMIT')) throw error
    return { ok: false, report: error.message, diagnostics: [{ error_code: error.code, severity: 'Error' }] }
  }
}
