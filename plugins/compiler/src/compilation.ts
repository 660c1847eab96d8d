import type { LanguageCompiler } from '@svc/contracts'
import { type CheckedFile, hasErrors } from './compile.ts'
import { diagnosticJson } from './diagnostics/json.ts'
import { renderDiagnostic } from './diagnostics/render.ts'
import { programOf } from './program.ts'
import { SourceFile } from './source-file.ts'

/** The compiler for other plugins: a program, or what is wrong with its text. */
export function compilation(
  check: (file: SourceFile, script: boolean) => Promise<CheckedFile>
): LanguageCompiler['compile'] {
  return async ({ path, text }, { script }) => {
    const file = new SourceFile(path, text)
    const checked = await check(file, script)
    const { diagnostics } = checked
    const report = diagnostics.map(each => `${renderDiagnostic(each, file, false)}\n\n`).join('')
    if (hasErrors(diagnostics)) {
      return { ok: false, report, diagnostics: diagnostics.map(each => ({ ...diagnosticJson(each, file) })) }
    }
    return { ok: true, program: programOf(checked), warnings: report }
  }
}
