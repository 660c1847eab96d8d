import { setImmediate as nextTurn } from 'node:timers/promises'
import { defineOperation, errorMessage, type Handler, isSvcError, t } from '@svc/plugin-sdk'
import { compilerErrors } from './errors.ts'
import { TYPE_WORDS } from './lsp/vocabulary/types.ts'
import { type CompileRequest, resultOf } from './operations.ts'
import { readSource, sourcesIn } from './source-files.ts'
import { DECORATORS } from './syntax/decorators.ts'
import { KEYWORDS } from './syntax/token.ts'
import { NATIVES } from './types/natives/natives.ts'
import { isNativeFunction } from './types/natives/natives-contract.ts'

const { CMP_FILE_UNREADABLE } = compilerErrors.specs

const members = t.record(t.array(t.string()))

export const languageSurface = defineOperation({
  id: 'compiler.surface',
  summary: 'List the keywords, decorators, types and functions of vox',
  input: t.object({}),
  output: t.object({
    keywords: t.array(t.string()),
    decorators: t.array(t.string()),
    types: t.array(t.object({ name: t.string(), form: t.string(), meaning: t.string() })),
    functions: t.array(
      t.object({
        name: t.string(),
        min_arguments: t.integer(),
        max_arguments: t.nullable(t.integer(), { description: 'Null if there is no maximum.' })
      })
    ),
    std: members,
    namespaces: members
  }),
  effect: 'read',
  expose: {
    http: { method: 'GET', path: '/api/compiler/surface' },
    mcp: {
      name: 'svc_language_surface',
      lane: 'app',
      toolsets: ['language'],
      use: 'Before you write vox: it has every name that exists without a declaration. Errors of a program: svc_compiler_check.'
    },
    rpc: true,
    cli: { command: 'language surface' }
  }
})

export function surfaceHandler(): Handler<typeof languageSurface> {
  return () => ({
    keywords: [...KEYWORDS],
    decorators: [...DECORATORS],
    types: [...TYPE_WORDS.values()].map(({ name, signature, text }) => ({ name, form: signature, meaning: text })),
    functions: NATIVES.globalNames().flatMap(name => {
      const native = NATIVES.global(name)
      if (native === undefined || !isNativeFunction(native)) return []
      const { params, isVariadic } = native
      const required = params.filter(({ isOptional }) => !isOptional).length
      return [
        {
          name,
          min_arguments: isVariadic ? required - 1 : required,
          max_arguments: isVariadic ? null : params.length
        }
      ]
    }),
    std: membersOf(path => (path.startsWith('std.') ? path.slice('std.'.length) : null)),
    namespaces: membersOf(path => (path.startsWith('std') ? null : path))
  })
}

/** Returns the members of the namespaces for which `nameOf` returns a name. */
function membersOf(nameOf: (path: string) => string | null): Record<string, string[]> {
  return Object.fromEntries(
    NATIVES.namespaces().flatMap(path => {
      const name = nameOf(path)
      return name === null ? [] : [[name, [...(NATIVES.namespace(path)?.keys() ?? [])]]]
    })
  )
}

const STAGES = ['read', 'parse', 'check', 'lower'] as const
type Stage = (typeof STAGES)[number]

export const pipelineStatus = defineOperation({
  id: 'compiler.pipeline',
  summary: 'Show how far each vox source of the project compiles',
  description:
    'Runs the stages of the compiler on the sources: read, parse, check and lower. Nothing is written or run.',
  input: t.object({
    limit: t.integer({ default: 100, minimum: 1, maximum: 2_000, description: 'Maximum number of compiled files.' })
  }),
  output: t.object({
    ok: t.boolean({ description: 'Whether every compiled file passed all stages.' }),
    stages: t.array(t.object({ stage: t.enum([...STAGES]), passed: t.integer(), failed: t.integer() })),
    failures: t.array(
      t.object({
        path: t.string(),
        stage: t.enum([...STAGES]),
        errors: t.integer(),
        line: t.nullable(t.integer(), { description: 'Line of the first error.' }),
        message: t.string({ description: 'The first error.' })
      })
    ),
    warnings: t.integer(),
    compiled: t.integer(),
    sources: t.integer({ description: 'Sources of the project; more than compiled if limit is lower.' })
  }),
  errors: { CMP_FILE_UNREADABLE },
  effect: 'read',
  expose: {
    http: { method: 'GET', path: '/api/compiler/pipeline' },
    mcp: {
      name: 'svc_pipeline_status',
      lane: 'app',
      toolsets: ['language'],
      use: 'For the state of all sources at once. The complete errors of one file: svc_compiler_check.'
    },
    rpc: true,
    cli: {
      command: 'language status',
      view: { rows: 'failures', columns: ['path', 'stage', 'line', 'message'] }
    }
  }
})

interface Failure {
  readonly path: string
  readonly stage: Stage
  readonly errors: number
  readonly line: number | null
  readonly message: string
}

interface Compiled {
  readonly failure: Failure | null
  readonly warnings: number
}

export function pipelineHandler(projectRoot: string, compile: CompileRequest): Handler<typeof pipelineStatus> {
  return async ({ limit }, call) => {
    const paths = await sourcesIn(projectRoot)
    const results: Compiled[] = []
    for (const path of paths.slice(0, limit)) {
      results.push(await compiled(path, path.slice(projectRoot.length + 1).replaceAll('\\', '/'), compile, call.signal))
      call.progress(results.length, Math.min(limit, paths.length))
      // Short sources are compiled on this thread: other requests have their turn between two files.
      await nextTurn()
      call.signal.throwIfAborted()
    }
    const failures = results.flatMap(({ failure }) => failure ?? [])
    let remaining = results.length
    const stages = STAGES.map(stage => {
      const failed = failures.filter(failure => failure.stage === stage).length
      remaining -= failed
      return { stage, passed: remaining, failed }
    })
    return {
      ok: failures.length === 0,
      stages,
      failures,
      warnings: results.reduce((sum, { warnings }) => sum + warnings, 0),
      compiled: results.length,
      sources: paths.length
    }
  }
}

async function compiled(file: string, path: string, compile: CompileRequest, signal: AbortSignal): Promise<Compiled> {
  try {
    const source = await readSource(file, path)
    const { failure, warnings } = resultOf(await compile('stages', source, { script: true }, signal))
    return { failure: failure && { path, ...failure }, warnings }
  } catch (error) {
    signal.throwIfAborted()
    const stage = isSvcError(error, 'CMP_LIMIT') ? 'parse' : 'read'
    return { failure: { path, stage, errors: 1, line: null, message: errorMessage(error) }, warnings: 0 }
  }
}
