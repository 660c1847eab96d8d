import { Ewma } from './ewma.ts'

const FIRST_LOAD_MS = 20_000
const FIRST_SERVICE_MS = 2_000
/** About 1,000 tokens per second. */
const FIRST_PREFILL_BYTES_PER_MS = 4
/** Shorter parts of a prompt say nothing about the speed of reading. */
const MIN_PREFILL_BYTES = 1024
const MIN_MS = 0.1

/** Measured speed of one model on one server, with guesses before the first measurement. */
export class ModelSpeed {
  readonly #service = new Ewma()
  readonly #load = new Ewma()
  readonly #prefill = new Ewma()

  /** Mean milliseconds from the first byte sent to the last byte received; undefined before the first answer. */
  get measuredServiceMs(): number | undefined {
    return this.#service.value
  }

  get serviceMs(): number {
    return this.#service.value ?? FIRST_SERVICE_MS
  }

  /** Milliseconds to load the model. */
  get loadMs(): number {
    return this.#load.value ?? FIRST_LOAD_MS
  }

  /** Bytes of the prompt that are read per millisecond while no other request runs. */
  get prefillBytesPerMs(): number {
    return this.#prefill.value ?? FIRST_PREFILL_BYTES_PER_MS
  }

  answered(ms: number): void {
    this.#service.add(ms)
  }

  /** Records the time to the first byte of a streamed answer. Call this only for requests that found a free slot. */
  began(ms: number, { isLoaded, newBytes, utilisation }: Beginning): void {
    const prefillMs = newBytes / this.prefillBytesPerMs
    if (!isLoaded) this.#load.add(Math.max(0, ms - prefillMs))
    else if (newBytes >= MIN_PREFILL_BYTES) this.#prefill.add((newBytes / Math.max(MIN_MS, ms)) * (1 + utilisation))
  }
}

/** How a request was sent whose answer began. */
export interface Beginning {
  /** Whether the model was loaded. */
  readonly isLoaded: boolean
  /** Bytes of the prompt that the server had probably not read before. */
  readonly newBytes: number
  /** Load of the server by its slots; the requests of a batch share the device. */
  readonly utilisation: number
}
