import type { CompileResult } from '@svc/contracts'
import { type CheckedFile, hasErrors } from './compile.ts'
import { diagnosticJson } from './diagnostics/json.ts'
import { renderDiagnostic } from './diagnostics/render.ts'
import { programOf } from './program.ts'

/** Returns the program of a checked file, or its diagnostics. */
export function compileResult(checked: CheckedFile): CompileResult {
  const { file, diagnostics } = checked
  const report = diagnostics.map(each => `${renderDiagnostic(each, file, false)}\n\n`).join('')
  if (hasErrors(diagnostics)) {
    return { ok: false, report, diagnostics: diagnostics.map(each => ({ ...diagnosticJson(each, file) })) }
  }
  return { ok: true, program: programOf(checked), warnings: report }
}
