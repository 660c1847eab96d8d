import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { makePrivateFolder } from '@svc/plugin-sdk/folders'

/** Version of a plugin's code that is being activated, or that crashed a process. */
interface Marked {
  readonly plugin: string
  readonly fingerprint: string
  readonly pid: number
  readonly crashed: boolean
}

/**
 * Records on disk which plugins a server is activating. If one crashes the process, the next start leaves it out.
 * Plugins of the installation are not marked. If the cache folder is read-only, crashes are not recorded.
 */
export class LoadMarker {
  readonly #file: string | null
  #marks: Marked[] = []
  #armed = false

  /** `directory`: cache folder; null keeps the marks in memory. */
  constructor(directory: string | null) {
    this.#file = directory === null ? null : join(directory, 'loading.json')
  }

  /** Starts to check and write marks. A mark of a process that no longer runs counts as a crash. */
  arm(): void {
    this.#armed = true
    this.#marks = this.#read().map(mark => (isRunning(mark.pid) ? mark : { ...mark, crashed: true }))
  }

  /** True if this version of the code crashed a process. */
  crashed(plugin: string, fingerprint: string): boolean {
    return this.#armed && this.#marks.some(mark => mark.crashed && isOf(mark, plugin, fingerprint))
  }

  begin(plugin: string, fingerprint: string): void {
    if (!this.#armed) return
    this.#marks = this.#marks.filter(mark => mark.plugin !== plugin)
    this.#marks.push({ plugin, fingerprint, pid: process.pid, crashed: false })
    this.#write()
  }

  end(plugin: string): void {
    if (!this.#marks.some(mark => mark.plugin === plugin && !mark.crashed)) return
    this.#marks = this.#marks.filter(mark => mark.plugin !== plugin || mark.crashed)
    this.#write()
  }

  /** Removes the marks of plugins, so that they may run again. */
  clear(plugins: readonly string[]): void {
    const marks = this.#armed ? this.#marks : this.#read()
    const left = marks.filter(mark => !plugins.includes(mark.plugin))
    if (left.length === marks.length) return
    this.#marks = left
    this.#write()
  }

  #read(): Marked[] {
    if (this.#file === null) return []
    try {
      const marks: unknown = JSON.parse(readFileSync(this.#file, 'utf8'))
      return Array.isArray(marks) ? marks.filter(isMarked) : []
    } catch {
      return []
    }
  }

  /** Writes the marks. Synchronous, since the code that runs next may end the process. */
  #write(): void {
    if (this.#file === null) return
    try {
      if (this.#marks.length === 0) rmSync(this.#file, { force: true })
      else {
        makePrivateFolder(dirname(this.#file))
        const draft = `${this.#file}.${process.pid}`
        writeFileSync(draft, JSON.stringify(this.#marks))
        renameSync(draft, this.#file)
      }
    } catch {
      // Without the file, a crash is not recorded, but plugins run.
    }
  }
}

function isOf(mark: Marked, plugin: string, fingerprint: string): boolean {
  return mark.plugin === plugin && mark.fingerprint === fingerprint
}

function isMarked(value: unknown): value is Marked {
  const { plugin, fingerprint, pid } = (value ?? {}) as Partial<Marked>
  return typeof plugin === 'string' && typeof fingerprint === 'string' && typeof pid === 'number'
}

/** True if another process with this id runs. In a container, this process may have the id of the previous one. */
function isRunning(pid: number): boolean {
  if (pid === process.pid) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
