import { resolve } from 'node:path'
import type { StubFinding, StubSeverity } from '@svc/contracts'
import type { CommandHandler, CommandIo } from '@svc/plugin-sdk'
import type { Checker } from './checker.ts'
import { reporting } from './ci/commands.ts'
import { SCANNED_EXTENSIONS } from './engine/language.ts'
import { stubCheckErrors } from './errors.ts'
import { type Comparison, compare, MAX_LISTED } from './policy/baseline.ts'
import { type GateKind, judgeBudget, parseBudget } from './policy/budget.ts'
import { applyFixes, type Fix, planFixes } from './policy/fixes.ts'
import { failing, isAtLeast, type RunMode } from './policy/severity.ts'
import { parsePlaceSuppressions } from './policy/suppressions.ts'
import { envelopeOf } from './report/envelope.ts'
import { type Format, render } from './report/formats.ts'
import { ingestFindings } from './report/ingest.ts'
import { tasksOf } from './report/tasks.ts'
import { isWithin } from './scan/list-files.ts'
import type { ProjectScan } from './scan/project-scan.ts'
import type { BaselineUse } from './store/baseline-runs.ts'
import { Baselines, isFile, readText } from './store/baselines.ts'
import type { StoredState } from './store/stored-state.ts'

interface Input {
  readonly path: string
  readonly mode: RunMode
  readonly format?: Format
  readonly severity: StubSeverity
  readonly suggest_fixes: boolean
  readonly rules?: string
  readonly exclude: readonly string[]
  readonly langs?: string
  readonly baseline?: string
  readonly save_baseline?: string
  readonly task_list: boolean
  readonly import_suppressions?: string
  readonly ingest_findings?: string
  readonly fix_pipeline: boolean
  readonly fix_pipeline_apply: boolean
  readonly gate?: GateKind
  readonly gate_budget_path?: string
}

/** The schema of a command does not fill in defaults. */
const DEFAULTS = {
  path: '.',
  mode: 'legacy',
  severity: 'warning',
  suggest_fixes: false,
  exclude: [],
  task_list: false,
  fix_pipeline: false,
  fix_pipeline_apply: false
} as const satisfies Partial<Input>

export interface CommandParts {
  readonly checker: Checker
  readonly projectRoot: string
  readonly version: string
  readonly user: string
  readonly safeMode: () => boolean
  /** Confidence in percent below which ingested findings are not reported. */
  readonly minReviewConfidence: () => number
  readonly stored: () => StoredState | null
  /** Called with all findings of each scan, and the baseline that the person names for it. */
  readonly scanned: (path: string, scan: ProjectScan, use: BaselineUse | null) => Promise<void>
}

/**
 * Returns the handler of `svc stub-check`. Exit codes: 0; 1 for findings that fail the run, for a baseline or a budget that is
 * exceeded; 2 for options that cannot be combined.
 */
export function runStubCheck(parts: CommandParts): CommandHandler {
  return reporting(async (raw, io) => await run(parts, { ...DEFAULTS, ...(raw as unknown as Partial<Input>) }, io))
}

async function run(parts: CommandParts, input: Input, io: CommandIo): Promise<number> {
  checkOptions(parts, input)
  const { projectRoot, stored } = parts
  const baselines = new Baselines(projectRoot, stored)
  const format = input.format ?? (io.json ? 'json' : 'terminal')
  const notes: string[] = []
  if (input.import_suppressions !== undefined) notes.push(await importSuppressions(parts, input.import_suppressions))
  const scan = await scanned(parts, input, io)
  const shown = scan.findings.filter(({ severity }) => isAtLeast(severity, input.severity))
  const envelope = envelopeOf({ ...scan, notes: [...notes, ...scan.notes] }, shown, parts.version)
  const colour = io.stdout.isTTY === true && (process.env.NO_COLOR ?? '') === ''
  if (input.task_list) {
    const tasks = tasksOf(shown)
    io.stdout.write(
      format === 'terminal' || format === 'markdown'
        ? tasks.map(({ task }) => `- [ ] ${task}\n`).join('')
        : `${JSON.stringify({ schema_version: 1, tasks }, null, 2)}\n`
    )
    await stored()?.saveTasks(parts.user, input.path, shown.length, JSON.stringify(tasks))
  } else io.stdout.write(render(envelope, format, { suggest: input.suggest_fixes, colour }))

  if (input.save_baseline !== undefined) await baselines.save(input.save_baseline, input.path, shown)
  if (input.ingest_findings === undefined) await parts.scanned(input.path, scan, baselineUse(input))
  if (input.fix_pipeline) {
    const fixes = await planFixes(projectRoot, scan.findings)
    io.stderr.write(fixText(fixes))
    if (input.fix_pipeline_apply) io.stderr.write(`wrote ${await applyFixes(projectRoot, fixes)} files\n`)
  }
  let isFailed = false
  if (input.gate !== undefined && input.gate_budget_path !== undefined) {
    const budget = parseBudget(
      await readText(projectRoot, input.gate_budget_path, 'STB_BUDGET_INVALID'),
      input.gate_budget_path
    )
    const { exceeded, lowered } = judgeBudget(input.gate, scan.findings, budget)
    for (const row of exceeded) io.stderr.write(`${row.rule_id}: ${row.count} findings, the budget is ${row.budget}\n`)
    for (const row of lowered)
      io.stderr.write(`${row.rule_id}: ${row.count} findings, lower the budget of ${row.budget}\n`)
    if (exceeded.length > 0) isFailed = true
    if (input.baseline === undefined) return isFailed ? 1 : 0
  }
  if (input.baseline !== undefined) {
    const compared = compare(await baselines.read(input.baseline, input.path), shown)
    io.stderr.write(comparisonText(compared, input.baseline))
    return isFailed || compared.added.length + compared.raised.length > 0 ? 1 : 0
  }
  return isFailed || (input.save_baseline === undefined && failing(scan.findings, input.mode).length > 0) ? 1 : 0
}

function checkOptions({ projectRoot, safeMode, stored }: CommandParts, input: Input): void {
  const conflict = (message: string, hint: string) => stubCheckErrors.create('STB_OPTIONS_CONFLICT', message, { hint })
  if ((input.gate === undefined) !== (input.gate_budget_path === undefined))
    throw conflict('--gate and --gate-budget-path need each other', 'pass both')
  if (input.fix_pipeline_apply && !input.fix_pipeline)
    throw conflict('--fix-pipeline-apply needs --fix-pipeline', 'pass both')
  // Findings outside of the project name files relative to the scanned folder, not to the project.
  if (input.fix_pipeline && !isWithin(projectRoot, resolve(projectRoot, input.path)))
    throw stubCheckErrors.create('STB_PATH_OUTSIDE', `--fix-pipeline: ${input.path} is outside of the project`, {
      hint: 'run it in the project of these files'
    })
  if (input.fix_pipeline_apply && safeMode())
    throw stubCheckErrors.create('STB_FIX_REFUSED', 'fixes are not written in safe mode', {
      hint: 'set plugins.stub-check.safe_mode to false'
    })
  if (
    input.ingest_findings !== undefined &&
    (input.fix_pipeline || input.rules !== undefined || input.langs !== undefined || input.exclude.length > 0)
  )
    throw conflict(
      '--ingest-findings does not scan, so --rules, --langs, --exclude and --fix-pipeline have no effect',
      'leave them out'
    )
  const named = [input.baseline, input.save_baseline].some(name => name !== undefined && !isFile(name))
  if ((named || input.import_suppressions !== undefined) && stored() === null)
    throw stubCheckErrors.create(
      'STB_DATABASE_MISSING',
      'named baselines and imported suppressions need the database',
      {
        hint: 'name a .json file, or enable the plugin database'
      }
    )
}

async function scanned(parts: CommandParts, input: Input, io: CommandIo): Promise<ProjectScan> {
  if (input.ingest_findings !== undefined)
    return ingestFindings(
      await readText(parts.projectRoot, input.ingest_findings, 'STB_FINDINGS_INVALID'),
      input.ingest_findings,
      parts.minReviewConfidence()
    )
  return await parts.checker.scan(
    {
      path: input.path,
      rules: listOf('--rules', input.rules),
      exclude: input.exclude,
      langs: langsOf(input.langs),
      confined: false
    },
    io.signal
  )
}

function baselineUse({ baseline, save_baseline, severity }: Input): BaselineUse | null {
  const name = baseline ?? save_baseline
  return name === undefined ? null : { name, severity }
}

function listOf(option: string, text: string | undefined): readonly string[] | null {
  if (text === undefined) return null
  const names = text
    .split(',')
    .map(each => each.trim())
    .filter(each => each !== '')
  if (names.length === 0)
    throw stubCheckErrors.create('STB_OPTIONS_CONFLICT', `${option} names nothing, so nothing would be checked`, {
      hint: 'leave it out for all'
    })
  return names
}

function langsOf(text: string | undefined): readonly string[] | null {
  const langs = listOf('--langs', text)
  const unknown = langs?.find(each => SCANNED_EXTENSIONS[each] === undefined)
  if (unknown !== undefined)
    throw stubCheckErrors.create('STB_OPTIONS_CONFLICT', `--langs: ${unknown} is not a scanned extension`, {
      hint: `use ${Object.keys(SCANNED_EXTENSIONS).join(', ')}`
    })
  return langs
}

async function importSuppressions({ projectRoot, stored }: CommandParts, file: string): Promise<string> {
  const places = parsePlaceSuppressions(await readText(projectRoot, file, 'STB_SUPPRESSIONS_INVALID'), file)
  const added = (await stored()?.importPlaces(places)) ?? 0
  return `${added} of ${places.length} suppressions of ${file} are new`
}

function comparisonText({ added, raised, gone }: Comparison, name: string): string {
  const lines: string[] = []
  const list = (title: string, findings: readonly StubFinding[]): void => {
    if (findings.length === 0) return
    lines.push(`${findings.length} ${title}:`)
    for (const { file, line, severity, message, ruleId } of findings.slice(0, MAX_LISTED))
      lines.push(`  ${file}:${line}: ${severity}: ${message} [${ruleId}]`)
    if (findings.length > MAX_LISTED) lines.push(`  … and ${findings.length - MAX_LISTED} more`)
  }
  list(`findings that ${name} does not have`, added)
  list(`findings that are more severe than in ${name}`, raised)
  if (gone > 0) lines.push(`${gone} findings of ${name} are gone; save it again, so that they cannot come back`)
  return lines.length === 0 ? '' : `${lines.join('\n')}\n`
}

function fixText(fixes: readonly Fix[]): string {
  if (fixes.length === 0) return 'no finding can be fixed automatically\n'
  return fixes
    .map(({ file, line, before, after, ruleId }) =>
      line === 0
        ? `${file}: ${before} becomes ${after} [${ruleId}]\n`
        : `${file}:${line} [${ruleId}]\n- ${before}\n${after === '' ? '' : `+ ${after}\n`}`
    )
    .join('')
}
