import { gigabytes } from '../memory-budget.ts'

/** Progress of a pull. */
export interface PullEvent {
  readonly status: 'planning' | 'downloading' | 'done'
  /** The event in one line, for people. */
  readonly text: string
  readonly file?: string
  readonly digest?: string
  /** Bytes of all files that are on disk. */
  readonly completed: number
  /** Bytes of all files; absent if unknown. */
  readonly total?: number
  readonly bytes_per_second?: number
  readonly eta_seconds?: number
}

/** Minimum time between two events, apart from the ends of files; and between two measurements of the rate. */
const STEP_MS = 1_000
/** Weight of the newest second in the rate. */
const NEWEST = 0.3

/** Counts the bytes of a pull and reports them at most once a second, and at the end of each file. */
export class Progress {
  readonly #emit: (event: PullEvent) => void
  readonly #now: () => number
  #total: number | null = null
  /** Bytes of the finished files. */
  #finished = 0
  #file: { readonly name: string; readonly digest: string | null } | null = null
  #bytes = 0
  #rate: number | null = null
  /** Time and bytes on disk of the last measurement of the rate. */
  #measured: { at: number; completed: number }

  /** `now`: monotonic clock in milliseconds. */
  constructor(emit: (event: PullEvent) => void, now: () => number = () => performance.now()) {
    this.#emit = emit
    this.#now = now
    this.#measured = { at: now(), completed: 0 }
  }

  status(text: string): void {
    this.#emit({ status: 'planning', text, completed: 0 })
  }

  /** Sets the bytes of all files; null if unknown. */
  total(bytes: number | null): void {
    this.#total = bytes
  }

  /** Sets the bytes of a file that are on disk. The first call for a file gives those of an earlier download. */
  file(
    file: { readonly name: string; readonly size: number | null; readonly digest: string | null },
    bytes: number
  ): void {
    if (this.#file?.name !== file.name) {
      this.#finished += this.#bytes
      this.#file = file
      // Bytes that were on disk before do not count for the rate.
      this.#measured.completed += bytes
    }
    this.#bytes = bytes
    const sinceMs = this.#now() - this.#measured.at
    if (sinceMs >= STEP_MS) this.#measure(sinceMs)
    else if (bytes !== file.size) return
    this.#report()
  }

  /** Reports the end. */
  done(text: string): void {
    const completed = this.#finished + this.#bytes
    this.#emit({ status: 'done', text, completed, ...(this.#total === null ? {} : { total: this.#total }) })
  }

  #measure(sinceMs: number): void {
    const completed = this.#finished + this.#bytes
    // A restart from the beginning lowers the count.
    const now = (Math.max(0, completed - this.#measured.completed) / sinceMs) * 1000
    this.#rate = this.#rate === null ? now : NEWEST * now + (1 - NEWEST) * this.#rate
    this.#measured = { at: this.#now(), completed }
  }

  #report(): void {
    const completed = this.#finished + this.#bytes
    const total = this.#total
    const rate = this.#rate === null || this.#rate < 1 ? undefined : Math.round(this.#rate)
    const eta = total === null || rate === undefined ? undefined : Math.ceil((total - completed) / rate)
    const { name = '', digest = null } = this.#file ?? {}
    const of = total === null ? '' : ` of ${gigabytes(total)} (${Math.floor((100 * completed) / Math.max(1, total))} %)`
    const speed = rate === undefined ? '' : `, ${gigabytes(rate)}/s`
    const left = eta === undefined ? '' : `, ${duration(eta)} left`
    this.#emit({
      status: 'downloading',
      text: `${name}: ${gigabytes(completed)}${of}${speed}${left}`,
      file: name,
      ...(digest === null ? {} : { digest }),
      completed,
      ...(total === null ? {} : { total }),
      ...(rate === undefined ? {} : { bytes_per_second: rate }),
      ...(eta === undefined ? {} : { eta_seconds: eta })
    })
  }
}

function duration(seconds: number): string {
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.floor(seconds / 60)
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}
