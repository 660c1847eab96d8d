import type { LanguageCompiler } from '@svc/contracts'
import { defineOperation, type Handler, t } from '@svc/plugin-sdk'
import type { Limits } from './interpreter/machine.ts'
import { compileForCaller } from './playground/compile-for-caller.ts'
import { CapturedOutput } from './worker/captured-output.ts'
import { runInThread } from './worker/run-in-thread.ts'

/** Maximum characters of output in a response. */
const MAX_OUTPUT_CHARACTERS = 1_000_000

/** Time limit of a program from the network, which also gets no capabilities. */
const MAX_MILLISECONDS = 10_000

export const evaluateOperation = defineOperation({
  id: 'language.run',
  summary: 'Run the main function of a source text without any capability',
  input: t.object({
    source: t.string({ maxLength: 1_000_000, description: 'Source text of the program.' }),
    args: t.array(t.string({ maxLength: 10_000 }), {
      default: [],
      maxItems: 100,
      description: 'Arguments of main.'
    }),
    script: t.boolean({ default: false, description: 'Run top-level statements instead of main.' })
  }),
  output: t.object({
    ok: t.boolean({ description: 'True if the program ended without a failure or an Error.' }),
    output: t.array(t.string(), { description: 'Lines.' }),
    cut: t.boolean({ description: `True if lines after the first ${MAX_OUTPUT_CHARACTERS} characters are omitted.` }),
    error: t.nullable(t.object({ code: t.nullable(t.string()), message: t.string(), calls: t.array(t.string()) }))
  }),
  errors: {},
  effect: 'read',
  // Each run is a thread with its own heap, and callers with few rights may start them.
  concurrency: 4,
  expose: {
    http: { method: 'POST', path: '/api/language/run' },
    mcp: {
      name: 'svc_language_run',
      toolsets: ['language'],
      use: 'For pure functions: it has no files, network or database. Served programs: svc_app_request.'
    },
    rpc: true
  }
})

export function evaluateHandler(compiler: LanguageCompiler, limits: () => Limits): Handler<typeof evaluateOperation> {
  return async ({ source, args, script }, call) => {
    const result = await compileForCaller(compiler, { path: 'source.vox', text: source }, script, call.signal)
    if (!result.ok) {
      return { ok: false, output: [], cut: false, error: { code: null, message: result.report.trimEnd(), calls: [] } }
    }
    const captured = new CapturedOutput(MAX_OUTPUT_CHARACTERS)
    const { milliseconds, ...others } = limits()
    const ending = await runInThread(
      {
        program: result.program,
        limits: { ...others, milliseconds: Math.min(milliseconds, MAX_MILLISECONDS) },
        capabilities: [],
        seed: null,
        args,
        work: { kind: 'run' },
        database: null
      },
      {
        print: line => captured.add('print', line),
        // Log lines are not part of the response.
        report: () => undefined,
        failed: () => undefined
      },
      call.signal
    )
    const { isCut: cut } = captured
    const output = captured.lines.map(({ text }) => text)
    if (!ending.ok) {
      const { code, message, calls } = ending.failure
      return { ok: false, output, cut, error: { code, message, calls: [...calls] } }
    }
    const { refused, exit } = ending.outcome
    return {
      ok: refused === null && (exit ?? 0) === 0,
      output,
      cut,
      error: refused === null ? null : { code: null, message: refused, calls: [] }
    }
  }
}
