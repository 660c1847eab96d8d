import { existsSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import {
  changedPaths,
  editToml,
  formatProblem,
  isTable,
  keyText,
  lookup,
  maskSecrets,
  parseAssignment,
  parseKeys,
  pathOfKey,
  replaceFile,
  settingAt,
  shadowOf,
  type Table,
  tryToml,
  valueAt
} from '@svc/config'
import {
  adminErrors,
  type ChangeReport,
  type ConfigEdit,
  type ConfigEditor,
  type ConfigFile,
  type ConfigPreview,
  type ConfigProblem,
  type ConfigVersion,
  type ConfigWritten,
  type ShadowedKey
} from '@svc/contracts'
import { errorMessage, isSvcError } from '@svc/plugin-sdk'
import type { PluginCatalog } from './catalog.ts'
import { changedSettings, diffConfig } from './config-diff.ts'
import { ConfigHistory, digestOf } from './config-history.ts'
import type { ResolvedConfig } from './plugin-config.ts'

/** Longest text that is edited, in characters: a change of one key of it takes about 0.1 s of the event loop. */
const MAX_TEXT_CHARS = 64 * 1024
/**
 * Maximum product of the values of one table and the characters of the text: each value is a pass over the text, and no
 * other work runs in between. About 2 s of the event loop.
 */
const MAX_TABLE_WORK = 1_000_000
/** Longest part of a key in a message. */
const MAX_KEY_CHARS = 200

/** Functions of the project that the editor uses. */
export interface EditorHost {
  /** Catalog that was read last. */
  catalog(): PluginCatalog
  /** False for a process that runs one command: it has no plan and applies nothing. */
  readonly serves: boolean
  configOf(catalog: PluginCatalog): ResolvedConfig
  /** Runs one at a time with all other changes. */
  inTurn<A>(work: () => Promise<A>): Promise<A>
  /** Plans a configuration without applying it. Must run in turn. */
  plan(catalog: PluginCatalog, config: ResolvedConfig): Promise<ChangeReport>
  /** Reads the files again and applies them. Throws if the change is refused. Must run in turn. */
  adopt(cause: string): Promise<ChangeReport>
  /** Reads the files again, without applying them. Must run in turn. */
  reread(): Promise<void>
  /** Plugins that do not run, with the reason. */
  failing(): ReadonlyMap<string, string>
  /** Returns the option or setting that selects plugins instead of `enabled`, such as `--only`; undefined if none does. */
  selectedBy(config: ResolvedConfig): string | undefined
  mask(text: string): string
}

/** State of the project file and its configuration. */
interface Draft {
  readonly text: string
  /** Empty if the text is not valid TOML. */
  readonly table: Table
  readonly catalog: PluginCatalog
  readonly config: ResolvedConfig
}

/** Reads and changes the project's configuration file. */
export class FileEditor implements ConfigEditor {
  readonly #host: EditorHost

  constructor(host: EditorHost) {
    this.#host = host
  }

  read(): ConfigFile {
    const { path, text, exists } = this.#onDisk()
    const { resolved } = this.#draft(text).config
    const { text: shown, secrets } = maskSecrets(text, resolved.sections)
    const masked = this.#host.mask(shown)
    const lines = masked === shown ? [] : changedLines(shown, masked)
    const places = [...secrets, ...lines.map(line => ({ key: 'a known secret', line }))]
    const listed = places.map(({ key, line }) => `line ${line} (${key})`).join(', ')
    const reason =
      places.length === 0
        ? null
        : `${listed}: holds a secret; replace it with a reference such as secret://env/NAME before you edit the whole text`
    return { path, exists, text: masked, digest: digestOf(text), editable: reason === null, reason }
  }

  history(): readonly ConfigVersion[] {
    return this.#history().list()
  }

  preview(edit: ConfigEdit): Promise<ConfigPreview> {
    return this.#host.inTurn(async () => {
      const { preview, after } = await this.#compare(edit)
      const isInvalid = hasError(after.config.generalProblems)
      if (!this.#host.serves || isInvalid) return { ...preview, plan: null }
      try {
        return { ...preview, plan: await this.#host.plan(after.catalog, after.config) }
      } catch (error) {
        const problem: ConfigProblem = {
          severity: 'error',
          code: isSvcError(error) ? error.code : 'CFG_WRITE_REFUSED',
          message: this.#host.mask(errorMessage(error)),
          ...(isSvcError(error) && error.hint !== undefined ? { hint: error.hint } : {})
        }
        const { problems, caused } = preview
        return { ...preview, problems: [...problems, problem], caused: [...caused, problem], plan: null }
      }
    })
  }

  write(edit: ConfigEdit, digest?: string): Promise<ConfigWritten> {
    return this.#host.inTurn(async () => {
      const { path, text } = this.#onDisk()
      if (digest !== undefined && digest !== digestOf(text)) {
        throw adminErrors.create('CFG_CHANGED', `${path} was changed since the preview; it was not written`, {
          at: { file: path },
          hint: 'preview the change again'
        })
      }
      const { preview, after, keys } = await this.#compare(edit)
      const errors = preview.caused.filter(({ severity }) => severity === 'error')
      if (errors.length > 0) throw refusal(path, errors.map(formatProblem).join('\n'), { data: { problems: errors } })
      const result = { ...preview, digest: digestOf(after.text), written: true, refused: [] }
      if (after.text === text) return { ...result, written: false, applied: this.#host.serves, report: null }
      const undo = this.#replace(path, text, after.text, keys)
      if (!this.#host.serves) return { ...result, applied: false, report: null }
      const earlier = after.config.generalProblems.filter(({ severity }) => severity === 'error')
      if (earlier.length > 0) {
        // Not caused by this change, which may be a step of the correction.
        const refused = earlier.map(problem => ({ plugin: null, reason: formatProblem(problem) }))
        return { ...result, applied: false, report: null, refused }
      }
      try {
        const report = await this.#host.adopt(`${keys.join(', ')} changed in ${nameOf(path)}`)
        return { ...result, applied: true, report, refused: this.#notRunning(after.config, keys) }
      } catch (error) {
        undo()
        await this.#host.reread()
        throw refusal(path, errorMessage(error), { cause: error })
      }
    })
  }

  /** Keeps the old text and writes the new one. Returns the function that restores the old one. */
  #replace(path: string, before: string, after: string, keys: readonly string[]): () => void {
    const existed = existsSync(path)
    const history = this.#history()
    let id = ''
    try {
      id = history.add(before, keys)
      replaceFile(path, after)
    } catch (error) {
      if (id !== '') history.remove(id)
      throw refusal(path, `it cannot be written: ${errorMessage(error)}`, {
        cause: error,
        hint: `check the free space and the permissions of its folder and of ${this.#host.catalog().state}`
      })
    }
    return () => {
      // A newer text of someone else stays.
      if (this.#onDisk().text === after) {
        if (existed) replaceFile(path, before)
        else rmSync(path, { force: true })
      }
      history.remove(id)
    }
  }

  /** Plugins whose settings were changed and that do not run. */
  #notRunning(config: ResolvedConfig, keys: readonly string[]): ConfigWritten['refused'] {
    const failing = this.#host.failing()
    const table = tryToml(keys.map(key => `${key} = 0`).join('\n')) ?? {}
    const owners = changedPaths({}, table).flatMap(
      path => settingAt(config.resolved.sections, path)?.section.owner ?? []
    )
    return [...new Set(owners)].flatMap(plugin => {
      const reason = failing.get(plugin)
      return reason === undefined ? [] : [{ plugin, reason }]
    })
  }

  #history(): ConfigHistory {
    return new ConfigHistory(this.#host.catalog().state)
  }

  #onDisk(): { readonly path: string; readonly exists: boolean; readonly text: string } {
    const path = this.#host.catalog().sources.projectFile
    const exists = existsSync(path)
    return { path, exists, text: exists ? readFileSync(realpathSync(path), 'utf8') : '' }
  }

  #draft(text: string): Draft {
    const catalog = this.#host.catalog().withText(text)
    return { text, table: tryToml(text) ?? {}, catalog, config: this.#host.configOf(catalog) }
  }

  /** Compares the file with what an edit makes of it. */
  async #compare(edit: ConfigEdit): Promise<{
    readonly preview: Omit<ConfigPreview, 'plan'>
    readonly after: Draft
    readonly keys: readonly string[]
  }> {
    const { path, text } = this.#onDisk()
    const before = this.#draft(text)
    const after = this.#draft(await this.#edited(before, edit))
    const changed = changedPaths(before.table, after.table)
    const problems = [...after.config.problems, ...this.#secretProblems(edit, before, after, path)]
    const known = new Set(before.config.problems.map(identity))
    const shown = (draft: Draft): string =>
      this.#host.mask(maskSecrets(draft.text, draft.config.resolved.sections).text)
    return {
      after,
      keys: changed.map(keyText),
      preview: {
        path,
        digest: digestOf(text),
        before: shown(before),
        after: shown(after),
        problems,
        caused: problems.filter(
          problem => !known.has(identity(problem)) || (problem.code === 'CFG_TOML_SYNTAX' && problem.file === path)
        ),
        shadowed: changed.flatMap(each => this.#shadow(after, each)),
        changed: changedSettings(diffConfig(before.config, after.config), after.config)
      }
    }
  }

  async #edited(before: Draft, edit: ConfigEdit): Promise<string> {
    const { sections } = before.config.resolved
    if ('raw' in edit) {
      assertEditable(edit.raw)
      return edit.raw
    }
    if ('number' in edit || 'id' in edit) {
      const wanted = 'number' in edit ? edit.number : edit.id
      const kept = this.#history().text(wanted)
      if (kept !== undefined) return kept
      throw adminErrors.create('CFG_VERSION_UNKNOWN', `there is no previous text ${wanted}`, {
        hint: 'svc config history lists the previous texts'
      })
    }
    const given =
      'changes' in edit
        ? Object.entries(edit.changes).map(([key, value]) => ({
            key: keyText(pathOfKey(sections, key, before.table)),
            value
          }))
        : edit.assignments.map(each => parseAssignment(sections, each, before.table))
    assertEditable(before.text)
    const paths = parseKeys(given.map(({ key }) => key))
    let { text } = before
    for (const [index, { key, value }] of given.entries()) {
      assertQuick(text, key, value, lookup(before.table, paths[index] ?? []))
      text = editToml(text, { [key]: value })
      assertEditable(text)
      // Other work runs between two keys.
      await setImmediate()
    }
    return text
  }

  /** Problems of literal secrets: errors for an edit that adds one, warnings for a text that had it before. */
  #secretProblems(edit: ConfigEdit, before: Draft, after: Draft, file: string): ConfigProblem[] {
    const { secrets } = maskSecrets(after.text, after.config.resolved.sections)
    const isOld = 'number' in edit || 'id' in edit
    return secrets.flatMap(({ key, line }): ConfigProblem[] => {
      const isSame = !('raw' in edit) && sameValue(before.table, after.table, key)
      if (isSame) return []
      return [
        {
          severity: isOld ? 'warning' : 'error',
          code: 'CFG_SECRET_LITERAL',
          message: `${key} is a secret: svc writes only a reference to it, not its value`,
          file,
          line,
          key,
          hint: `write ${key} = "secret://env/NAME", and set the environment variable NAME before svc starts`
        }
      ]
    })
  }

  #shadow({ catalog, config, table }: Draft, path: readonly string[]): ShadowedKey[] {
    const layer = catalog.sources.layers.find(each => each.layer === 'project')
    const place = lookup(table, path) === undefined ? undefined : layer?.place(path).text
    const shadow = shadowOf(config.resolved.sections, path, place)
    if (shadow !== undefined) return [shadow]
    const isSwitch = path.length === 3 && path[0] === 'plugins' && path[2] === 'enabled'
    const selection = isSwitch ? this.#host.selectedBy(config) : undefined
    return selection === undefined ? [] : [{ key: keyText(path), layer: 'only', place: selection }]
  }
}

function assertEditable(text: string): void {
  if (text.length <= MAX_TEXT_CHARS) return
  throw adminErrors.create(
    'CFG_WRITE_REFUSED',
    `the text of the configuration file has ${text.length} characters; svc edits at most ${MAX_TEXT_CHARS}`,
    { hint: 'edit the file by hand' }
  )
}

/** Throws if an edit of one key would take long: a table replaces another key by key. */
function assertQuick(text: string, key: string, value: unknown, current: unknown): void {
  const written = text.length + (JSON.stringify(value) ?? '').length
  if (written > MAX_TEXT_CHARS) {
    throw adminErrors.create(
      'CFG_WRITE_REFUSED',
      `with the value of ${shortKey(key)}, the configuration file would have more than ${MAX_TEXT_CHARS} characters`,
      { hint: 'write a shorter value, or edit the file by hand' }
    )
  }
  const count = isTable(value) ? countValues(value) + countValues(current) : 1
  if (count === 1 || count * written <= MAX_TABLE_WORK) return
  throw adminErrors.create(
    'CFG_WRITE_REFUSED',
    `${shortKey(key)}: svc changes at most ${Math.floor(MAX_TABLE_WORK / written)} values of a table at a time in a text of this length, not ${count}`,
    { hint: 'set its values one by one, or edit the file by hand' }
  )
}

/** Counts the values of a table and of the tables in it. */
function countValues(value: unknown): number {
  if (!isTable(value)) return value === undefined ? 0 : 1
  return Object.values(value).reduce<number>((sum, each) => sum + Math.max(1, countValues(each)), 0)
}

function shortKey(key: string): string {
  return key.length <= MAX_KEY_CHARS ? key : `${key.slice(0, MAX_KEY_CHARS)}…`
}

function sameValue(before: Table, after: Table, key: string): boolean {
  const path = changedPaths({}, tryToml(`${key} = 0`) ?? {})[0] ?? []
  const [was, is] = [before, after].map(table => JSON.stringify(valueAt(table, path)))
  return was !== undefined && was === is
}

function refusal(
  path: string,
  reason: string,
  details: { data?: unknown; cause?: unknown; hint?: string } = {}
): Error {
  return adminErrors.create('CFG_WRITE_REFUSED', `${nameOf(path)} was not changed: ${reason}`, {
    hint: 'correct the values; svc config set --dry-run shows the problems',
    ...details
  })
}

function nameOf(path: string): string {
  return path.split(/[\\/]/).at(-1) ?? path
}

/** Identifies a problem without its position, which an edit elsewhere may move. */
function identity({ code, key, message }: ConfigProblem): string {
  return JSON.stringify([code, key, message])
}

function hasError(problems: readonly ConfigProblem[]): boolean {
  return problems.some(({ severity }) => severity === 'error')
}

/** Returns the numbers of the lines that differ. The texts have the same number of lines. */
function changedLines(before: string, after: string): number[] {
  const others = after.split('\n')
  return before.split('\n').flatMap((line, index) => (line === others[index] ? [] : [index + 1]))
}
