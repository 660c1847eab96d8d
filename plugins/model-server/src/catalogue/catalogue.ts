import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { withFileLock } from '@svc/contracts'
import { defined, errorMessage, type Infer, t } from '@svc/plugin-sdk'
import { describeErrors, renderProblems, schemaCheck } from '@svc/plugin-sdk/check'
import { makePrivateFolder } from '@svc/plugin-sdk/folders'
import { type WrittenDefaults, writtenDefaults } from '../defaults/written-defaults.ts'
import { errors } from '../errors.ts'
import { quoted } from '../served-model.ts'
import { shownName } from '../shown-name.ts'
import { checkModelName, plainName } from './model-name.ts'

const LOCK_WAIT_MS = 5_000
/** Maximum characters of the file: it is written as a whole with each change, and clients of the server add to it. */
const MAX_CHARACTERS = 16 << 20

const storedModel = t.object(
  {
    name: t.string({ minLength: 1 }),
    path: t.string({ minLength: 1 }),
    source: t.enum(['added', 'pulled', 'copied', 'created']),
    /** Name or URL that was pulled. */
    from: t.optional(t.string()),
    /** Defaults that a client of the Ollama API has set. */
    defaults: t.optional(writtenDefaults),
    added_at: t.string()
  },
  { additionalProperties: true }
)
const checkFile = schemaCheck(
  t.object({ version: t.enum([1]), models: t.array(storedModel) }, { additionalProperties: true })
)

type StoredModel = Infer<typeof storedModel>

/** Model that requests can name. */
export interface CatalogueEntry {
  /** Without the tag `:latest`. */
  readonly name: string
  /** Absolute path of a run directory or a GGUF file. */
  readonly path: string
  /**
   * `setting`: a setting names it. `added`, `copied`: by a command. `pulled`: its files were downloaded. `created`: from
   * another model, with defaults.
   */
  readonly source: 'setting' | StoredModel['source']
  /** Name or URL that was pulled. */
  readonly from?: string
  /** Defaults instead of those that were pulled with the files. */
  readonly defaults?: WrittenDefaults
  /** Time of the last change of the entry or its files; absent for a model of the settings. */
  readonly added_at?: string
}

/**
 * Models by name: those of the settings, and those of a file, which commands change. Other processes may change the
 * file at any time, so it is read again whenever it has changed.
 */
export class Catalogue {
  readonly #file: string
  readonly #configured: readonly CatalogueEntry[]
  readonly #changed: () => void
  #read: { readonly stamp: string; readonly models: readonly StoredModel[] } = { stamp: 'none', models: [] }

  /** `configured`: paths by name, relative to `projectRoot`. Throws `MSV_MODEL_NAME`. */
  constructor(file: string, configured: Readonly<Record<string, string>>, projectRoot: string, changed: () => void) {
    this.#file = file
    this.#changed = changed
    this.#configured = Object.entries(configured).map(([name, path]) => {
      checkModelName(name)
      return { name: plainName(name), path: resolve(projectRoot, path), source: 'setting' }
    })
  }

  /** Returns all models; those of the settings first. Throws `MSV_CATALOGUE` if the file is invalid. */
  entries(): readonly CatalogueEntry[] {
    const named = new Set(this.#configured.map(({ name }) => name))
    return [...this.#configured, ...this.#stored().filter(({ name }) => !named.has(name))]
  }

  /** Returns the models of the settings. */
  configured(): readonly CatalogueEntry[] {
    return this.#configured
  }

  /** Returns the model with a name, with or without the tag `:latest`. */
  find(name: string): CatalogueEntry | undefined {
    return this.entries().find(each => each.name === plainName(name))
  }

  /**
   * Adds a model, or replaces one of the same name that was pulled or created. Throws `MSV_MODEL_NAME`,
   * `MSV_MODEL_EXISTS`, `MSV_CATALOGUE`.
   */
  async add(entry: CatalogueEntry & { readonly source: StoredModel['source'] }): Promise<void> {
    const { name, path, source, from, defaults } = entry
    checkModelName(name)
    await this.#change(models => {
      const present = this.find(name)
      const repeated = present?.source === source && (source === 'pulled' || source === 'created')
      if (present !== undefined && !repeated) throw exists(present)
      const added_at = new Date().toISOString()
      const added: StoredModel = { name: plainName(name), path, source, ...defined({ from, defaults }), added_at }
      const others = models.filter(each => each.name !== plainName(name))
      // New files of a pulled model are those of its copies, too.
      const isSame = (each: StoredModel): boolean => source === 'pulled' && each.path === path
      return [...others.map(each => (isSame(each) ? { ...each, added_at } : each)), added]
    })
  }

  /** Removes a model and returns it. Throws `MSV_MODEL_UNKNOWN`, `MSV_MODEL_CONFIGURED`, `MSV_CATALOGUE`. */
  async remove(name: string): Promise<CatalogueEntry> {
    let removed: CatalogueEntry | undefined
    await this.#change(models => {
      removed = this.find(name)
      if (removed === undefined) throw unknown(name, this.entries())
      if (removed.source === 'setting') throw configured(removed.name, 'plugins.model-server.models')
      return models.filter(each => each.name !== plainName(name))
    })
    return removed as CatalogueEntry
  }

  async #change(edit: (models: readonly StoredModel[]) => readonly StoredModel[]): Promise<void> {
    makePrivateFolder(dirname(this.#file))
    const busy = () => errors.create('MSV_CATALOGUE', `another process changes ${this.#file}; try again`)
    await withFileLock(
      `${this.#file}.lock`,
      () => {
        const text = `${JSON.stringify({ version: 1, models: edit(this.#stored()) }, null, 2)}\n`
        if (text.length > MAX_CHARACTERS) {
          throw errors.create(
            'MSV_CATALOGUE',
            `the list of models ${this.#file} would have more than ${MAX_CHARACTERS} characters`,
            {
              hint: 'Remove models that were created with long defaults: svc model rm NAME'
            }
          )
        }
        const draft = `${this.#file}.${process.pid}`
        try {
          writeFileSync(draft, text, { mode: 0o600, flush: true })
          renameSync(draft, this.#file)
        } catch (cause) {
          rmSync(draft, { force: true })
          throw errors.create('MSV_CATALOGUE', `${this.#file} cannot be written: ${errorMessage(cause)}`, { cause })
        }
      },
      { waitMs: LOCK_WAIT_MS, busy }
    )
    this.#changed()
  }

  #stored(): readonly StoredModel[] {
    const stats = statSync(this.#file, { throwIfNoEntry: false, bigint: true })
    const stamp = stats === undefined ? 'none' : `${stats.ino} ${stats.size} ${stats.mtimeNs}`
    if (stamp !== this.#read.stamp) this.#read = { stamp, models: stats === undefined ? [] : this.#parse() }
    return this.#read.models
  }

  #parse(): readonly StoredModel[] {
    try {
      const checked = checkFile(JSON.parse(readFileSync(this.#file, 'utf8')))
      if (!checked.ok) throw new Error(renderProblems(describeErrors(checked.errors)))
      for (const { name } of checked.value.models) checkModelName(name)
      return checked.value.models
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return []
      throw errors.create('MSV_CATALOGUE', `the list of models ${this.#file} is invalid: ${errorMessage(cause)}`, {
        cause,
        hint: 'Repair the file, or delete it and add the models again with svc model add.'
      })
    }
  }
}

/** Returns the error for a name that is in use. */
export function exists({ name, path }: Pick<CatalogueEntry, 'name' | 'path'>): Error {
  return errors.create('MSV_MODEL_EXISTS', `the model '${name}' exists already: ${path}`, {
    data: { param: 'model' },
    hint: `Choose another name, or remove it first: svc model rm ${name}`
  })
}

/** Returns the error for a model that only a setting can change. */
export function configured(name: string, setting: string): Error {
  return errors.create('MSV_MODEL_CONFIGURED', `the model '${name}' comes from the settings`, {
    data: { param: 'model' },
    hint: `Change the setting ${setting}.`
  })
}

function unknown(name: string, entries: readonly CatalogueEntry[]): Error {
  const names = entries.map(each => each.name)
  const listed = names.length === 0 ? 'no models were added' : `there are ${quoted(names)}`
  return errors.create('MSV_MODEL_UNKNOWN', `model ${shownName(name)} not found; ${listed}`, {
    data: { param: 'model', asked: name, served: names }
  })
}
