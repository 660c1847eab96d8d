import type {
  ChangeReport,
  ConfigEdit,
  ConfigPreview,
  ConfigProblem,
  ConfigWritten,
  KernelAdmin,
  SecretsReport
} from '@svc/contracts'
import { type OutputOf, SvcError } from '@svc/plugin-sdk'
// Only this file: the others of the package would double the size of the plugin.
import { createTwoFilesPatch } from 'diff/lib/patch/create.js'
import {
  type configHistory,
  type configPreview,
  type configRead,
  type configSet,
  MAX_CHANGES,
  MAX_KEY_CHARS,
  type secretsDoctor
} from './edit-operations.ts'
import { NOTHING_SERVES } from './one-shot.ts'
import { problemText } from './render.ts'

type Written = OutputOf<typeof configSet>

/** Forms of an edit in the input of an operation, of which exactly one must be given. */
interface EditInput {
  readonly changes?: Readonly<Record<string, unknown>>
  readonly raw?: string
  readonly number?: number
  readonly id?: string
}

/** Returns the edit of an input. Throws `OPR_INPUT_INVALID` unless exactly one form is given. */
export function editOf({ changes, raw, number, id }: EditInput): ConfigEdit {
  const forms: ConfigEdit[] = [
    ...(changes === undefined ? [] : [{ changes }]),
    ...(raw === undefined ? [] : [{ raw }]),
    ...(number === undefined ? [] : [{ number }]),
    ...(id === undefined ? [] : [{ id }])
  ]
  const [edit, ...others] = forms
  const keys = Object.keys(changes ?? {})
  if (keys.length > MAX_CHANGES) {
    throw new SvcError('OPR_INPUT_INVALID', `a change sets or removes at most ${MAX_CHANGES} keys`, { status: 400 })
  }
  if (keys.some(({ length }) => length > MAX_KEY_CHARS)) {
    throw new SvcError('OPR_INPUT_INVALID', `a key has at most ${MAX_KEY_CHARS} characters`, { status: 400 })
  }
  if (edit !== undefined && others.length === 0) return edit
  throw new SvcError('OPR_INPUT_INVALID', 'give exactly one form of the change: changes, raw, number or id', {
    status: 400
  })
}

export function readFile(admin: KernelAdmin): OutputOf<typeof configRead> {
  return { ...admin.configuration.read() }
}

export async function previewEdit(admin: KernelAdmin, edit: ConfigEdit): Promise<OutputOf<typeof configPreview>> {
  const preview = await admin.configuration.preview(edit)
  return { ...shown(preview), plan: reportOf(preview.plan) }
}

/** Writes an edit, or with `dryRun` only previews it. */
export async function writeEdit(
  admin: KernelAdmin,
  edit: ConfigEdit,
  {
    digest,
    dryRun = false,
    oneShot
  }: { readonly digest?: string; readonly dryRun?: boolean; readonly oneShot: boolean }
): Promise<Written> {
  if (!dryRun) {
    const { report, written, applied, refused, ...rest } = await admin.configuration.write(edit, digest)
    const result = { ...shown(rest), written, applied, plan: reportOf(report), refused: [...refused] }
    return { ...result, text: writtenText(result, rest.problems, oneShot) }
  }
  const { plan, ...rest } = await admin.configuration.preview(edit)
  const result = { ...shown(rest), written: false, applied: false, plan: reportOf(plan), refused: [] }
  return { ...result, text: previewText(result, rest.caused) }
}

export function history(admin: KernelAdmin): OutputOf<typeof configHistory> {
  return { versions: admin.configuration.history().map(each => ({ ...each, keys: [...each.keys] })) }
}

export function secretsVerdict({ secrets, files }: SecretsReport): OutputOf<typeof secretsDoctor> {
  const healthy = secrets.every(({ resolved, warnings }) => resolved !== false && warnings.length === 0)
  return {
    healthy,
    secrets: secrets.map(secret => ({ ...secret, warnings: [...secret.warnings] })),
    files: files.map(file => ({ ...file }))
  }
}

/** Time limit for a diff in milliseconds. A diff of two long texts without common lines takes minutes. */
const DIFF_TIMEOUT_MS = 1_000

function shown(preview: Omit<ConfigPreview, 'plan'> | Omit<ConfigWritten, 'report'>) {
  const { path, digest, before, after, problems, caused, shadowed, changed } = preview
  const name = path.split(/[\\/]/).at(-1) ?? path
  const diff = before === after ? '' : diffOf(name, before, after)
  return {
    path,
    digest,
    diff,
    problems: [...problems],
    caused: [...caused],
    shadowed: shadowed.map(each => ({ ...each })),
    changed: changed.map(each => ({ ...each })),
    restart: changed.flatMap(({ key, reload }) => (reload === 'restart' ? [key] : []))
  }
}

/** Returns a unified diff. */
function diffOf(name: string, before: string, after: string): string {
  const patch = createTwoFilesPatch(name, name, before, after, undefined, undefined, {
    context: 3,
    timeout: DIFF_TIMEOUT_MS
  })
  return (
    patch?.replace(/^Index: .*\n=+\n/, '') ??
    `--- ${name}\n+++ ${name}\nthe texts have too little in common for a diff\n`
  )
}

function reportOf(report: ChangeReport | null): Written['plan'] {
  if (report === null) return null
  const { applied, generation, add, replace, remove, keep, steps } = report
  const lists = { add: [...add], replace: [...replace], remove: [...remove], keep: [...keep], steps: [...steps] }
  return { applied, generation, ...lists }
}

type Shown = Pick<Written, 'diff' | 'shadowed' | 'restart' | 'plan' | 'refused'>

function effects({ shadowed, restart }: Shown): string[] {
  return [
    ...shadowed.map(({ key, place }) => `${key}: ${place} overrides this value, so it has no effect`),
    ...restart.map(key => `${key}: takes effect at the next start of svc`)
  ]
}

function previewText(result: Shown, caused: readonly ConfigProblem[]): string {
  const refuses = caused.some(({ severity }) => severity === 'error')
  return [
    result.diff.trimEnd() || 'nothing to change',
    ...caused.map(problemText),
    ...effects(result),
    ...(result.plan?.steps ?? []),
    refuses ? 'dry run: the change would be refused' : 'dry run: no changes were made'
  ].join('\n')
}

function writtenText(
  result: Shown & Pick<Written, 'path' | 'written' | 'applied'>,
  problems: readonly ConfigProblem[],
  oneShot: boolean
): string {
  const { path, written, applied, plan, diff, refused } = result
  if (!written) return `nothing to change in ${path}`
  const warnings = problems.filter(({ code }) => code === 'CFG_SECRET_LITERAL')
  const end = applied ? `written and applied; generation ${plan?.generation} serves` : 'written, but not applied'
  return [
    diff.trimEnd(),
    ...warnings.map(problemText),
    ...effects(result),
    ...(plan?.steps ?? []),
    ...refused.map(({ reason }) => reason),
    oneShot ? `written to ${path}\n${NOTHING_SERVES}` : end
  ].join('\n')
}
