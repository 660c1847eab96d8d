import { mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { withFileLock } from '@svc/contracts'
import { errorMessage, isSvcError } from '@svc/plugin-sdk'
import { openclawErrors } from '../errors.ts'
import { parseRecord } from './parse-record.ts'
import { assertInstallable, MAX_SKILL_BYTES, type SkillRecord, sha256 } from './record.ts'

/** Maximum installed skills. */
export const MAX_SKILLS = 500
/** Maximum wait for another process that changes the skills, in milliseconds. */
const LOCK_WAIT_MS = 30_000
const RECORD = 'record.json'
/** Maximum size of a record. */
const MAX_RECORD_BYTES = 65_536

/**
 * Installed skills in a folder of the plugin: one subfolder a skill, with `record.json` and `<sha256>.md`. The record
 * is replaced in one step after the text is on disk, so a kill leaves the earlier version or the new one. Several
 * processes may use the folder.
 */
export class SkillStore {
  readonly folder: string

  constructor(folder: string) {
    this.folder = folder
  }

  /** Returns the installed skills by name. Skips folders without a valid record. */
  async list(): Promise<readonly SkillRecord[]> {
    const records = await Promise.all((await this.#names()).map(name => this.#read(join(this.folder, name))))
    return records.filter(each => each !== null).sort((a, b) => (a.slug < b.slug ? -1 : 1))
  }

  /** Returns an installed skill; null if it is not installed. */
  async find(slug: string): Promise<SkillRecord | null> {
    assertInstallable(slug)
    const record = await this.#read(this.#folderOf(slug))
    return record?.slug === slug ? record : null
  }

  /** Throws `SKG_NOT_INSTALLED`. */
  async get(slug: string): Promise<SkillRecord> {
    const record = await this.find(slug)
    if (record !== null) return record
    throw openclawErrors.create('SKG_NOT_INSTALLED', `the skill ${slug} is not installed`, {
      hint: `install it: svc openclaw import ${slug} --install`
    })
  }

  /** Returns the text of a skill. Throws `SKG_STORE_FAILED` if the file is not the one that was installed. */
  async text({ slug, sha256: hash }: Pick<SkillRecord, 'slug' | 'sha256'>): Promise<string> {
    const file = join(this.#folderOf(slug), `${hash}.md`)
    const text = await this.#guarded(file, async () => {
      const { size } = await stat(file)
      return size > MAX_SKILL_BYTES ? null : readFile(file, 'utf8')
    })
    if (text !== null && sha256(text) === hash) return text
    throw openclawErrors.create('SKG_STORE_FAILED', `${file} was changed after it was installed`, {
      at: { file },
      hint: `install it again: svc openclaw import ${slug} --install`
    })
  }

  /**
   * Installs a skill or another version of it. Content that was approved or denied before keeps that decision; any other
   * content is pending. Throws `SKG_STORE_FULL` and `SKG_STORE_FAILED`.
   */
  install(record: SkillRecord, text: string): Promise<SkillRecord> {
    return this.#locked(async () => {
      const folder = this.#folderOf(record.slug)
      const before = await this.#read(folder)
      if (before === null && (await this.#names()).length >= MAX_SKILLS)
        throw openclawErrors.create('SKG_STORE_FULL', `${this.folder} has ${MAX_SKILLS} skills`, {
          hint: 'remove one: svc openclaw remove NAME'
        })
      const isSame = before?.approval_id === record.approval_id
      const next = isSame
        ? { ...record, trust: before.trust, approval: before.approval, decided_at: before.decided_at }
        : record
      await mkdir(folder, { recursive: true, mode: 0o700 })
      await writeDurably(join(folder, `${next.sha256}.md`), text)
      await this.#write(folder, next)
      await this.#removeOthers(folder, next)
      return next
    })
  }

  /** Sets the decision on the content with this id. Throws `SKG_APPROVAL_UNKNOWN`, and the error of `check`. */
  decide(
    id: string,
    approval: 'approved' | 'denied',
    now: number,
    check?: (record: SkillRecord) => void
  ): Promise<SkillRecord> {
    return this.#locked(async () => {
      const record = (await this.list()).find(each => each.approval_id === id)
      if (record === undefined)
        throw openclawErrors.create('SKG_APPROVAL_UNKNOWN', `no installed skill has the approval ${id}`, {
          hint: 'the skill was removed or installed again; list approvals: svc openclaw approvals'
        })
      check?.(record)
      const next = { ...record, approval, decided_at: now }
      await this.#write(this.#folderOf(record.slug), next)
      return next
    })
  }

  /** Sets the trust. A demoted skill needs a new approval. Throws `SKG_NOT_INSTALLED`. */
  trust(slug: string, trust: SkillRecord['trust']): Promise<SkillRecord> {
    return this.#locked(async () => {
      const record = await this.get(slug)
      const isDemoted = trust === 'untrusted' && record.approval === 'approved'
      const next = { ...record, trust, ...(isDemoted ? { approval: 'pending' as const, decided_at: null } : {}) }
      await this.#write(this.#folderOf(slug), next)
      return next
    })
  }

  /** Throws `SKG_NOT_INSTALLED`. */
  remove(slug: string): Promise<SkillRecord> {
    return this.#locked(async () => {
      const record = await this.get(slug)
      await rm(this.#folderOf(slug), { recursive: true, force: true })
      return record
    })
  }

  /** Slashes are replaced, so the folder is always a direct child. The digest separates names that differ only in case. */
  #folderOf(slug: string): string {
    return join(this.folder, `${slug.toLowerCase().replaceAll('/', '+')}-${sha256(slug).slice(0, 8)}`)
  }

  async #names(): Promise<string[]> {
    return this.#guarded(this.folder, async () => {
      try {
        const entries = await readdir(this.folder, { withFileTypes: true })
        return entries.filter(each => each.isDirectory()).map(each => each.name)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
        throw error
      }
    })
  }

  async #read(folder: string): Promise<SkillRecord | null> {
    const file = join(folder, RECORD)
    return this.#guarded(file, async () => {
      try {
        if ((await stat(file)).size > MAX_RECORD_BYTES) return null
        return parseRecord(await readFile(file, 'utf8'))
      } catch (error) {
        if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return null
        throw error
      }
    })
  }

  async #write(folder: string, record: SkillRecord): Promise<void> {
    await writeDurably(join(folder, RECORD), `${JSON.stringify(record, null, 2)}\n`)
  }

  async #removeOthers(folder: string, { sha256: hash }: SkillRecord): Promise<void> {
    for (const name of await readdir(folder))
      if (name !== RECORD && name !== `${hash}.md`) await rm(join(folder, name), { recursive: true, force: true })
  }

  #locked<A>(run: () => Promise<A>): Promise<A> {
    const busy = (): Error =>
      openclawErrors.create('SKG_STORE_FAILED', `${this.folder}: another process holds its lock`, {
        at: { file: this.folder },
        hint: 'try again later'
      })
    return this.#guarded(this.folder, async () =>
      withFileLock(`${this.folder}.lock`, run, { waitMs: LOCK_WAIT_MS, busy })
    )
  }

  async #guarded<A>(file: string, run: () => Promise<A>): Promise<A> {
    try {
      return await run()
    } catch (error) {
      if (isSvcError(error)) throw error
      throw openclawErrors.create('SKG_STORE_FAILED', `${file}: ${errorMessage(error)}`, {
        at: { file },
        hint: 'free space, or correct the permissions of the folder',
        cause: error
      })
    }
  }
}

/** Replaces a file in one step, after its content is on disk. */
async function writeDurably(path: string, text: string): Promise<void> {
  const draft = `${path}.${process.pid}.tmp`
  try {
    const file = await open(draft, 'w', 0o600)
    try {
      await file.writeFile(text)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(draft, path)
  } catch (error) {
    await rm(draft, { force: true }).catch(() => undefined)
    throw error
  }
}
