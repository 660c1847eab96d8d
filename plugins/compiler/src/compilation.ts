import type { LanguageCompiler, Program, ProgramDescription } from '@svc/contracts'
import type { CheckedFile } from './compile.ts'
import { compileResult } from './compile-result.ts'
import { type CompileRequest, resultOf } from './operations.ts'
import { SourceFile } from './source-file.ts'
import { parse } from './syntax/parse.ts'
import { clientText } from './web/files/client.ts'
import { openApiText } from './web/files/openapi.ts'
import { webModule } from './web/web-module.ts'

/**
 * Compiler API for other plugins. `request` compiles texts of clients, which must not hold the event loop for long;
 * without it, they are compiled like others.
 */
export function compilation(
  check: (file: SourceFile, script: boolean) => Promise<CheckedFile>,
  request: CompileRequest | null = null
): LanguageCompiler['compile'] {
  return async ({ path, text }, { script, signal }) => {
    const file = new SourceFile(path, text)
    if (signal !== undefined && request !== null) return resultOf(await request('program', file, { script }, signal))
    return compileResult(await check(file, script))
  }
}

/** Describes a program for a build. A `Program` has no inferred types, so its source is parsed again. */
export function descriptionOf({ path, text }: Program): ProgramDescription {
  const { module } = parse(text, { script: false, allowComponentFunctions: true })
  const web = webModule(module, new SourceFile(path, text))
  return { openApi: openApiText(web), client: clientText(web) }
}
