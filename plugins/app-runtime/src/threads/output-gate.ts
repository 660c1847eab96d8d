import type { LogLine } from '../interpreter/host.ts'

/** Maximum load of the lines that a thread has sent and the main thread has not read. */
const MAX_LOAD = 1_000
/** Load at which a waiting thread continues. */
const RESUME_LOAD = 500
/** Characters of a text that count like a line. */
const LINE_CHARACTERS = 4_096
/** Load of the fields of a line, whose size is limited. */
const FIELDS_LOAD = 4

/** Shared by a thread and the process: makes the thread wait while too many of its lines are unread. */
export class OutputGate {
  readonly #load: Int32Array
  readonly #at: number

  /** `load`: shared ints; the one at the index `at` belongs to the gate. */
  constructor(load: Int32Array, at = 0) {
    this.#load = load
    this.#at = at
  }

  /** Called in the thread, after it has sent a line. */
  sent(line: Pick<LogLine, 'text' | 'fields'>): void {
    let load = Atomics.add(this.#load, this.#at, loadOf(line)) + loadOf(line)
    while (load >= MAX_LOAD) {
      Atomics.wait(this.#load, this.#at, load)
      load = Atomics.load(this.#load, this.#at)
    }
  }

  /** Called for each line that was read. */
  read(line: Pick<LogLine, 'text' | 'fields'>): void {
    const load = loadOf(line)
    const before = Atomics.sub(this.#load, this.#at, load)
    if (before > RESUME_LOAD && before - load <= RESUME_LOAD) Atomics.notify(this.#load, this.#at)
  }
}

function loadOf({ text, fields }: Pick<LogLine, 'text' | 'fields'>): number {
  return 1 + Math.floor(text.length / LINE_CHARACTERS) + (fields === undefined ? 0 : FIELDS_LOAD)
}
