import { mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { StubFinding } from '@svc/contracts'
import { type CommandDescriptor, type CommandHandler, type CommandIo, isSvcError, t } from '@svc/plugin-sdk'
import type { Checker } from '../checker.ts'
import { sourceLanguage } from '../engine/language.ts'
import { SourceViews } from '../engine/source-views.ts'
import { stubCheckErrors } from '../errors.ts'
import { lex } from '../lex/lex.ts'
import { applySuppressions, readSuppressions } from '../policy/suppressions.ts'
import { envelopeOf, wireFinding } from '../report/envelope.ts'
import { render, summaryOf } from '../report/formats.ts'
import { listFiles } from '../scan/list-files.ts'
import type { Settings } from '../settings.ts'
import { changedFiles } from './changed-files.ts'
import { guardFile } from './secret-guard.ts'
import {
  type Lanes,
  measure,
  overruns,
  overrunText,
  readCommands,
  readLanes,
  TIMINGS_FOLDER,
  withoutCuda
} from './timings.ts'

const REPORTS = '.vox/reports'

export const scalingAuditCommand: CommandDescriptor = {
  command: 'ci scaling-audit',
  summary: 'Report hazards of scale, and fail for Rust files that cannot be parsed',
  project: true,
  input: t.object({
    action: t.optional(
      t.enum(['emit-reports'], { description: `Write the reports as JSON and Markdown to ${REPORTS}.` })
    ),
    path: t.string({ default: '.', minLength: 1, description: 'Folder to scan.' }),
    out: t.optional(t.string({ minLength: 1, description: `Folder of the reports. Default: ${REPORTS}.` }))
  }),
  args: ['action']
}

export const secretGuardCommand: CommandDescriptor = {
  command: 'ci secret-env-guard',
  summary: 'Find secrets that are read from the environment, logged, serialised or sent to models',
  project: true,
  input: t.object({
    all: t.boolean({ default: false, description: 'Scan all files instead of changed ones.' })
  })
}

export const buildTimingsCommand: CommandDescriptor = {
  command: 'ci build-timings',
  summary: 'Measure the lanes of the build, and compare them with their budgets',
  input: t.object({
    timings: t.optional(
      t.string({
        minLength: 1,
        description: `Use the times of this file instead of running the lanes of ${TIMINGS_FOLDER}/lanes.json.`
      })
    )
  })
}

export interface CiParts {
  readonly checker: Checker
  readonly settings: () => Settings
  readonly projectRoot: string
  readonly version: string
  /** Environment variables of secret settings. */
  readonly managedSecrets: () => readonly string[]
}

type Run = (input: Readonly<Record<string, unknown>>, io: CommandIo) => Promise<number>

/** Returns a handler that prints errors with their next step. */
export function reporting(run: Run): CommandHandler {
  return async (input, io) => {
    try {
      return await run(input, io)
    } catch (error) {
      if (!isSvcError(error)) throw error
      const { code, message, hint } = error
      const text = `error: ${message}\n${hint === undefined ? '' : `  hint: ${hint}\n`}`
      io.stderr.write(io.json ? `${JSON.stringify({ error: { code, message, hint } })}\n` : text)
      return code === 'STB_OPTIONS_CONFLICT' || code === 'STB_RULE_UNKNOWN' ? 2 : 1
    }
  }
}

/** Limit from the setting; null for an absent or an invalid one. */
function parseFailureLimit(text: string | undefined): number | null {
  return text !== undefined && /^\d{1,9}$/.test(text.trim()) ? Number(text.trim()) : null
}

/** Exit code 1 if more Rust files than the limit cannot be parsed; findings do not fail it. */
export function scalingAudit({ checker, settings, projectRoot, version }: CiParts): CommandHandler {
  return reporting(async ({ action, path = '.', out }, io) => {
    if (out !== undefined && action === undefined)
      throw stubCheckErrors.create('STB_OPTIONS_CONFLICT', '--out has no effect without emit-reports', {
        hint: 'svc ci scaling-audit emit-reports'
      })
    const scan = await checker.scan(
      { path: String(path), rules: ['scaling'], exclude: [], langs: null, confined: false },
      io.signal
    )
    const envelope = envelopeOf(scan, scan.findings, version)
    const show = { suggest: true, colour: false }
    if (action === undefined) io.stdout.write(render(envelope, io.json ? 'json' : 'terminal', show))
    else {
      const folder = join(projectRoot, String(out ?? REPORTS))
      await mkdir(folder, { recursive: true })
      const files = {
        'scaling-audit.json': render(envelope, 'json', show),
        'scaling-audit.md': render(envelope, 'markdown', show)
      }
      for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
      const written = Object.keys(files).map(name => join(folder, name))
      io.stdout.write(
        io.json
          ? `${JSON.stringify({ files: written, rust_parse_failures: scan.rustParseFailures })}\n`
          : `${summaryOf(envelope)}\n${written.join('\n')}\n`
      )
    }
    const limit = parseFailureLimit(settings().max_rust_parse_failures)
    if (limit === null || scan.rustParseFailures <= limit) return 0
    io.stderr.write(
      `${scan.rustParseFailures} Rust files cannot be parsed; the limit is ${limit} (SVC_STUBCHECK_MAX_RUST_PARSE_FAILURES)\n`
    )
    return 1
  })
}

/** Exit code 1 if anything is found. */
export function secretGuard({ settings, projectRoot, managedSecrets }: CiParts): CommandHandler {
  return reporting(async ({ all = false }, io) => {
    const { exclude, secret_guard_git_ref = 'HEAD', suppressions: file, max_file_kib } = settings()
    const whole = await listFiles({ projectRoot, path: '.', exclude, langs: null, confined: false, signal: io.signal })
    const changed = all === true ? null : new Set(await changedFiles(projectRoot, secret_guard_git_ref, io.signal))
    const paths = whole.paths.filter(path => changed === null || changed.has(path))
    const managed = new Set(managedSecrets())
    const findings: StubFinding[] = []
    for (const path of paths) {
      io.signal.throwIfAborted()
      const at = join(projectRoot, path)
      const language = sourceLanguage(path)
      if (language === null || (await stat(at)).size > max_file_kib * 1_024) continue
      const text = await readFile(at, 'utf8')
      const { comments, strings } = lex(text, language.lexical)
      const views = new SourceViews(text, comments, strings)
      findings.push(...guardFile(path, text, views.code, views.source, managed))
    }
    const { kept } = applySuppressions(findings, await readSuppressions(join(projectRoot, file), file), [], Date.now())
    if (io.json)
      io.stdout.write(
        `${JSON.stringify({ ok: kept.length === 0, files: paths.length, findings: kept.map(wireFinding) }, null, 2)}\n`
      )
    else if (kept.length === 0) io.stdout.write('OK\n')
    else
      for (const { file: path, line, column, message, ruleName, suggestion } of kept)
        io.stdout.write(`${path}:${line}:${column}: ${message} [${ruleName}]\n  ${suggestion}\n`)
    return kept.length === 0 ? 0 : 1
  })
}

/** Exit code 1 if a lane fails, or with `build_timings_budget_fail` if a lane is over its budget. */
export function buildTimings({ settings, projectRoot }: CiParts): CommandHandler {
  return reporting(async ({ timings }, io) => {
    const { build_timings_budget_warn, build_timings_budget_fail, skip_cuda_feature_check } = settings()
    const select = <A>(lanes: Readonly<Record<string, A>>) => (skip_cuda_feature_check ? withoutCuda(lanes) : lanes)
    const measured: Lanes =
      typeof timings === 'string'
        ? select(await readLanes(projectRoot, timings))
        : await measureAll(select(await readCommands(projectRoot, `${TIMINGS_FOLDER}/lanes.json`)), projectRoot, io)
    const text = Object.entries(measured).map(([lane, ms]) => `${lane}: ${ms} ms\n`)
    io.stdout.write(io.json ? `${JSON.stringify({ lanes: measured })}\n` : text.join(''))
    if (!build_timings_budget_warn && !build_timings_budget_fail) return 0
    const over = overruns(measured, select(await readLanes(projectRoot, `${TIMINGS_FOLDER}/budgets.json`)))
    for (const each of over) io.stderr.write(`${overrunText(each)}\n`)
    return build_timings_budget_fail && over.length > 0 ? 1 : 0
  })
}

async function measureAll(commands: Readonly<Record<string, string>>, root: string, io: CommandIo): Promise<Lanes> {
  const lanes: Record<string, number> = {}
  for (const [lane, command] of Object.entries(commands)) lanes[lane] = await measure(root, lane, command, io.signal)
  return lanes
}
