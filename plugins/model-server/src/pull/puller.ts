import { createHash } from 'node:crypto'
import { copyFile, link, readdir, rename, rm, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join, resolve, sep } from 'node:path'
import { makePrivateFolder } from '@svc/plugin-sdk/folders'
import type { Catalogue, CatalogueEntry } from '../catalogue/catalogue.ts'
import { isGguf, readModelFiles } from '../catalogue/model-files.ts'
import { plainName } from '../catalogue/model-name.ts'
import { PULL_RECORD } from '../defaults/layer-files.ts'
import { readDefaults } from '../defaults/read-defaults.ts'
import { errors } from '../errors.ts'
import { copyLocal } from './copy-local.ts'
import { download, type RemoteFile } from './download.ts'
import { type Hubs, type PullPlan, planPull } from './plan.ts'
import { Progress, type PullEvent } from './progress.ts'
import { type PullSource, parseSource, shownSource } from './source.ts'
import { isDiskFull, noSpace, requireSpace } from './space.ts'
import {
  discardOld,
  discardUnfinished,
  locked,
  type PullRecord,
  type RecordedFile,
  readRecord,
  UNFINISHED,
  type UnfinishedPull,
  unfinishedPulls,
  writeRecord
} from './unfinished.ts'

export interface PullerOptions {
  /** Folder of all pulled models. */
  readonly folder: string
  readonly projectRoot: string
  readonly catalogue: Catalogue
  hubs(): Hubs
  readonly attempts: number
  readonly delayMs: number
  readonly stallMs: number
  /** Days after which an unfinished download is deleted; 0: never. */
  unfinishedDays(): number
}

const DAY_MS = 24 * 3_600_000

export interface PullRequest {
  /** Model, URL or path; see `parseSource`. */
  readonly from: string
  /** Name of the model; default: derived from `from`. */
  readonly as?: string | undefined
  readonly signal: AbortSignal
  readonly onEvent: (event: PullEvent) => void
}

export interface Pulled {
  readonly name: string
  readonly path: string
  readonly bytes: number
  /** False if the files on disk were the current ones already. */
  readonly changed: boolean
  /** Parts of the model that this server does not use, each with the reason. */
  readonly notes: readonly string[]
}

/**
 * Downloads models into a folder and adds them to the catalogue. A model appears in the catalogue only when all its
 * files are complete and checked. Unfinished downloads stay in the subfolder `.unfinished`, and a later pull of the
 * same model continues them.
 */
export class Puller {
  readonly #options: PullerOptions

  constructor(options: PullerOptions) {
    this.#options = options
  }

  /**
   * Pulls a model. Throws `MSV_PULL_*`, `MSV_MODEL_NAME`, `MSV_MODEL_EXISTS`, `MSV_MODEL_CONFIGURED`, `MSV_CATALOGUE`, or
   * the reason of the signal.
   */
  async pull({ from, as, signal, onEvent }: PullRequest): Promise<Pulled> {
    const { source, name } = parseSource(from, as)
    const model = plainName(name)
    const { catalogue, folder } = this.#options
    const present = catalogue.find(model)
    if (present !== undefined && present.source !== 'pulled') {
      throw errors.create('MSV_MODEL_EXISTS', `the model '${model}' exists already: ${present.path}`, {
        hint: 'Choose another name with --as.'
      })
    }
    makePrivateFolder(join(folder, UNFINISHED))
    const unfinished = join(folder, UNFINISHED, folderName(model))
    try {
      const run = () => this.#pull(model, from, source, signal, new Progress(onEvent))
      return await locked(unfinished, model, run, signal)
    } catch (error) {
      throw isDiskFull(error) ? await noSpace(unfinished, null) : error
    }
  }

  /** Returns the downloads that are not complete. */
  unfinished(): Promise<readonly UnfinishedPull[]> {
    return unfinishedPulls(this.#options.folder)
  }

  /**
   * Deletes the unfinished download of a model. Returns its folder, or null if there is none. Throws `MSV_PULL_RUNNING`
   * while a process downloads it.
   */
  discard(model: string): Promise<string | null> {
    return discardUnfinished(this.#options.folder, folderName(model), model)
  }

  /** Deletes unfinished downloads that have not changed for the time of the setting. Returns their folders. */
  async discardOld(): Promise<readonly string[]> {
    const days = this.#options.unfinishedDays()
    return days === 0 ? [] : discardOld(this.#options.folder, days * DAY_MS)
  }

  /**
   * Deletes the files of a removed model, unless another entry or one of the paths in `used` needs them. Returns whether
   * it deleted any.
   */
  async deleteFiles({ source, path }: CatalogueEntry, used: readonly string[] = []): Promise<boolean> {
    const folder = this.#folderOf(path)
    if (source === 'setting' || source === 'added' || folder === null) return false
    const paths = [...used, ...this.#options.catalogue.entries().map(each => each.path)]
    if (paths.some(each => this.#folderOf(each) === folder)) return false
    await rm(folder, { recursive: true, force: true })
    return true
  }

  /** Returns the folder of a pulled model; null for a path outside of the folder of models. */
  #folderOf(path: string): string | null {
    const { folder } = this.#options
    if (!path.startsWith(folder + sep)) return null
    const [first] = path.slice(folder.length + 1).split(sep)
    return first === undefined || first === '' || first === UNFINISHED ? null : join(folder, first)
  }

  async #pull(
    model: string,
    from: string,
    source: PullSource,
    signal: AbortSignal,
    progress: Progress
  ): Promise<Pulled> {
    const { folder, catalogue } = this.#options
    const target = join(folder, folderName(model))
    const unfinished = join(folder, UNFINISHED, folderName(model))
    makePrivateFolder(unfinished)
    progress.status('reading the list of files')
    const local = source.kind === 'file' ? expanded(source.path, this.#options.projectRoot) : null
    const plan = source.kind === 'file' ? null : await planPull(source, this.#options.hubs(), signal)
    const recorded = await recordedFiles(target)
    const isCurrent = plan !== null && (await isComplete(plan.files, recorded, target))
    if (!isCurrent) {
      const main = plan === null ? await this.#copy(local as string, unfinished, signal, progress) : plan.main
      if (plan !== null)
        await this.#download(plan, { model, from: shownSource(from) }, unfinished, target, recorded, signal, progress)
      signal.throwIfAborted()
      await replaceFolder(target, unfinished)
      await this.#register(model, from, pathOf(target, main))
    } else {
      await rm(unfinished, { recursive: true, force: true })
      if (catalogue.find(model) === undefined) await this.#register(model, from, pathOf(target, plan.main))
    }
    const path = catalogue.find(model)?.path ?? target
    const notes = [...(plan?.notes ?? []), ...(await readDefaults({ path })).notes]
    progress.done([isCurrent ? 'up to date' : 'done', ...notes].join('; '))
    return { name: model, path, bytes: (await readModelFiles(path)).sizeBytes, changed: !isCurrent, notes }
  }

  async #register(name: string, from: string, path: string): Promise<void> {
    await this.#options.catalogue.add({ name, path, source: 'pulled', from: shownSource(from) })
  }

  async #copy(path: string, unfinished: string, signal: AbortSignal, progress: Progress): Promise<string | null> {
    await rm(unfinished, { recursive: true, force: true })
    makePrivateFolder(unfinished)
    try {
      const main = await copyLocal(path, unfinished, signal, progress)
      return isGguf(path) ? main : null
    } catch (error) {
      // A copy cannot be continued.
      await rm(unfinished, { recursive: true, force: true })
      throw error
    }
  }

  async #download(
    { files, token }: PullPlan,
    names: Required<Pick<PullRecord, 'model' | 'from'>>,
    unfinished: string,
    target: string,
    recorded: ReadonlyMap<string, RecordedFile>,
    signal: AbortSignal,
    progress: Progress
  ): Promise<void> {
    const { attempts, delayMs, stallMs } = this.#options
    const begun = await recordedFiles(unfinished)
    const finished: RecordedFile[] = []
    const total = files.every(({ size }) => size !== null) ? sum(files.map(({ size }) => size ?? 0)) : null
    progress.total(total)
    await writeRecord(unfinished, { ...names, total, files: [...begun.values()] })
    const kept = new Set<string>()
    for (const file of files) if (await isKept(file, recorded, target)) kept.add(file.name)
    const missing = files.filter(({ name }) => !kept.has(name))
    await requireSpace(unfinished, await missingBytes(missing, unfinished, begun))
    for (const file of files) {
      const path = join(unfinished, file.name)
      if (isSame(file, begun.get(file.name)) && (await isSized(path, file.size))) progress.file(file, file.size ?? 0)
      else if (kept.has(file.name)) {
        await linked(join(target, file.name), path)
        progress.file(file, file.size ?? 0)
      } else {
        const onBytes = (bytes: number) => progress.file(file, bytes)
        await download(file, path, { token, attempts, delayMs, stallMs, signal, onBytes })
      }
      finished.push({ name: file.name, size: file.size, digest: file.digest })
      await writeRecord(unfinished, { ...names, total, files: finished })
    }
    // Files of an earlier pull that is not part of this one.
    const wanted = new Set([PULL_RECORD, ...files.map(({ name }) => name)])
    for (const name of await readdir(unfinished))
      if (!wanted.has(name)) await rm(join(unfinished, name), { recursive: true })
  }
}

/** Returns the folder name of a model. Two names have the same only if they are the same, on any file system. */
function folderName(model: string): string {
  const hash = createHash('sha256').update(model).digest('hex').slice(0, 8)
  return `${model.replaceAll('/', '--').replaceAll(':', '@').slice(0, 120)}-${hash}`
}

function pathOf(folder: string, main: string | null): string {
  return main === null ? folder : join(folder, main)
}

function expanded(path: string, projectRoot: string): string {
  return path.startsWith('~/') ? join(homedir(), path.slice(2)) : resolve(projectRoot, path)
}

/** Moves a finished folder to its place. An older version is removed, after the new one is complete. */
async function replaceFolder(target: string, finished: string): Promise<void> {
  const old = `${finished}.old`
  await rm(old, { recursive: true, force: true })
  await rename(target, old).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
  })
  await rename(finished, target)
  await rm(old, { recursive: true, force: true })
}

/** Returns the recorded files of a folder by name. */
async function recordedFiles(folder: string): Promise<ReadonlyMap<string, RecordedFile>> {
  return new Map((await readRecord(folder))?.files.map(file => [file.name, file]))
}

/** True if a recorded file is known to have the same content. */
function isSame(file: RecordedFile, recorded: RecordedFile | undefined): boolean {
  return file.digest !== null && recorded?.digest === file.digest && recorded.size === file.size
}

/** True if a folder has all files of a plan. */
async function isComplete(
  files: readonly RemoteFile[],
  recorded: ReadonlyMap<string, RecordedFile>,
  folder: string
): Promise<boolean> {
  for (const file of files) if (!(await isKept(file, recorded, folder))) return false
  return true
}

/** True if a folder has a file with the same content, as far as its record and its size show. */
async function isKept(file: RemoteFile, recorded: ReadonlyMap<string, RecordedFile>, folder: string): Promise<boolean> {
  return isSame(file, recorded.get(file.name)) && (await isSized(join(folder, file.name), file.size))
}

async function isSized(path: string, size: number | null): Promise<boolean> {
  const found = await stat(path).catch(() => null)
  return found !== null && (size === null || found.size === size)
}

async function linked(from: string, to: string): Promise<void> {
  await rm(to, { force: true })
  await link(from, to).catch(() => copyFile(from, to))
}

/** Returns the bytes that are still to be downloaded, as far as sizes are known. */
async function missingBytes(
  files: readonly RemoteFile[],
  folder: string,
  begun: ReadonlyMap<string, RecordedFile>
): Promise<number> {
  const missing = await Promise.all(
    files.map(async ({ name, size }) => {
      const present = begun.has(name) ? join(folder, name) : join(folder, `${name}.partial`)
      return Math.max(0, (size ?? 0) - ((await stat(present).catch(() => null))?.size ?? 0))
    })
  )
  return sum(missing)
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
