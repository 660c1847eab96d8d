import { open, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { A2aMessage } from '@svc/contracts'
import { errorMessage, type Logger } from '@svc/plugin-sdk'
import { makePrivateFolder } from '@svc/plugin-sdk/folders'
import { redactText } from './redact.ts'

const FOLDER_FILE = 'a2a_traces.jsonl'
/** Lines that wait for the disk; further ones are dropped. */
const MAX_WAITING = 256
/** Size of the file at which no more lines are added: 256 MiB. */
const MAX_FILE_BYTES = 268_435_456

export interface TraceOptions {
  /** Absolute path of the `.jsonl` file or its folder. */
  readonly path: string
  readonly enabled: () => boolean
  /** Confidence in [0, 1] below which a message is not written. */
  readonly minConfidence: () => number
  readonly mask: (text: string) => string
  readonly log: Pick<Logger, 'warn'>
}

/** Returns the file of a trace path: the path itself if it ends in `.jsonl`, else a file in that folder. */
export function traceFile(path: string): string {
  return path.endsWith('.jsonl') ? path : join(path, FOLDER_FILE)
}

/**
 * Appends broadcasts between agents to a file of JSON lines (`vox_dogfood_v1`). Best effort: it never throws, and never
 * delays the sender. Warns once until a line is written again.
 */
export class DogfoodTrace {
  readonly file: string
  readonly #options: TraceOptions
  #waiting = 0
  #written = 0
  #dropped = 0
  #warned = false
  #last: Promise<void> = Promise.resolve()

  constructor(options: TraceOptions) {
    this.#options = options
    this.file = traceFile(options.path)
  }

  get counts(): { readonly written: number; readonly dropped: number } {
    return { written: this.#written, dropped: this.#dropped }
  }

  record({
    receiver,
    sender,
    msg_type,
    payload
  }: Pick<A2aMessage, 'receiver' | 'sender' | 'msg_type' | 'payload'>): void {
    const { enabled, mask } = this.#options
    if (receiver !== null || !enabled()) return
    const confidence = confidenceOf(payload)
    if (confidence !== null && confidence < this.#options.minConfidence()) return
    if (this.#waiting >= MAX_WAITING) {
      this.#lost(`more than ${MAX_WAITING} lines wait for the disk`)
      return
    }
    this.#waiting += 1
    const line = `${JSON.stringify({
      prompt: redactText(`Agent ${sender} broadcasts a message of the type ${msg_type}`, mask),
      response: redactText(payload, mask),
      category: 'a2a_trace',
      schema_version: 'vox_dogfood_v1'
    })}\n`
    this.#last = this.#last
      .then(() => this.#append(line))
      .then(
        () => {
          this.#written += 1
          this.#warned = false
        },
        error => this.#lost(errorMessage(error))
      )
      .finally(() => {
        this.#waiting -= 1
      })
  }

  /** Resolves when all lines so far are written or dropped. */
  async flush(): Promise<void> {
    await this.#last
  }

  async #append(line: string): Promise<void> {
    makePrivateFolder(dirname(this.file))
    const handle = await open(this.file, 'a+', 0o600)
    try {
      const { size } = await handle.stat()
      if (size + line.length > MAX_FILE_BYTES) throw new Error(`the file has reached ${MAX_FILE_BYTES} bytes`)
      // A killed process, or a full disk, may have left the beginning of a line.
      const torn = size > 0 && (await handle.read(Buffer.alloc(1), 0, 1, size - 1)).buffer[0] !== 0x0a
      await handle.appendFile(torn ? `\n${line}` : line)
    } finally {
      await handle.close()
    }
  }

  #lost(reason: string): void {
    this.#dropped += 1
    if (this.#warned) return
    this.#warned = true
    this.#options.log.warn('broadcasts are not written to the dogfood trace', {
      file: this.file,
      reason,
      hint: 'correct plugins.telemetry.dogfood_trace_path, or make room on the disk'
    })
  }
}

/** Maximum characters of a payload that is parsed; a longer one counts as text without a confidence. */
const MAX_PARSED = 65_536

/** Returns the `confidence` of a payload that is a JSON object; null for other payloads. */
function confidenceOf(payload: string): number | null {
  if (payload.length > MAX_PARSED || !/^\s*\{/.test(payload)) return null
  try {
    const { confidence } = JSON.parse(payload) as Record<string, unknown>
    return typeof confidence === 'number' ? confidence : null
  } catch {
    return null
  }
}

/** Returns the size of the file in bytes; 0 if it does not exist. */
export async function traceBytes(file: string): Promise<number> {
  return (await stat(file).catch(() => ({ size: 0 }))).size
}
