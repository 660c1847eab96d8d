import type { LanguageCompiler, Program, ProgramDescription } from '@svc/contracts'
import { type CheckedFile, hasErrors } from './compile.ts'
import { diagnosticJson } from './diagnostics/json.ts'
import { renderDiagnostic } from './diagnostics/render.ts'
import { programOf } from './program.ts'
import { SourceFile } from './source-file.ts'
import { parse } from './syntax/parse.ts'
import { clientText } from './web/files/client.ts'
import { openApiText } from './web/files/openapi.ts'
import { webModule } from './web/web-module.ts'

/** Compiler API for other plugins. Returns a program, or its diagnostics. */
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

/** Describes a program for a build. A `Program` has no inferred types, so its source is parsed again. */
export function descriptionOf({ path, text }: Program): ProgramDescription {
  const { module } = parse(text, { script: false, allowComponentFunctions: true })
  const web = webModule(module, new SourceFile(path, text))
  return { openApi: openApiText(web), client: clientText(web) }
}
