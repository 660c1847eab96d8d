import { realpath } from 'node:fs/promises'
import { resolve } from 'node:path'
import { type IrDocument, irDocumentSchema, runtimeProjectionSchema } from '@svc/contracts'
import { type Call, defined, defineOperation, type ErrorsOf, type Handler, type InputOf, t } from '@svc/plugin-sdk'
import { compilerErrors } from './errors.ts'
import type { JobOutcome, Results } from './jobs/compile-job.ts'
import type { Work } from './reward.ts'
import { SourceFile } from './source-file.ts'
import { isInside, readSource } from './source-files.ts'

const {
  CMP_FILE_UNREADABLE,
  CMP_INPUT_AMBIGUOUS,
  CMP_PATH_OUTSIDE,
  CMP_SOURCE_INVALID,
  CMP_FORMAT_UNSAFE,
  CMP_IR_INVALID,
  CMP_LIMIT
} = compilerErrors.specs
const INPUT_ERRORS = { CMP_FILE_UNREADABLE, CMP_INPUT_AMBIGUOUS, CMP_LIMIT, CMP_PATH_OUTSIDE }

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

/** Compiles a source of a request. Throws `CMP_LIMIT`, and the reason of the signal. */
export type CompileRequest = <K extends keyof Results>(
  kind: K,
  file: SourceFile,
  options: { readonly script: boolean; readonly strict?: boolean },
  signal: AbortSignal
) => Promise<JobOutcome<Results[K]>>

/** `ended`: receives what was checked, except for checks on behalf of other plugins. */
export function checkHandler(
  projectRoot: string,
  compile: CompileRequest,
  ended: (work: Work) => void
): Handler<typeof checkOperation> {
  return async (input, call) => {
    const file = await sourceOf(projectRoot, input, call)
    const result = resultOf(await compile('check', file, input, call.signal))
    if (call.surface === 'internal') return result
    const errors = result.diagnostics.filter(({ severity }) => severity === 'Error').length
    ended({ kind: 'check', files: 1, errors, warnings: result.diagnostics.length - errors })
    return result
  }
}

export function formatHandler(projectRoot: string, compile: CompileRequest): Handler<typeof formatOperation> {
  return async (input, call) => {
    const file = await sourceOf(projectRoot, input, call)
    return resultOf(await compile('format', file, { script: false }, call.signal))
  }
}

export function irHandler(projectRoot: string, compile: CompileRequest): Handler<typeof irOperation> {
  return async (input, call) => {
    const file = await sourceOf(projectRoot, input, call)
    return resultOf(await compile('ir', file, { script: input.script }, call.signal)) as IrDocument
  }
}

export function projectionHandler(projectRoot: string, compile: CompileRequest): Handler<typeof projectionOperation> {
  return async (input, call) => {
    const file = await sourceOf(projectRoot, input, call)
    return resultOf(await compile('projection', file, { script: input.script }, call.signal))
  }
}

/** Returns the value of a job. Throws its failure: `CMP_SOURCE_INVALID`, `CMP_FORMAT_UNSAFE` or `CMP_IR_INVALID`. */
export function resultOf<A>(outcome: JobOutcome<A>): A {
  if (outcome.ok) return outcome.value
  const { code, message, hint, data } = outcome.failure
  throw compilerErrors.create(code, message, defined({ hint, data }))
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
