import { realpath } from 'node:fs/promises'
import { resolve } from 'node:path'
import { type IrDocument, irDocumentSchema, type RuntimeProjection, runtimeProjectionSchema } from '@svc/contracts'
import { type Call, defineOperation, type ErrorsOf, type Handler, type InputOf, t } from '@svc/plugin-sdk'
import type { CheckedFile, FormattedFile } from './compile.ts'
import { diagnosticJson } from './diagnostics/json.ts'
import { renderDiagnostic } from './diagnostics/render.ts'
import { compilerErrors } from './errors.ts'
import { SourceFile } from './source-file.ts'
import { isInside, readSource } from './source-files.ts'

const {
  CMP_FILE_UNREADABLE,
  CMP_INPUT_AMBIGUOUS,
  CMP_PATH_OUTSIDE,
  CMP_SOURCE_INVALID,
  CMP_FORMAT_UNSAFE,
  CMP_IR_INVALID
} = compilerErrors.specs
const INPUT_ERRORS = { CMP_FILE_UNREADABLE, CMP_INPUT_AMBIGUOUS, CMP_PATH_OUTSIDE }

/** Name of a source without a file. */
const UNNAMED = 'source.vox'

const source = {
  source: t.optional(t.string({ maxLength: 4_000_000, description: 'Source of the program.' })),
  path: t.optional(t.string({ minLength: 1, description: 'Path of a file of the project, instead of source.' }))
}

/** The schema cannot say that the input has either source or path. */
const EXAMPLES = { examples: [{ source: 'fn main() {\n    print("Hello")\n}\n' }] }

const span = t.object({
  start_line: t.integer(),
  start_col: t.integer(),
  end_line: t.integer(),
  end_col: t.integer()
})

const finding = t.object({
  error_code: t.string(),
  severity: t.enum(['Error', 'Warning']),
  message: t.string(),
  file_path: t.string(),
  span,
  ast_node_kind: t.nullable(t.string()),
  missing_cases: t.array(t.string()),
  expected_type: t.nullable(t.string()),
  found_type: t.nullable(t.string()),
  correction_hints: t.array(t.string()),
  suggested_fixes: t.array(t.object({ label: t.string(), replacement: t.string(), span })),
  related_spans: t.array(t.object({ message: t.string(), span }))
})

export const checkOperation = defineOperation({
  id: 'compiler.check',
  summary: 'Check source or a file of the project',
  input: t.object(
    {
      ...source,
      script: t.boolean({ default: false, description: 'Accept top-level statements next to declarations.' }),
      strict: t.boolean({ default: false, description: 'Treat unresolved external names as errors.' })
    },
    EXAMPLES
  ),
  output: t.object({
    ok: t.boolean({ description: 'True if there are no errors.' }),
    diagnostics: t.array(finding),
    text: t.string({ description: 'The diagnostics as text for users.' })
  }),
  errors: INPUT_ERRORS,
  effect: 'read',
  expose: {
    http: { method: 'POST', path: '/api/compiler/check' },
    mcp: {
      name: 'svc_compiler_check',
      toolsets: ['default', 'language'],
      use: 'Reports the errors of vox source with their places, without running it. Other languages: svc_validate_file.'
    },
    rpc: true
  }
})

export const formatOperation = defineOperation({
  id: 'compiler.format',
  summary: 'Format source or a file of the project; writes nothing',
  input: t.object(source, EXAMPLES),
  output: t.object({ formatted: t.string(), changed: t.boolean() }),
  errors: { ...INPUT_ERRORS, CMP_SOURCE_INVALID, CMP_FORMAT_UNSAFE },
  effect: 'read',
  expose: {
    http: { method: 'POST', path: '/api/compiler/format' },
    mcp: {
      name: 'svc_compiler_format',
      toolsets: ['language'],
      use: 'Returns the formatted text; you write the file. It needs source without syntax errors: svc_compiler_check.'
    },
    rpc: true
  }
})

export const irOperation = defineOperation({
  id: 'compiler.ir',
  summary: 'Return the IR document of a valid program',
  input: t.object(
    {
      ...source,
      script: t.boolean({ default: false, description: 'Accept top-level statements next to declarations.' })
    },
    EXAMPLES
  ),
  output: irDocumentSchema,
  errors: { ...INPUT_ERRORS, CMP_SOURCE_INVALID, CMP_IR_INVALID },
  effect: 'read',
  expose: {
    http: { method: 'POST', path: '/api/compiler/ir' },
    mcp: {
      name: 'svc_compiler_ir',
      toolsets: ['language'],
      use: 'The program as data, for analysis. For errors only, use svc_compiler_check.'
    },
    rpc: true
  }
})

export const projectionOperation = defineOperation({
  id: 'compiler.projection',
  summary: 'Return the runtime requirements of a valid program',
  input: t.object(
    {
      ...source,
      script: t.boolean({ default: false, description: 'Accept top-level statements next to declarations.' })
    },
    EXAMPLES
  ),
  output: runtimeProjectionSchema,
  errors: { ...INPUT_ERRORS, CMP_SOURCE_INVALID },
  effect: 'read',
  expose: {
    http: { method: 'POST', path: '/api/compiler/projection' },
    mcp: {
      name: 'svc_compiler_projection',
      toolsets: ['language'],
      use: 'What a program needs to run: network, files, database. Read it before you run or serve one.'
    },
    rpc: true
  }
})

export function checkHandler(
  projectRoot: string,
  check: (file: SourceFile, script: boolean, strict: boolean) => Promise<CheckedFile>
): Handler<typeof checkOperation> {
  return async (input, call) => {
    const file = await sourceOf(projectRoot, input, call)
    const { diagnostics } = await check(file, input.script, input.strict)
    return {
      ok: diagnostics.every(({ severity }) => severity !== 'error'),
      diagnostics: diagnostics.map(each => ({ ...diagnosticJson(each, file) })),
      text: diagnostics.map(each => renderDiagnostic(each, file, false)).join('\n\n')
    }
  }
}

export function formatHandler(
  projectRoot: string,
  format: (file: SourceFile) => Promise<FormattedFile>
): Handler<typeof formatOperation> {
  return async (input, call) => {
    const file = await sourceOf(projectRoot, input, call)
    const { text, diagnostics } = await format(file)
    if (text !== null) return { formatted: text, changed: text !== file.text }
    const findings = diagnostics.map(each => diagnosticJson(each, file))
    const [first] = diagnostics
    const problem = first === undefined ? '' : `: ${first.message} (line ${file.position(first.span.start).line})`
    return call.fail('CMP_SOURCE_INVALID', `${file.path} cannot be formatted${problem}`, { diagnostics: findings })
  }
}

export function irHandler(
  projectRoot: string,
  check: (file: SourceFile, script: boolean) => Promise<CheckedFile>
): Handler<typeof irOperation> {
  return async (input, call) => {
    const source = await sourceOf(projectRoot, input, call)
    const { parsed, file } = withoutErrors(await check(source, input.script), call)
    const { irDocument, printIr } = await import('./ir/document.ts')
    // Ints beyond 2^53 lose digits here: an operation cannot return bigints.
    return JSON.parse(printIr(irDocument(parsed.module, file.text, new Date()))) as IrDocument
  }
}

export function projectionHandler(
  projectRoot: string,
  check: (file: SourceFile, script: boolean) => Promise<CheckedFile>,
  project: (checked: CheckedFile) => RuntimeProjection
): Handler<typeof projectionOperation> {
  return async (input, call) => {
    const file = await sourceOf(projectRoot, input, call)
    return project(withoutErrors(await check(file, input.script), call))
  }
}

function withoutErrors(
  checked: CheckedFile,
  call: Pick<Call<ErrorsOf<typeof projectionOperation>>, 'fail'>
): CheckedFile {
  const { file } = checked
  const errors = checked.diagnostics.filter(({ severity }) => severity === 'error')
  const [first] = errors
  if (first === undefined) return checked
  const findings = errors.map(each => diagnosticJson(each, file))
  const problem = `${first.message} (line ${file.position(first.span.start).line})`
  return call.fail('CMP_SOURCE_INVALID', `${file.path} has errors: ${problem}`, { diagnostics: findings })
}

async function sourceOf(
  projectRoot: string,
  { source: text, path }: Pick<InputOf<typeof formatOperation>, 'source' | 'path'>,
  call: Pick<Call<ErrorsOf<typeof checkOperation>>, 'fail'>
): Promise<SourceFile> {
  if (path === undefined) {
    return text === undefined
      ? call.fail('CMP_INPUT_AMBIGUOUS', 'the input has neither source nor path; pass one of them')
      : new SourceFile(UNNAMED, text)
  }
  if (text !== undefined)
    return call.fail('CMP_INPUT_AMBIGUOUS', 'the input has both source and path; pass only one of them')
  const absolute = resolve(projectRoot, path)
  const root = await realpath(projectRoot)
  // A link inside the project may point outside it.
  const real = await realpath(absolute).catch(() => absolute)
  if (!isInside(root, real) && !isInside(projectRoot, real)) {
    return call.fail('CMP_PATH_OUTSIDE', `${path} is outside the project ${projectRoot}; use a path inside it`)
  }
  return readSource(real, path)
}
