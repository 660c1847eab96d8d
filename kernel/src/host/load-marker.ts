import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** A version of a plugin's code that is being activated, or that crashed a process. */
interface Marked {
  readonly plugin: string
  readonly fingerprint: string
  readonly pid: number
  readonly crashed: boolean
}

/**
 * Remembers on disk which plugins a serving process activates, so that one that crashes the process is left out at the
 * next start. Plugins of the installation are not marked. A cache folder that cannot be written disables the marker.
 */
export class LoadMarker {
  readonly #file: string | null
  #marks: Marked[] = []
  #armed = false

  /** `directory`: folder of caches; null for none. */
  constructor(directory: string | null) {
    this.#file = directory === null ? null : join(directory, 'loading.json')
  }

  /** Starts to check and write marks. A mark of a process that has ended becomes a crash. */
  arm(): void {
    this.#armed = true
    this.#marks = this.#read().map(mark => (isRunning(mark.pid) ? mark : { ...mark, crashed: true }))
  }

  /** Whether this version of the code crashed a process. */
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

  /** Allows plugins to run again. */
  forgive(plugins: readonly string[]): void {
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

  /** Synchronous: the code that follows may end the process. */
  #write(): void {
    if (this.#file === null) return
    try {
      if (this.#marks.length === 0) rmSync(this.#file, { force: true })
      else {
        mkdirSync(dirname(this.#file), { recursive: true })
        const draft = `${this.#file}.${process.pid}`
        writeFileSync(draft, JSON.stringify(this.#marks))
        renameSync(draft, this.#file)
      }
    } catch {
      // Without the file a crash is not remembered; plugins still run.
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

/** Whether another process of this id runs. In a container the next process may have the id of the last one. */
function isRunning(pid: number): boolean {
  if (pid === process.pid) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
